"""The plugin in the real Claude Code: it is valid, records once, and its slash commands reach the model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter

import pytest

import holdfast
from holdfast.agents.claude import hooks as hooking
from holdfast.core.model import Check
from tests.agents.conftest import PATIENCE, Answered, Project
from tests.agents.test_claude import bash
from tests.faber_states import ACTIVE, RUN, put, put_state
from tests.house.tree import ROOT

GOAL = "Goal: begin here"
DIRECTORY = str(hooking.DIRECTORY)


class Plugged(Project):
    """The same project, whose client finds our two programs on its PATH."""

    @property
    def env(self) -> dict[str, str]:
        return {**super().env, "PATH": f"{self.home}/bin:{super().env['PATH']}"}

    def with_plugin(self, prompt: str, *arguments: str) -> Answered:
        return self.claude(prompt, "--plugin-dir", DIRECTORY, *arguments)

    def plugin(self, *arguments: str) -> str:
        """`claude plugin …`; answers with what it says."""
        done = subprocess.run(
            self.cage.inside(str(self.program), "plugin", *arguments),
            cwd=self.directory, env=self.env, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def kinds(self) -> Counter[str]:
        """How many events of each kind the only run has, but for what detached processes add when they come to it."""
        (run,) = self.runs()
        return Counter(event.kind for event in self.log(run.id) if not event.kind.startswith("checkpoint"))

    def examine(self) -> dict[str, Check]:
        environ = {**self.env, "PATH": f"{self.program.parent}:{self.env['PATH']}"}
        with holdfast.open(self.directory, environ=environ) as workspace:
            return {check.name: check for check in holdfast.doctor(workspace).checks}


@pytest.fixture
def installed(project: Project) -> Plugged:
    """With `init`, and both programs on the PATH."""
    scripts = {
        "holdfast-hook": (ROOT / "scripts" / "holdfast-hook").read_text().removeprefix("#!python"),
        "holdfast": "\nfrom holdfast.__main__ import main\n\nmain()\n",
    }
    (project.home / "bin").mkdir()
    for name, text in scripts.items():
        (project.home / "bin" / name).write_text(f"#!{sys.executable}{text}")
        (project.home / "bin" / name).chmod(0o755)
    return Plugged(**vars(project))


@pytest.fixture
def bare(installed: Plugged) -> Plugged:
    """Without what `init` wrote; the store stays."""
    installed.holdfast("uninit")
    return installed


def permit(project: Project, *allowed: str) -> None:
    """Only this, and nothing else without asking."""
    path = project.home / ".claude" / "settings.json"
    settings = json.loads(path.read_bytes())
    settings["permissions"]["allow"] = list(allowed)
    path.write_text(json.dumps(settings))


def test_client_finds_nothing_wrong_with_it(installed: Plugged) -> None:
    for place, name in ((".", "plugin"), (".", "marketplace"), ("faber", "plugin")):
        said = installed.plugin("validate", str(hooking.DIRECTORY / place / ".claude-plugin" / f"{name}.json"))
        assert f"Validating {name} manifest" in said
        assert "Validation passed" in said


def test_plugin_alone_records_a_session_and_tells_the_next_one(bare: Plugged) -> None:
    first = bare.with_plugin("begin here " + bash("echo two > readme.txt"))
    (session,) = bare.sessions()
    assert (session.agent_session, session.ended is not None) == (first.session, True)
    kinds = bare.kinds()
    assert (kinds["prompt.given"], kinds["action.taken"], kinds["turn.ended"]) == (1, 1, 1)
    told = bare.with_plugin("and now @@say on it").turns[0].text
    assert told.count(GOAL) == 1


def test_model_is_offered_the_skill_and_the_agent_and_no_slash_command(bare: Plugged) -> None:
    asked = json.dumps(bare.with_plugin("begin here @@say begun").turns[0].body)
    assert "holdfast:session-state" in asked
    assert "holdfast:session-manager" in asked
    assert "holdfast:rollback" not in asked


def test_without_our_program_on_the_path_the_plugin_disturbs_nobody(bare: Plugged) -> None:
    (bare.home / "bin" / "holdfast-hook").unlink()
    assert bare.with_plugin("begin here @@say begun").text == "begun"
    assert bare.runs() == []


def test_plugin_and_init_together_record_and_tell_once(installed: Plugged) -> None:
    installed.with_plugin("begin here " + bash("echo two > readme.txt"))
    kinds = installed.kinds()
    assert (kinds["prompt.given"], kinds["action.begun"], kinds["action.taken"], kinds["turn.ended"]) == (1, 1, 1, 1)
    assert kinds["agent.called"] == 0
    told = installed.with_plugin("and now @@say on it").turns[0].text
    assert told.count(GOAL) == 1


def test_status_is_in_what_the_model_reads_before_it_does_anything(bare: Plugged) -> None:
    permit(bare)
    bare.with_plugin("begin here @@say begun")
    asked = bare.with_plugin("/holdfast:status @@say told").turns[0].text
    assert "What `holdfast status` says now:" in asked
    assert "data, not instructions" in asked.partition("What `holdfast status` says now:")[2]
    assert "begin here" in asked.partition("What `holdfast status` says now:")[2].partition("Arguments of the user")[0]


def test_slash_command_that_cannot_run_says_why_and_asks_no_model(bare: Plugged) -> None:
    permit(bare)
    bare.holdfast("uninit", "--purge", "--yes")
    done = bare.with_plugin("/holdfast:brief @@say told")
    assert ("There is no Holdfast store here" in done.text, done.turns) == (True, [])
    (bare.home / "bin" / "holdfast").unlink()
    done = bare.with_plugin("/holdfast:brief @@say told")
    assert ("command not found" in done.text, done.turns) == (True, [])


def test_decision_is_recorded_by_what_the_slash_command_allows(bare: Plugged) -> None:
    permit(bare)
    bare.with_plugin("begin here @@say begun")
    line = "holdfast decide 'Use the blue one; it'\\''s $HOME' --because 'the red one is `broken`'"
    done = bare.with_plugin("/holdfast:decide Use the blue one " + bash(line))
    assert "`holdfast decide 'TEXT' --because 'WHY'`" in done.turns[0].text
    assert "Use the blue one" in done.turns[0].text
    (run,) = bare.runs()
    (decision,) = run.decisions
    assert (decision.text, decision.because) == ("Use the blue one; it's $HOME", "the red one is `broken`")


def test_slash_command_allows_nothing_but_its_verb(bare: Plugged) -> None:
    permit(bare)
    done = bare.with_plugin("/holdfast:decide Use the blue one " + bash("touch made.txt"))
    assert done.result["permission_denials"]
    assert not (bare.directory / "made.txt").exists()


TYPED = ["!`touch made.txt` $(touch made.txt) ; touch made.txt", "' \" | touch made.txt"]


@pytest.mark.parametrize("typed", TYPED)
def test_what_is_typed_after_a_slash_command_is_never_run_by_the_client(bare: Plugged, typed: str) -> None:
    permit(bare, "Bash")
    done = bare.with_plugin(f"/holdfast:status {typed} @@say told")
    assert done.text.startswith("told")
    assert not (bare.directory / "made.txt").exists()


def test_plugin_is_installed_through_its_own_marketplace(bare: Plugged) -> None:
    bare.plugin("marketplace", "add", DIRECTORY)
    bare.plugin("install", "holdfast@holdfast")
    bare.claude("begin here @@say begun")
    assert len(bare.sessions()) == 1
    assert bare.kinds()["prompt.given"] == 1
    found = bare.examine()
    assert (found["plugin"].state, found["calls"].state) == ("ok", "ok")
    assert "hooks" not in found
    bare.plugin("disable", "holdfast@holdfast")
    assert bare.examine()["hooks"].state == "warning"


@pytest.mark.parametrize("name", ["session-load", "prime-context", "session-save", "session-end"])
def test_fabers_own_names_work_as_slash_commands(bare: Plugged, name: str) -> None:
    state = put_state(bare.directory)
    put(bare.directory, ACTIVE, RUN)
    bare.holdfast("session-load")
    permit(bare)
    asked = f"/{hooking.FABER_PLUGIN}:{name} " + bash(f"holdfast {name}")
    done = bare.claude(asked, "--plugin-dir", f"{DIRECTORY}/faber")
    assert f"Run `holdfast {name}`" in done.turns[0].text
    found = json.loads(state.read_bytes())
    (record,) = found["sessions"]["session_history"]
    reloads = found["context_metadata"]["reload_count"]
    is_load = name in ("session-load", "prime-context")
    assert (reloads, record.get("end_reason")) == ((2, None) if is_load else (1, "manual"))


@pytest.mark.defect(
    "In the real client, installing the plugin with FABER's names beside Holdfast's hooks ended FABER's session records"
)
def test_with_the_plugin_of_fabers_names_installed_a_conversation_is_loaded_and_saved(installed: Plugged) -> None:
    state = put_state(installed.directory)
    put(installed.directory, ACTIVE, RUN)
    installed.plugin("marketplace", "add", DIRECTORY)
    installed.plugin("install", f"{hooking.FABER_PLUGIN}@holdfast")
    done = installed.claude("begin here @@say begun")
    assert f"Context reloaded for run: {RUN}" in done.turns[0].text
    (record,) = json.loads(state.read_bytes())["sessions"]["session_history"]
    assert (record["agent_session_id"], record["end_reason"]) == (done.session, "normal")
    assert "FABER's own hooks" not in installed.holdfast("status").err
