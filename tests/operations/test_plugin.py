"""The plugin beside `init`: what it records, where it keeps silent, and what `init` and `doctor` say of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.agents.claude import hooks as hooking
from holdfast.agents.claude.installed import SCOPES
from holdfast.agents.claude.plugin_call import is_superseded
from holdfast.core.errors import WrongUsage
from holdfast.core.model import Check
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.file_trees import tree_of
from tests.house.tree import ROOT
from tests.sessions import a_worktree, old_form, with_environ
from tests.surfaces.test_hook_script import LOADS
from tests.tools import ENTRY, Command, modules_loaded

START = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"}


@pytest.fixture
def door(tmp_path: Path) -> Path:
    """A PATH with the program that the plugin's calls look for."""
    path = tmp_path / "bin" / "holdfast-hook"
    path.parent.mkdir()
    path.write_text((ROOT / "scripts" / "holdfast-hook").read_text().replace("#!python", f"#!{sys.executable}", 1))
    path.chmod(0o755)
    return path.parent


def surroundings(workspace: Workspace, door: Path) -> dict[str, str]:
    """What the client gives to a hook."""
    path = f"{door}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "CLAUDE_PROJECT_DIR": str(workspace.root)}


def call(workspace: Workspace, door: Path, event: str, payload: Any = None, **environ: str) -> bytes:
    """As the client runs a call of the plugin; answers with what it printed."""
    hooks: Any = hooking.plugin()["hooks"]
    done = subprocess.run(
        ["/bin/sh", "-c", hooks[event][0]["hooks"][0]["command"]],
        cwd=workspace.root,
        env={**surroundings(workspace, door), **environ},
        input=json.dumps(payload or {}).encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert done.stderr == b""
    return done.stdout


def kept(workspace: Workspace) -> int:
    return len([name for name in os.listdir(workspace.inbox) if not name.startswith(".")])


def local(workspace: Workspace) -> Path:
    return workspace.root / ".claude" / "settings.local.json"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


# What the plugin's calls do


def test_call_of_the_plugin_is_kept(project: Workspace, door: Path) -> None:
    assert call(project, door, "PreToolUse") == b""
    assert kept(project) == 1


def test_call_of_the_plugin_is_answered(project: Workspace, door: Path) -> None:
    holdfast.start(project, "the goal")
    said = call(project, door, "SessionStart", {**START, "source": "resume", "cwd": str(project.root)})
    assert "the goal" in json.loads(said)["hookSpecificOutput"]["additionalContext"]


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("event", ["PreToolUse", "Stop", "SessionStart", "PreCompact", "SessionEnd"])
def test_where_settings_call_us_the_plugin_is_silent(project: Workspace, door: Path, scope: str, event: str) -> None:
    holdfast.start(project, "the goal")
    holdfast.init(project, agent="claude", scope=scope)
    assert call(project, door, event, {**START, "hook_event_name": event}) == b""
    assert kept(project) == 0


def test_settings_are_those_of_the_directory_that_the_user_has_chosen(
    project: Workspace, door: Path, tmp_path: Path
) -> None:
    chosen = {"CLAUDE_CONFIG_DIR": str(tmp_path / "else")}
    with with_environ(project, **chosen) as workspace:
        holdfast.init(workspace, agent="claude", scope="user")
    call(project, door, "PreToolUse", **chosen)
    assert kept(project) == 0
    call(project, door, "PreToolUse")
    assert kept(project) == 1


@pytest.mark.parametrize("indent", [None, 0, 4, "\t"])
@pytest.mark.parametrize("scope", ["local", "project"])
def test_settings_that_somebody_formatted_anew_are_known(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, scope: str, indent: int | str | None
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project.root))
    calls = hooking.block(scope, sys.executable, str(ENTRY))
    put(local(project), json.dumps(hooking.as_settings(calls), indent=indent))
    assert {event for event in calls if not is_superseded(event)} == set()
    old = {event: old_form(event, sys.executable, str(ENTRY)) for event in calls}
    put(local(project), json.dumps(hooking.as_settings(old), indent=indent))
    assert {event for event in calls if not is_superseded(event)} == set()


@pytest.mark.parametrize(
    "settings",
    [
        {"permissions": {"allow": ["Bash(holdfast-hook:*)", "Bash(holdfast status:*)", "Read(/x/holdfast/inbox.py)"]}},
        {"enabledPlugins": {"holdfast@holdfast": True}},
        hooking.plugin(),
        hooking.as_settings({"Stop": hooking.block("project", "", "")["Stop"]}),
        hooking.as_settings({"Stop": hooking.block("local", sys.executable, str(ENTRY))["Stop"]}),
    ],
    ids=["permissions", "enabled", "the-plugins-own", "another-event", "another-event-here"],
)
def test_settings_that_only_name_us_do_not_silence_the_plugin(
    project: Workspace, door: Path, settings: dict[str, Any]
) -> None:
    put(local(project), json.dumps(settings))
    call(project, door, "PreToolUse")
    assert kept(project) == 1


def test_local_settings_of_the_main_worktree_silence_the_plugin_in_a_linked_one(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, clock: TickingClock
) -> None:
    calls = hooking.block("local", sys.executable, str(ENTRY))
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(linked.root))
        assert not is_superseded("Stop")
        put(local(project), json.dumps(hooking.as_settings(calls)))
        assert is_superseded("Stop")


@pytest.mark.parametrize("scope", ["local", "project"])
def test_event_is_not_taken_for_one_whose_name_begins_the_same(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project.root))
    calls = hooking.block(scope, sys.executable, str(ENTRY))
    put(local(project), json.dumps(hooking.as_settings({"StopFailure": calls["StopFailure"]})))
    assert [is_superseded(event) for event in ("StopFailure", "Stop")] == [True, False]


@pytest.mark.parametrize("event", ["PreToolUse", "SessionStart"])
def test_settings_that_call_a_holdfast_that_is_gone_do_not_silence_the_plugin(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, event: str
) -> None:
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(project.root))
    calls = hooking.block(
        "local", "/gone/python", str(script := tmp_path / "it's an \\ other" / "holdfast/surfaces/hooks/entry.py")
    )
    put(local(project), json.dumps(hooking.as_settings(calls)))
    assert not is_superseded(event)
    put(script, "")
    put(script.with_name("answer.py"), "")
    assert is_superseded(event)


def test_what_stands_where_settings_should_be_holds_nothing_up(project: Workspace, door: Path) -> None:
    local(project).parent.mkdir()
    os.mkfifo(local(project))
    (project.root / ".claude" / "settings.json").mkdir()
    call(project, door, "PreToolUse", CLAUDE_CONFIG_DIR="/dev/null")
    assert kept(project) == 1


def test_settings_that_are_not_text_hold_nothing_up(project: Workspace, door: Path) -> None:
    local(project).parent.mkdir()
    local(project).write_bytes(b'\xff\x00holdfast"\x00/holdfast/inbox.py","claude","PreToolUse"')
    call(project, door, "PreToolUse")
    assert kept(project) == 1


@pytest.mark.promise(18)
def test_asking_the_settings_loads_nothing_more(project: Workspace, door: Path) -> None:
    bare = modules_loaded(project.root, "-c", "pass")
    assert modules_loaded(project.root, str(door / "holdfast-hook"), "--plugin", "claude", "PreToolUse") - bare <= LOADS
    assert kept(project) == 1, "the call was not kept, so this proves nothing"
    holdfast.init(project, agent="claude")
    assert modules_loaded(project.root, str(door / "holdfast-hook"), "--plugin", "claude", "PreToolUse") - bare <= LOADS
    assert kept(project) == 1, "the settings were not asked, so this proves nothing"


# init


def test_init_with_the_plugin_makes_the_store_and_writes_no_settings(repository: Path, home: Path) -> None:
    (home / ".claude").mkdir()
    with holdfast.open(repository) as workspace:
        done = holdfast.init(workspace, plugin=True)
        assert (done.created, done.file, done.events) == (True, None, {})
        assert done.plugin == str(hooking.DIRECTORY)
        assert [line.split()[:3] for line in done.commands] == [
            ["claude", "--plugin-dir", done.plugin],
            ["claude", "plugin", "marketplace"],
            ["claude", "plugin", "install"],
        ]
    assert os.listdir(repository) == [".git"]
    assert os.listdir(home / ".claude") == []


def test_init_with_the_plugin_can_only_be_looked_at(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        before = tree_of(repository)
        done = holdfast.init(workspace, plugin=True, dry_run=True)
        assert (done.created, done.plugin, done.block) == (False, str(hooking.DIRECTORY), hooking.plugin())
        assert tree_of(repository) == before


def test_plugin_with_what_does_not_go_with_it_is_refused(project: Workspace) -> None:
    with pytest.raises(WrongUsage, match="scope"):
        holdfast.init(project, plugin=True, scope="user")
    with pytest.raises(WrongUsage, match="Claude Code"):
        holdfast.init(project, plugin=True, agent="none")


def test_the_command_prints_the_directory_and_says_what_to_type(cli: Callable[..., Command]) -> None:
    done = cli("init", "--plugin").ok()
    assert done.out == f"{hooking.DIRECTORY}\n"
    assert [line for line in hooking.plugin_commands(str(hooking.DIRECTORY)) if line not in done.err] == []
    assert cli("init", "--plugin", "--json").ok().json["plugin"] == str(hooking.DIRECTORY)
    assert cli("init", "--plugin", "--scope", "local").code == 2


# doctor


def check(workspace: Workspace, name: str, **environ: str) -> Check:
    with with_environ(workspace, **environ) as opened:
        found = [check for check in holdfast.doctor(opened).checks if check.name == name]
    assert found, f"there is no check {name}"
    return found[-1]


def install(home: Path, directory: Path | None = hooking.DIRECTORY) -> None:
    """As the client notes it."""
    put(home / ".claude" / "settings.json", json.dumps({"enabledPlugins": {"holdfast@holdfast": True, "x@y": True}}))
    if directory is not None:
        noted = home / ".claude" / "plugins"
        entry = {"scope": "user", "installPath": str(noted / "cache"), "version": "0.1.0"}
        plugins = {"version": 2, "plugins": {"holdfast@holdfast": [entry]}}
        source = {"source": "directory", "path": str(directory)}
        place = {"source": source, "installLocation": str(directory), "lastUpdated": "2026-11-16T02:34:13.404Z"}
        put(noted / "installed_plugins.json", json.dumps(plugins))
        put(noted / "known_marketplaces.json", json.dumps({"holdfast": place}))


def test_hooks_through_the_plugin_count_as_installed(project: Workspace, home: Path, door: Path) -> None:
    install(home)
    path = f"{door}:{os.environ['PATH']}"
    assert check(project, "plugin", PATH=path).state == "ok"
    with with_environ(project, PATH=path) as workspace:
        assert "hooks" not in {found.name for found in holdfast.doctor(workspace).checks}
    assert check(project, "hook program", PATH="/nonexistent").state == "broken"


def test_plugin_beside_settings_is_harmless_and_said(project: Workspace, home: Path) -> None:
    install(home)
    holdfast.init(project, agent="claude")
    found = check(project, "plugin")
    assert (found.state, "local settings have the hooks too" in found.about) == ("ok", True)


def test_plugin_that_is_enabled_and_not_installed_is_told(project: Workspace, home: Path) -> None:
    install(home, directory=None)
    assert check(project, "plugin").state == "broken"
    holdfast.init(project, agent="claude")
    assert check(project, "plugin").state == "warning"


def test_plugin_of_another_holdfast_is_told(project: Workspace, home: Path, tmp_path: Path) -> None:
    install(home, tmp_path)
    assert (check(project, "plugin").state, str(tmp_path) in check(project, "plugin").about) == ("warning", True)


def test_plugin_added_from_the_directory_of_an_older_version_is_named_with_the_commands_that_move_it(
    project: Workspace, home: Path
) -> None:
    old = hooking.DIRECTORY.parents[2] / "plugin"
    assert not old.exists()
    install(home, old)
    found = check(project, "plugin")
    assert (found.state, str(old) in found.about) == ("broken", True)
    assert found.hints == [f"`{command}`" for command in hooking.plugin_commands(str(hooking.DIRECTORY))[1:]]


def test_plugin_from_elsewhere_is_looked_for_where_the_client_copied_it(project: Workspace, home: Path) -> None:
    install(home)
    noted = home / ".claude" / "plugins"
    put(noted / "known_marketplaces.json", json.dumps({"holdfast": {"source": {"source": "github"}}}))
    assert check(project, "plugin").state == "broken"
    (noted / "cache").mkdir()
    found = check(project, "plugin")
    assert (found.state, f"another copy of the plugin, in {noted / 'cache'}" in found.about) == ("warning", True)


def test_plugin_that_the_project_turns_off_does_not_count(project: Workspace, home: Path) -> None:
    install(home)
    put(local(project), json.dumps({"enabledPlugins": {"holdfast@holdfast": False}}))
    assert check(project, "hooks").state == "broken"


def test_calls_that_came_without_an_installation_are_not_called_broken(
    project: Workspace, home: Path, door: Path
) -> None:
    (home / ".claude").mkdir()
    assert check(project, "hooks").state == "broken"
    call(project, door, "PreToolUse")
    assert check(project, "hooks").state == "warning"


def test_plugin_that_its_marketplace_does_not_have_is_not_installed(
    project: Workspace, home: Path, tmp_path: Path
) -> None:
    install(home, tmp_path)
    put(tmp_path / ".claude-plugin" / "marketplace.json", json.dumps({"plugins": [{"name": "x", "source": "./"}]}))
    assert (check(project, "plugin").state, "not installed" in check(project, "plugin").about) == ("broken", True)


@pytest.mark.parametrize(
    "noted", ["", "{", "[]", '{"plugins": []}', '{"plugins": {"holdfast@holdfast": [{"installPath": 7}]}}']
)
def test_list_of_plugins_that_cannot_be_read_is_no_installation(project: Workspace, home: Path, noted: str) -> None:
    install(home)
    put(home / ".claude" / "plugins" / "installed_plugins.json", noted)
    assert check(project, "plugin").state == "broken"
