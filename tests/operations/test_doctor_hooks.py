"""Whether hooks are active: every way in which a call can fail to arrive is found, and said with what to do."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.agents.claude import hooks, installed as client
from holdfast.agents.claude.installed import SCOPES
from holdfast.agents.protocol import setup_of
from holdfast.core.model import Check
from holdfast.project import inbox as intake
from holdfast.project.workspace import Workspace
from holdfast.system import process
from tests.conftest import TickingClock
from tests.file_trees import tree_of
from tests.hook_calls import keep_by_hand
from tests.sessions import a_worktree, old_form, with_environ
from tests.tools import ENTRY as SCRIPT, Command, hook


@pytest.fixture
def installed(project: Workspace) -> Workspace:
    holdfast.init(project, agent="claude")
    return project


def check(workspace: Workspace, name: str, **environ: str) -> Check:
    with with_environ(workspace, **environ) as opened:
        found = [check for check in holdfast.doctor(opened).checks if check.name == name]
    assert found, f"there is no check {name}"
    return found[-1]


def local(workspace: Workspace) -> Path:
    return workspace.root / ".claude" / "settings.local.json"


def change(path: Path, **settings: Any) -> None:
    known = json.loads(path.read_bytes()) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known | settings))


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_nothing_is_broken_after_init(installed: Workspace) -> None:
    found = holdfast.doctor(installed)
    assert found.healthy
    states = {check.name: check.state for check in found.checks}
    assert [states[name] for name in ("store", "local settings", "interpreter", "hook program", "switches")] == [
        "ok"
    ] * 5


def test_looking_changes_nothing(installed: Workspace, home: Path) -> None:
    keep_by_hand(installed.inbox)
    holdfast.doctor(installed)
    before = tree_of(installed.root, home)
    holdfast.doctor(installed)
    assert tree_of(installed.root, home) == before


def test_without_a_store_hooks_keep_nothing(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        found = holdfast.doctor(workspace)
    assert (found.healthy, found.checks[0].state, found.checks[0].hints) == (False, "broken", ["`holdfast init`"])


def test_store_of_somebody_else_is_broken(installed: Workspace) -> None:
    installed.close()
    installed.place.chmod(0o770)
    assert check(installed, "store").state == "broken"
    installed.place.chmod(0o700)


def test_without_our_calls_an_agent_that_is_there_is_not_recorded(project: Workspace) -> None:
    assert check(project, "hooks").state == "warning"
    (project.root / ".claude").mkdir()
    assert check(project, "hooks").state == "broken"


def test_calls_that_are_missing_are_named(installed: Workspace) -> None:
    known = json.loads(local(installed).read_bytes())
    del known["hooks"]["Stop"]
    local(installed).write_text(json.dumps(known))
    found = check(installed, "local settings")
    assert (found.state, "Stop" in found.about, found.hints) == ("warning", True, ["`holdfast init --scope local`"])


def test_settings_that_cannot_be_read_are_named(installed: Workspace) -> None:
    local(installed).write_text("{")
    assert check(installed, "local settings").state == "warning"


ENTRY = str(SCRIPT)
BOTH_FORMS = pytest.mark.parametrize("old", [False, True], ids=["shell text", "args"])


def call_with(workspace: Workspace, python: str | Path = sys.executable, inbox: str = ENTRY, old: bool = False) -> None:
    """Settings whose every call is ours, with another interpreter or hook program in it."""
    calls = hooks.block("local", str(python), inbox)
    if old:
        calls = {event: old_form(event, str(python), inbox) for event in calls}
    local(workspace).write_text(json.dumps(hooks.as_settings(calls)))


@BOTH_FORMS
def test_interpreter_that_is_gone_is_broken(installed: Workspace, old: bool) -> None:
    call_with(installed, "/gone/bin/python", old=old)
    assert check(installed, "interpreter").state == "broken"


def allow(workspace: Workspace) -> None:
    """Let somebody see the settings of the worktree, and allow what they name."""
    (found,) = holdfast.trust(workspace).files
    holdfast.trust(workspace, seen=found.digest)


@BOTH_FORMS
@pytest.mark.promise(20)
def test_interpreter_that_settings_of_the_worktree_name_is_tried_only_if_that_was_allowed(
    installed: Workspace, tmp_path: Path, old: bool
) -> None:
    call_with(installed, program(tmp_path / "it's a bin" / "python", f"touch {tmp_path}/ran"), old=old)
    found = check(installed, "interpreter")
    assert (found.state, (tmp_path / "ran").exists()) == ("warning", False)
    assert found.hints[0] == f"`holdfast trust {local(installed)}`"
    allow(installed)
    assert check(installed, "interpreter").about.endswith("runs another version of Holdfast")
    assert (tmp_path / "ran").exists()


@pytest.mark.promise(20)
def test_interpreter_that_settings_of_the_worktree_name_is_not_tried_where_it_comes_while_doctor_looks(
    installed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil, python = program(tmp_path / "evil", f"touch {tmp_path}/ran"), tmp_path / "python"
    call_with(installed, python)
    look = os.path.isfile

    def looking(path: Any) -> bool:
        found = look(path)
        if str(path) == str(python) and not found:
            python.symlink_to(evil)
        return found

    monkeypatch.setattr(os.path, "isfile", looking)
    assert check(installed, "interpreter").state == "broken"
    assert check(installed, "interpreter").state == "warning"
    assert not (tmp_path / "ran").exists()


@pytest.mark.promise(20)
def test_interpreter_is_not_tried_because_settings_that_were_allowed_take_the_place_of_those_that_name_it(
    installed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_with(installed, program(tmp_path / "good", "echo holdfast 0.0.1"))
    allow(installed)
    good = local(installed).read_bytes()
    call_with(installed, program(tmp_path / "evil", f"touch {tmp_path}/ran"))
    levels = client.levels

    def reading(*arguments: Any) -> list[client.Level]:
        found = levels(*arguments)
        local(installed).write_bytes(good)
        return found

    monkeypatch.setattr(client, "levels", reading)
    assert check(installed, "interpreter").state == "warning"
    assert not (tmp_path / "ran").exists()


@pytest.mark.promise(20)
def test_what_doctor_has_looked_at_is_what_it_starts(
    installed: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = program(tmp_path / "good", "echo holdfast 0.0.1")
    evil = program(installed.root / "evil", f"touch {tmp_path}/ran")
    python = tmp_path / "python"
    python.symlink_to(good)
    call_with(installed, python)
    allow(installed)
    ask = process.ask

    def asking(*arguments: Any) -> str | None:
        python.unlink()
        python.symlink_to(evil)
        return ask(*arguments)

    monkeypatch.setattr(process, "ask", asking)
    assert check(installed, "interpreter").about.endswith("runs another version of Holdfast")
    assert not (tmp_path / "ran").exists()


def test_interpreter_without_holdfast_is_broken(installed: Workspace, tmp_path: Path) -> None:
    call_with(installed, program(tmp_path / "bin" / "python", "exit 1"))
    allow(installed)
    assert check(installed, "interpreter").state == "broken"


def test_interpreter_with_another_holdfast_is_told(installed: Workspace, tmp_path: Path) -> None:
    call_with(installed, program(tmp_path / "bin" / "python", "echo holdfast 0.0.1"))
    allow(installed)
    assert check(installed, "interpreter").state == "warning"


@pytest.mark.promise(20)
def test_program_of_the_worktree_is_not_run(installed: Workspace, tmp_path: Path) -> None:
    call_with(installed, program(installed.root / "bin" / "python", f"touch {tmp_path}/ran"))
    program(installed.root / "bin" / "claude", f"touch {tmp_path}/ran")
    allow(installed)
    assert check(installed, "interpreter").state == "warning"
    assert check(installed, "client", PATH=f"{installed.root}/bin:.").state == "warning"
    assert not (tmp_path / "ran").exists()


@BOTH_FORMS
def test_hook_program_that_is_gone_or_anothers_is_told(installed: Workspace, tmp_path: Path, old: bool) -> None:
    other = tmp_path / "holdfast" / SCRIPT.relative_to(SCRIPT.parents[2])
    call_with(installed, inbox=str(other), old=old)
    assert check(installed, "hook program").state == "broken"
    other.parent.mkdir(parents=True)
    for script in (other, other.with_name("answer.py")):
        script.touch()
    assert check(installed, "hook program").state == "warning"


def test_doctor_names_the_old_form_and_init_repairs_it(installed: Workspace) -> None:
    call_with(installed, old=True)
    found = check(installed, "local settings")
    assert (found.state, found.hints) == ("warning", ["`holdfast init --scope local`"])
    assert "old form with `args`, which Copilot CLI and Codex ignore" in found.about
    assert set(holdfast.init(installed, scope="local").events.values()) == {"replaced"}
    assert check(installed, "local settings").state == "ok"


def test_committed_calls_need_their_program_on_the_path(project: Workspace, tmp_path: Path) -> None:
    holdfast.init(project, agent="claude", scope="project")
    assert check(project, "hook program", PATH="/nonexistent").state == "broken"
    program(tmp_path / "bin" / "holdfast-hook", "exit 0")
    assert check(project, "hook program", PATH=str(tmp_path / "bin")).state == "warning"


def test_calls_in_several_places_are_told(installed: Workspace) -> None:
    holdfast.init(installed, agent="claude", scope="user")
    assert check(installed, "twice").hints == ["`holdfast uninit --scope user`"]


# What turns hooks off


@pytest.mark.parametrize("scope", SCOPES)
def test_switch_that_turns_all_hooks_off_is_found_in_every_file(installed: Workspace, home: Path, scope: str) -> None:
    paths = {"local": local(installed), "project": installed.root / ".claude" / "settings.json"}
    change(paths.get(scope, home / ".claude" / "settings.json"), disableAllHooks=True)
    assert check(installed, "switches").state == "broken"


@pytest.mark.parametrize("way", ["disabled", "removed"])
@pytest.mark.defect(
    "`doctor` only warned of removed hooks once calls had come, and `status` was silent about `disableAllHooks`"
)
def test_hooks_that_do_not_run_are_broken_for_doctor_and_a_line_of_status(
    installed: Workspace, cli: Callable[..., Command], way: str
) -> None:
    prompt = b'{"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "go"}'
    hook(installed.root, "claude", "UserPromptSubmit", prompt, CLAUDE_PID=str(os.getpid()))
    said = cli("status").ok()
    assert "not recorded" not in said.out + said.err
    if way == "disabled":
        change(local(installed), disableAllHooks=True)
    else:
        local(installed).write_text("{}")
    found = cli("doctor")
    name = "switches" if way == "disabled" else "hooks"
    assert (found.code, f"broken   {name}: " in found.out, str(local(installed)) in found.out) == (1, True, True)
    (line,) = [line for line in cli("status").ok().err.splitlines() if "Claude Code is not recorded here" in line]
    remedy = "remove `disableAllHooks` from" if way == "disabled" else "`holdfast init --scope local` restores them"
    assert (str(local(installed)) in line, remedy in line) == (True, True)


@pytest.mark.parametrize("gone", ["interpreter", "script"])
@pytest.mark.defect("`status` was silent where a moved virtual environment had left the hooks without their program")
def test_hooks_whose_program_is_gone_are_a_line_of_status(
    installed: Workspace, cli: Callable[..., Command], gone: str
) -> None:
    there, moved = (sys.executable if gone == "interpreter" else str(SCRIPT)), "/gone/with/its/environment"
    if gone == "script":
        there = str(Path(there).parents[3])
    assert "not recorded" not in cli("status").ok().err
    local(installed).write_text(local(installed).read_text().replace(there, moved))
    (line,) = cli("status").ok().err.splitlines()
    assert f"the hooks in {local(installed)} need {moved}" in line
    assert line.endswith("which no longer exists; `holdfast init --scope local` installs them again")
    holdfast.init(installed, agent="claude", scope="user")
    assert "not recorded" not in cli("status").ok().err
    holdfast.uninit(installed, scope="user")
    holdfast.init(installed, agent="claude")
    assert "not recorded" not in cli("status").ok().err


def test_hooks_found_through_path_are_not_taken_for_lost(installed: Workspace) -> None:
    hook = {"type": "command", "command": "holdfast-hook", "args": ["claude", "Stop"]}
    local(installed).write_text(json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))
    assert holdfast.status(installed).warnings == []


def test_switch_that_turns_off_hooks_of_others_is_not_told_by_status(project: Workspace) -> None:
    holdfast.init(project, agent="none")
    change(local(project), disableAllHooks=True)
    assert holdfast.status(project).warnings == []


def test_managed_settings_are_read(installed: Workspace, tmp_path: Path) -> None:
    managed = tmp_path / "managed-settings.json"
    change(managed, allowManagedHooksOnly=True)
    found = client.levels(setup_of(installed), managed)
    assert [(level.name, level.is_set("allowManagedHooksOnly")) for level in found] == [
        ("managed", True), ("local", False), ("project", False), ("user", False),
    ]  # fmt: skip


def test_our_own_switches_are_found(installed: Workspace) -> None:
    assert check(installed, "switches", HOLDFAST="0").hints == ["`unset HOLDFAST`"]
    holdfast.off(installed)
    assert check(installed, "switches").hints == ["`holdfast on`"]
    holdfast.on(installed)


@pytest.mark.parametrize("known", ["{}", "{", '{"projects": []}', '{"projects": {"PATH": {}}}', None])
def test_folder_that_is_not_trusted_is_told(installed: Workspace, home: Path, known: str | None) -> None:
    if known is not None:
        (home / ".claude.json").write_text(known.replace("PATH", str(installed.root)))
    assert check(installed, "trust").state == "warning"


def test_folder_is_trusted_by_itself_or_by_one_around_it(installed: Workspace, home: Path, tmp_path: Path) -> None:
    for path in (installed.root, installed.root.parent):
        change(home / ".claude.json", projects={str(path): {"hasTrustDialogAccepted": True}})
        assert check(installed, "trust").state == "ok"
    change(tmp_path / "else" / ".claude.json", projects={str(installed.root): {"hasTrustDialogAccepted": True}})
    (home / ".claude.json").unlink()
    assert check(installed, "trust", CLAUDE_CONFIG_DIR=str(tmp_path / "else")).state == "ok"


# The client


@pytest.mark.parametrize(
    ("script", "state"),
    [(f"echo '{hooks.TESTED} (Claude Code)'", "ok"), ("echo 99.0.0", "ok"), ("echo 1.9.999", "warning"),
     ("exit 1", "warning"), ("echo hello", "warning")],
)  # fmt: skip
def test_version_of_the_client_is_compared_with_the_tested_one(
    installed: Workspace, tmp_path: Path, script: str, state: str
) -> None:
    program(tmp_path / "bin" / "claude", script)
    assert check(installed, "client", PATH=f"{tmp_path}/bin:{os.environ['PATH']}").state == state


def test_client_that_is_not_there_is_only_a_warning(installed: Workspace) -> None:
    assert check(installed, "client", PATH="/nonexistent").state == "warning"


# Calls


def transcript(home: Path, root: Path, age: float) -> None:
    name = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in str(root))
    path = home / ".claude" / "projects" / name / "11111111-1111-1111-1111-111111111111.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (time.time() - age,) * 2)


def test_a_call_that_is_taken_in_at_this_moment_hides_no_other(
    installed: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a turn takes them in beside us, and the doctor said that none had ever arrived."""
    hook(installed.root, "claude", "Stop", b"{}")
    found = [*intake.waiting(installed.inbox), "00000000000000000001-2cc64b64-1-a0a0a0a0"]
    monkeypatch.setattr(intake, "waiting", lambda inbox: found)
    assert check(installed, "calls").state == "ok"


def test_the_last_call_is_told_whether_it_waits_or_was_taken_in(installed: Workspace) -> None:
    assert check(installed, "calls").state == "warning"
    hook(
        installed.root,
        "claude",
        "UserPromptSubmit",
        b'{"session_id": "s1", "prompt": "go"}',
        CLAUDE_PID=str(os.getpid()),
    )
    assert check(installed, "calls").state == "ok"
    assert check(installed, "inbox").about.startswith("1 call")


@pytest.mark.defect("`doctor` claimed calls of Claude Code for those of another agent and for imported transcripts")
@pytest.mark.parametrize("whose", ["another agent", "another client", "a transcript", "a command"])
def test_only_calls_of_claude_are_said_to_have_come(project: Workspace, home: Path, whose: str) -> None:
    holdfast.init(project, agent="none")
    if whose == "another agent":
        hook(project.root, "robot", "Did", b"{}")
    elif whose == "another client":
        hook(project.root, "claude", "Stop", b'{"session_id": "s1"}', COPILOT_CLI="1")
    elif whose == "a transcript":
        path = home / "s1.jsonl"
        said = {"type": "user", "uuid": "u1", "sessionId": "s1", "cwd": str(project.root),
                "timestamp": "2026-01-01T12:00:00Z", "message": {"role": "user", "content": "Fix it"}}  # fmt: skip
        path.write_text(json.dumps(said) + "\n")
        assert holdfast.import_claude(project, [str(path)]).conversations == 1
    else:
        holdfast.start(project, "goal")
        holdfast.join(project, agent="claude")
    for _ in range(2):  # while it waits, and once it was ingested
        assert "but hooks have run" not in check(project, "hooks").about
        assert check(project, "calls").about == "no call of Claude Code has arrived yet"
        holdfast.sweep(project)


def test_transcript_that_grows_while_no_call_comes_means_a_dead_recorder(installed: Workspace, home: Path) -> None:
    hook(installed.root, "claude", "Stop", b"{}")
    (waiting,) = [path for path in installed.inbox.iterdir() if path.is_file()]
    os.utime(waiting, (time.time() - 1000,) * 2)
    transcript(home, installed.root, age=1000)
    assert check(installed, "calls").state == "ok"
    transcript(home, installed.root, age=0)
    assert check(installed, "calls").state == "broken"


def test_transcript_from_before_the_installation_proves_nothing(installed: Workspace, home: Path) -> None:
    transcript(home, installed.root, age=1000)
    assert check(installed, "calls").state == "warning"
    os.utime(local(installed), (time.time() - 2000,) * 2)
    assert check(installed, "calls").state == "broken"


def test_calls_that_could_not_be_kept_or_read_are_told(installed: Workspace) -> None:
    keep_by_hand(installed.inbox, b"not json")
    holdfast.sweep(installed)
    (installed.place / "trouble").write_bytes(b"1700000000 claude Stop No space left on device".ljust(127) + b"\n")
    assert check(installed, "set aside").state == "warning"
    assert "No space left" in check(installed, "troubles").about
    installed.reset_troubles()


# In words


def test_the_command_says_ok_with_0_and_broken_with_1(repository: Path, cli: Callable[..., Command]) -> None:
    done = cli("doctor")
    assert (done.code, "broken   store: there is no store here" in done.out, "try: `holdfast init`" in done.out) == (
        1, True, True,
    )  # fmt: skip
    cli("init", "--agent", "claude").ok()
    assert "ok       store" in cli("doctor").ok().out
    assert cli("doctor", "--json").ok().json["healthy"] is True


def test_in_a_linked_worktree_the_local_settings_of_the_main_one_count(
    installed: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(installed, tmp_path / "linked", clock) as linked:
        (found,) = [each for each in holdfast.doctor(linked).checks if each.name == "local settings"]
        assert (found.state, str(local(installed)) in found.about) == ("ok", True)
        holdfast.init(linked, agent="claude")
        assert "twice" not in [each.name for each in holdfast.doctor(linked).checks]
        local(linked).unlink()
        change(local(installed), hooks={"Stop": json.loads(local(installed).read_bytes())["hooks"]["Stop"]})
        remedy = f"`cd {installed.root} && holdfast init --scope local`"
        assert (found := check(linked, "local settings")).state == "warning"
        assert found.hints == [remedy]


def test_path_that_is_no_text_is_shown_with_its_bytes(tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    directory.mkdir()
    with holdfast.open(directory) as workspace:
        holdfast.init(workspace, agent="claude")
        assert "/caf\\xe9/.claude/" in check(workspace, "local settings").about
