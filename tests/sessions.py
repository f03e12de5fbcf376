"""Those who work on runs: processes that live and die, sessions of theirs, other worktrees."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.agents import registry
from holdfast.agents.claude import hooks
from holdfast.core.model import Body, Draft, Event, Run
from holdfast.journal.journal import Journal
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock


@contextmanager
def a_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until it is killed."""
    with subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL) as child:
        try:
            yield child
        finally:
            child.kill()


def kill(child: subprocess.Popen[bytes]) -> None:
    """Kill it, and wait until it is gone."""
    child.send_signal(signal.SIGKILL)
    child.wait(60)


def stop(child: subprocess.Popen[bytes]) -> None:
    """Stop it, and wait until it stands still."""
    child.send_signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)


def as_session(project: Workspace, session: str) -> Workspace:
    """The same project, as a process sees it that was handed this session."""
    environ = {**os.environ, "HOLDFAST_SESSION": session}
    return Workspace(
        project.root, project.place, clock=project.clock, environ=environ, rules_of=project.rules_of, clients=registry
    )


def with_environ(project: Workspace, **environ: str) -> Workspace:
    return Workspace(
        project.root,
        project.place,
        clock=project.clock,
        environ={**os.environ, **environ},
        rules_of=project.rules_of,
        clients=registry,
    )


@contextmanager
def a_worktree(project: Workspace, path: Path, clock: TickingClock) -> Iterator[Workspace]:
    """A linked worktree of the project, which shares its store."""
    git = ["git", "-C", str(project.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", "--detach", str(path)], check=True)
    with holdfast.open(path, clock=clock) as workspace:
        yield workspace


def old_form(event: str, python: str, inbox: str) -> dict[str, Any]:
    """A call as earlier versions wrote it, without a shell."""
    kept, answered = ["-S", inbox, "claude", event], ["-m", "holdfast", "hook", "claude", event]
    return {"type": "command", "command": python, "args": ["-I", *(answered if event in hooks.ANSWERED else kept)]}


def run_of(project: Workspace, run: str | None = None) -> Run:
    """A run as it stands."""
    shown = holdfast.show(project, run)
    assert isinstance(shown.run, Run)
    return shown.run


def events_of(project: Workspace, run: str | None = None) -> list[Event]:
    return holdfast.log(project, run=run).events


def store_raw(project: Workspace, run: str, kind: str, body: Body) -> None:
    """What a version without redaction has stored."""
    with project.store.writing() as view:
        journal = Journal(view, project.clock, lambda body: body, project.rules_of)
        journal.append(run, Draft(kind, body))
        journal.flush()


def stored_events(project: Workspace, run: str) -> list[Event]:
    """The events as they are stored, also those that were forgotten."""
    with project.reading() as journal:
        return list(journal.events(run))


def kinds_of(project: Workspace, run: str | None = None) -> list[str]:
    return [event.kind for event in events_of(project, run)]


def saving_in_between(monkeypatch: pytest.MonkeyPatch, name: str, save: Callable[[], None]) -> None:
    """Let somebody else save a file once, in the moment before we rename it."""
    rename, left = os.rename, [save]

    def disturbed(one: str | Path, other: str | Path, **options: Any) -> None:
        if Path(one).name == name and left:
            left.pop()()
        rename(one, other, **options)

    monkeypatch.setattr(os, "rename", disturbed)
