"""FABER's own hooks beside ours: of its documents in a settings file, or of its plugin. Only one of both acts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.agents.claude import hooks as hooking
from tests.faber_states import ACTIVE, RUN, put, put_state
from tests.surfaces.terminal import Terminal
from tests.surfaces.test_hook_replies import Ask, ask, context
from tests.tools import Command

__all__ = ["ask"]  # a fixture
Say = Callable[..., Command]
LOCAL, SHARED = ".claude/settings.local.json", ".claude/settings.json"


def runs(command: str, **group: Any) -> list[dict[str, Any]]:
    return [{**group, "hooks": [{"type": "command", "command": command, "timeout": 60}]}]


# As the documents have them.
DOCUMENTS = {
    "hooks": {
        "PreCompact": runs("/fractary-faber:session-save --reason compaction", matcher="auto"),
        "SessionEnd": runs("/fractary-faber:session-end --reason normal"),
        "SessionStart": runs("/fractary-faber:session-load --trigger session_start"),
        "Stop": runs("say done"),
    }
}


@pytest.fixture
def state(repository: Path) -> Path:
    put(repository, ACTIVE, RUN)
    return put_state(repository)


def a_plugin(home: Path, name: str = "fractary-faber@fractary", events: tuple[str, ...] = ("SessionStart",)) -> None:
    """FABER's plugin, installed and enabled for the user."""
    place = home / "plugin"
    put(place, "hooks/hooks.json", {"hooks": {event: runs("${CLAUDE_PLUGIN_ROOT}/hooks/x.sh") for event in events}})
    put(home, ".claude/plugins/installed_plugins.json", {"plugins": {name: [{"installPath": str(place)}]}})
    put(home, ".claude/settings.json", {"enabledPlugins": {name: True}})


def a_marketplace(home: Path, directory: Path, name: str) -> None:
    """A plugin that is installed from a marketplace that is a directory, as the client notes it."""
    marketplace = name.partition("@")[2]
    place = {"source": {"source": "directory", "path": str(directory)}, "installLocation": str(directory)}
    noted = {"plugins": {name: [{"installPath": str(home / ".claude/plugins/cache/x")}]}}
    put(home, ".claude/plugins/installed_plugins.json", noted)
    put(home, ".claude/plugins/known_marketplaces.json", {marketplace: place})
    put(home, ".claude/settings.json", {"enabledPlugins": {name: True}})


def fabers(path: Path) -> list[str]:
    hooks = json.loads(path.read_bytes()).get("hooks", {})
    return [event for event, groups in hooks.items() if "fractary-faber" in json.dumps(groups)]


@pytest.mark.defect("`init` put its hooks beside FABER's own without a word, so that both wrote the same records")
@pytest.mark.parametrize("file", [LOCAL, SHARED])
def test_fabers_own_hooks_are_replaced_where_that_is_wanted_and_come_back(
    file: str, repository: Path, state: Path, say: Say, ask: Ask
) -> None:
    path = put(repository, file, json.dumps(DOCUMENTS, indent=2) + "\n")
    before = path.read_bytes()
    done = say("init", "--agent", "claude", "--faber-hooks", "replace").ok()
    assert f"FABER's own hooks are gone from {path}; `holdfast uninit` puts them back\n" in done.err
    assert fabers(path) == []
    assert "say done" in path.read_text()
    assert "Context reloaded" in context(ask("SessionStart", source="startup"))
    ask("SessionEnd", reason="other")
    assert [record["end_reason"] for record in json.loads(state.read_bytes())["sessions"]["session_history"]] == [
        "normal"
    ]
    assert "FABER's own hooks" not in say("status").ok().err + say("doctor").out
    assert f"{path} is what it was before\n" in say("uninit").ok().err
    assert path.read_bytes() == before


def test_a_file_that_only_lost_fabers_hooks_never_had_ours(repository: Path, state: Path, say: Say) -> None:
    put(repository, SHARED, DOCUMENTS)
    say("init", "--agent", "claude", "--faber-hooks", "replace").ok()
    say("uninit", "--scope", "local").ok()
    assert "hooks were removed" not in say("status").ok().err
    say("uninit").ok()
    assert fabers(repository / SHARED) == ["PreCompact", "SessionEnd", "SessionStart"]


def test_without_an_answer_they_stay_and_ours_leave_the_sessions_to_them(
    repository: Path, state: Path, say: Say, ask: Ask
) -> None:
    path = put(repository, SHARED, DOCUMENTS)
    done = say("init", "--agent", "claude").ok()
    told = f"FABER's own hooks are active ({path}), so Holdfast leaves loading and saving FABER's sessions to them"
    assert f"{told}; `holdfast init --faber-hooks replace`\n" in done.err
    assert fabers(path) == ["PreCompact", "SessionEnd", "SessionStart"]
    before = state.read_bytes()
    asked = context(ask("SessionStart", source="startup"))
    assert f"{told}. `holdfast session-load` loads the run's context by hand." in asked
    ask("PreCompact", trigger="auto")
    ask("SessionEnd", reason="other")
    assert state.read_bytes() == before
    assert told in say("status").ok().err
    assert told in say("doctor").out


@pytest.mark.parametrize(("answer", "left"), [("y", []), ("n", ["PreCompact", "SessionEnd", "SessionStart"])])
def test_at_a_terminal_init_asks(answer: str, left: list[str], repository: Path) -> None:
    path = put(repository, LOCAL, DOCUMENTS)
    with Terminal("init", "--agent", "claude", directory=repository) as terminal:
        terminal.wait_for("Replace them with Holdfast's? [y/N]")
        terminal.type(f"{answer}\n")
        assert terminal.finish() == 0
    assert fabers(path) == left
    assert "holdfast" in path.read_text()


def test_the_hooks_of_fabers_plugin_are_left_to_it(
    repository: Path, state: Path, home: Path, say: Say, ask: Ask
) -> None:
    a_plugin(home)
    done = say("init", "--agent", "claude", "--faber-hooks", "replace").ok()
    assert "FABER's own hooks are active (fractary-faber@fractary)" in done.err
    assert "`claude plugin disable fractary-faber@fractary` turns the plugin off" in done.err
    before = state.read_bytes()
    ask("SessionStart", source="startup")
    assert state.read_bytes() == before
    put(repository, ".claude/settings.json", {"enabledPlugins": {"fractary-faber@fractary": False}})
    assert "Context reloaded" in context(ask("SessionStart", source="startup"))


@pytest.mark.parametrize(
    ("name", "events"), [("fractary-faber@fractary", ()), ("fractary-faber@holdfast", ()), ("other@x", ("SessionEnd",))]
)
def test_a_plugin_without_session_hooks_changes_nothing(
    name: str, events: tuple[str, ...], state: Path, home: Path, say: Say, ask: Ask
) -> None:
    a_plugin(home, name, events)
    assert "FABER's own hooks" not in say("init", "--agent", "claude").ok().err
    assert "Context reloaded" in context(ask("SessionStart", source="startup"))


@pytest.mark.defect(
    "The plugin with FABER's names that comes with Holdfast switched FABER's loading and saving off: the hooks of the "
    "plugin beside it in the marketplace counted as FABER's"
)
def test_our_plugin_with_fabers_names_is_no_plugin_with_hooks(state: Path, home: Path, say: Say, ask: Ask) -> None:
    a_marketplace(home, hooking.DIRECTORY, "fractary-faber@holdfast")
    assert "FABER's own hooks" not in say("init", "--plugin").ok().err + say("status").ok().err
    assert "Context reloaded" in context(ask("SessionStart", source="startup"))
    assert json.loads(state.read_bytes())["sessions"]["total_sessions"] == 1


@pytest.mark.parametrize(
    ("source", "metadata"),
    [("./plugins/faber", {}), ("./plugins/faber", {"pluginRoot": "./x"}), ("faber", {"pluginRoot": "./plugins"})],
)
def test_hooks_are_looked_for_where_the_marketplace_says_that_the_plugin_lies(
    source: str, metadata: dict[str, str], home: Path, tmp_path: Path, state: Path, say: Say
) -> None:
    shop = tmp_path / "shop"
    plugins = [{"name": "other", "source": "./"}, {"name": "fractary-faber", "source": source}]
    put(shop, ".claude-plugin/marketplace.json", {"name": "shop", "metadata": metadata, "plugins": plugins})
    a_marketplace(home, shop, "fractary-faber@shop")
    put(shop, "hooks/hooks.json", {"hooks": {"SessionStart": runs("x.sh")}})
    assert "FABER's own hooks" not in say("init", "--agent", "claude").ok().err
    put(shop, "plugins/faber/hooks/hooks.json", {"hooks": {"SessionEnd": runs("x.sh")}})
    assert "FABER's own hooks are active (fractary-faber@shop)" in say("status").ok().err


def test_hooks_of_a_plugin_that_the_marketplace_fetches_from_elsewhere_are_those_of_the_copy(
    home: Path, tmp_path: Path, state: Path, say: Say
) -> None:
    shop = tmp_path / "shop"
    plugins = [{"name": "fractary-faber", "source": {"source": "github", "repo": "a/b"}}]
    put(shop, ".claude-plugin/marketplace.json", {"name": "shop", "plugins": plugins})
    a_marketplace(home, shop, "fractary-faber@shop")
    put(home, ".claude/plugins/cache/x/hooks/hooks.json", {"hooks": {"SessionStart": runs("x.sh")}})
    assert "FABER's own hooks are active (fractary-faber@shop)" in say("init", "--agent", "claude").ok().err


def test_hooks_in_the_users_settings_are_never_removed(state: Path, home: Path, say: Say) -> None:
    path = put(home, ".claude/settings.json", DOCUMENTS)
    before = path.read_bytes()
    done = say("init", "--agent", "claude", "--faber-hooks", "replace").ok()
    assert f"remove them from {path}, which holds for other projects too\n" in done.err
    assert path.read_bytes() == before
