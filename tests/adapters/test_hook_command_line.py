"""Calls in settings as any client runs them: one text for a shell, the call on standard input, `args` ignored."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.agents import hook_command
from holdfast.agents.claude import hooks
from holdfast.agents.claude.client import STATUS_LINE
from holdfast.agents.claude.settings_file import called
from holdfast.project.workspace import Workspace
from tests.sessions import events_of
from tests.tools import ENTRY

PACKAGE = ENTRY.parents[2]
SCRIPT = ENTRY.relative_to(PACKAGE)

SHELLS = [shell for shell in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(shell)]
EVERY_SHELL = pytest.mark.parametrize("shell", SHELLS)
EVENTS = [*hooks.EVENTS]
HARD = 'it\'s a "dir" $(touch ran) `touch ran` ; touch ran && \\ #'


def run(command: object, directory: Path, call: dict[str, Any] | None = None, shell: str = "sh", **env: str) -> bytes:
    """Run a call as Copilot CLI does; answers with what it printed. It never fails, and says nothing of trouble."""
    done = subprocess.run(
        [shell, "-c", str(command)],
        cwd=directory,
        env={**os.environ, **env},
        input=json.dumps(call or {}).encode(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def commands(workspace: Workspace) -> dict[str, object]:
    """The text of each event's call in the local settings, all that another client takes from it."""
    settings = json.loads((workspace.root / ".claude" / "settings.local.json").read_bytes())
    return {event: call["command"] for event, (call,) in called(settings).items()}


@EVERY_SHELL
@pytest.mark.promise(18)
@pytest.mark.defect(
    "`init` let Copilot CLI deny its tool calls: it ran bare Python on the call as a program", promise=18
)
def test_client_that_ignores_args_keeps_its_calls_under_its_own_name(project: Workspace, shell: str) -> None:
    holdfast.start(project, "goal")
    holdfast.init(project, agent="claude")
    for event, command in commands(project).items():
        call = {"session_id": "c1", "hook_event_name": event, "tool_input": {"all": True, "none": None}}
        told = run(command, project.root, call, shell, COPILOT_CLI="1")
        assert told == b"" or event in hooks.ANSWERED
    holdfast.sweep(project)
    kept = [(event.agent, event.body["event"]) for event in events_of(project) if event.kind == "call.kept"]
    assert sorted(kept) == sorted(("copilot", event) for event in EVENTS)


@pytest.mark.promise(18)
@pytest.mark.parametrize("gone", ["python", "script", "package", "store"])
def test_call_is_silent_where_something_it_needs_is_gone(project: Workspace, tmp_path: Path, gone: str) -> None:
    python, inbox = tmp_path / "bin" / "python", tmp_path / "holdfast" / SCRIPT
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    shutil.copytree(PACKAGE, inbox.parents[2], ignore=shutil.ignore_patterns("__pycache__"))
    directory = project.root
    if gone == "python":
        python.unlink()
        python.symlink_to(tmp_path / "removed")
    elif gone == "script":
        inbox.unlink()
    elif gone == "package":
        shutil.rmtree(inbox.parents[2])
    else:
        python, inbox, directory = Path(sys.executable), ENTRY, tmp_path
    for event in EVENTS:
        assert run(hooks.block("local", str(python), str(inbox))[event]["command"], directory) == b""
    if gone != "store":
        assert run(hooks.status_line("local", str(python), str(inbox))["command"], directory) == b""
    assert list(project.inbox.iterdir()) == []


@EVERY_SHELL
def test_client_is_the_parent_of_the_hook(project: Workspace, shell: str) -> None:
    for event in ("Stop", "SessionEnd"):
        run(hooks.block("local", sys.executable, str(ENTRY))[event]["command"], project.root, shell=shell)
    for kept in project.inbox.iterdir():
        assert f"\0parent={os.getpid()} ".encode() in kept.read_bytes()


@EVERY_SHELL
@pytest.mark.parametrize("event", ["Stop", "SessionEnd", STATUS_LINE])
def test_paths_that_a_shell_would_read_otherwise_are_only_paths(
    project: Workspace, tmp_path: Path, shell: str, event: str
) -> None:
    place = tmp_path / (HARD if shell != "fish" else HARD.replace("\\", ""))
    place.mkdir()
    (place / "python").symlink_to(sys.executable)
    inbox = place / "holdfast" / SCRIPT
    shutil.copytree(PACKAGE, inbox.parents[2], ignore=shutil.ignore_patterns("__pycache__"))
    program = place / "program"
    program.write_text(f'#!/bin/sh\necho "$@" >"{tmp_path}/told"\n')
    program.chmod(0o755)
    if event == STATUS_LINE:
        call = hooks.status_line("local", str(program), str(inbox))
    else:
        call = hooks.block("local", str(program), str(inbox))[event]
    run(call["command"], project.root, shell=shell)
    script, options = (inbox, "-I -S") if event == "Stop" else (inbox.with_name("answer.py"), "-I")
    assert (tmp_path / "told").read_text() == f"{options} {script} claude {event}\n"
    assert not (project.root / "ran").exists()
    assert hook_command.is_ours(call)
    assert hook_command.files_of(call) == (str(program), [str(script)])


@pytest.mark.promise(20)
@pytest.mark.parametrize(
    "change",
    [
        lambda text: f"touch ran; {text}",
        lambda text: f"{text} $(touch ran)",
        lambda text: f"{text}; touch ran",
        lambda text: f"{text}$(touch${{IFS}}ran)",
        lambda text: text.replace("'/x/python'", "'/x/python' -o -x '/y'", 1),
        lambda text: text.replace("exec '/x/python'", "exec '/y/python'"),
        lambda text: text.replace("'/x/python'", '"$(touch ran)"'),
        lambda text: text.replace("'/x/python'", "'/x/'$(touch ran)''"),
    ],
)
def test_text_that_only_resembles_ours_names_no_program(change: Any) -> None:
    text = str(hooks.block("local", "/x/python", "/x/holdfast/inbox.py")["Stop"]["command"])
    assert hook_command.files_of({"type": "command", "command": text}) == ("/x/python", ["/x/holdfast/inbox.py"])
    assert hook_command.files_of({"type": "command", "command": change(text)}) is None
