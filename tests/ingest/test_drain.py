"""Taking in what hooks have kept: every call exactly once, on the run it belongs to, however many do it at once."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core import ids
from holdfast.core.errors import Trouble
from holdfast.core.model import Status
from holdfast.ingest import catch_up, drain
from holdfast.project import inbox as intake
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.hook_calls import DOOR, keep_by_hand, kept_files, knock
from tests.promises import Figure
from tests.sessions import a_worktree, events_of, kinds_of, run_of
from tests.tools import Command, hook

# exactly once


def test_kept_call_is_an_event_of_the_open_run(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    hook(project.root, "robot", "PostToolUse", b'{"tool": "Edit"}')
    (event,) = holdfast.log(project, newest=1).events
    assert (event.kind, event.agent, event.run) == ("call.kept", "robot", run.id)
    assert (event.body["event"], event.body["call"]) == ("PostToolUse", {"tool": "Edit"})
    assert kept_files(project.inbox) == []
    assert (run_of(project).status, run_of(project).agents) == (Status.ACTIVE, ["robot"])


def test_conversation_of_codex_that_runs_claude_hooks_is_no_session_of_claude(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    transcript = "/home/dev/.codex/sessions/2026/11/18/rollout-2026-11-18T13-30-02-c1.jsonl"
    for number, event in enumerate(("SessionStart", "UserPromptSubmit", "SessionEnd"), 1):
        body = {"session_id": "c1", "transcript_path": transcript, "hook_event_name": event, "prompt": "Fix it"}
        keep_by_hand(project.inbox, json.dumps(body).encode(), monotonic=number, agent="claude", event="Any")
    holdfast.sweep(project)
    kept = [(event.agent, event.body["event"]) for event in events_of(project, run.id) if event.kind == "call.kept"]
    assert kept == [("codex", "SessionStart"), ("codex", "UserPromptSubmit"), ("codex", "SessionEnd")]
    assert holdfast.sessions(project).sessions == []


@pytest.mark.promise(12)
def test_call_that_comes_again_is_stored_once(project: Workspace, tmp_path: Path) -> None:
    holdfast.start(project, "goal")
    path = keep_by_hand(project.inbox, b'{"n": 1}')
    spare = tmp_path / "spare"
    shutil.copy(path, spare)
    for _ in range(5):
        holdfast.sweep(project)
        shutil.copy(spare, path)
    assert holdfast.sweep(project).taken_in == 0
    assert kinds_of(project) == ["run.started", "call.kept"]
    assert events_of(project)[1].id == ids.event_of_call(path.name)
    assert kept_files(project.inbox) == []


@pytest.mark.promise(1, 12)
def test_conversation_that_is_taken_in_again_after_a_kill_does_not_begin_again(
    project: Workspace, tmp_path: Path
) -> None:
    """Whoever takes in may be killed after his commit and before he removes the calls. The prompt of a conversation
    that had ended by then opened a session once more, and nobody ever closed it."""
    project.create()
    for number, event in enumerate(("SessionStart", "UserPromptSubmit", "SessionEnd"), 1):
        body = b'{"session_id":"c1","hook_event_name":"%s","prompt":"Fix it"}' % event.encode()
        keep_by_hand(project.inbox, body, monotonic=number, agent="claude", event=event)
    shutil.copytree(project.inbox, tmp_path / "spare")
    holdfast.sweep(project)
    before = kinds_of(project)
    assert before.count("session.opened") == 1
    shutil.copytree(tmp_path / "spare", project.inbox, dirs_exist_ok=True)
    holdfast.sweep(project)
    assert kinds_of(project) == before
    assert kept_files(project.inbox) == []


def test_whoever_is_in_a_hurry_leaves_many_calls_for_the_next_one_to_remove(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast.start(project, "goal")
    monkeypatch.setattr(catch_up, "FEW", 2)
    for number in range(3):
        keep_by_hand(project.inbox, b'{"n": %d}' % number, monotonic=number + 1)
    assert catch_up.ingest_inbox(project, hurry=True).taken_in == 3
    assert len(kept_files(project.inbox)) == 3
    assert catch_up.ingest_inbox(project).taken_in == 0
    assert kept_files(project.inbox) == []
    assert kinds_of(project) == ["run.started", *["call.kept"] * 3]


@pytest.mark.promise(12)
def test_call_that_comes_again_to_another_run_is_not_stored_there(project: Workspace, tmp_path: Path) -> None:
    first = holdfast.start(project, "first").run
    path = keep_by_hand(project.inbox)
    shutil.copy(path, tmp_path / "spare")
    second = holdfast.start(project, "second").run
    shutil.copy(tmp_path / "spare", path)
    holdfast.sweep(project)
    assert kinds_of(project, first.id).count("call.kept") == 1
    assert kinds_of(project, second.id) == ["run.started"]


@pytest.mark.promise(12)
def test_call_that_another_process_removes_meanwhile_is_no_error(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has committed the same calls, and unlinks them while we look at them."""
    holdfast.start(project, "goal")
    for number in range(3):
        keep_by_hand(project.inbox, monotonic=number)
    read = intake.read

    def read_as_it_vanishes(inbox: Path, name: str) -> Call | None:
        call = read(inbox, name)
        (inbox / name).unlink()
        return call

    with monkeypatch.context() as patch:
        patch.setattr(intake, "read", read_as_it_vanishes)
        assert holdfast.sweep(project).taken_in == 3


@pytest.mark.promise(12)
def test_processes_that_take_in_at_once_store_every_call_once(project: Workspace) -> None:
    holdfast.start(project, "goal")
    for number in range(200):
        keep_by_hand(project.inbox, b'{"n": %d}' % number, monotonic=number)
    project.close()
    sweep = [sys.executable, "-m", "holdfast", "sweep"]
    sweeps = [
        subprocess.Popen(sweep, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(6)
    ]
    ended = [(process.communicate(timeout=120)[1].decode(), process.returncode) for process in sweeps]
    assert [error for error, code in ended if code != 0] == []
    numbers = [event.body["call"]["n"] for event in events_of(project)[1:]]
    assert numbers == list(range(200))


def test_more_calls_than_a_batch_are_taken_in_order(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drain, "BATCH_CALLS", 4)
    monkeypatch.setattr(drain, "CHUNK_CALLS", 2)
    seen: list[tuple[str, int, int]] = []
    project.progress = lambda what, done, total: seen.append((what, done, total))
    holdfast.start(project, "goal")
    for number in range(10):
        keep_by_hand(project.inbox, b'{"n": %d}' % number, monotonic=number)
    assert holdfast.sweep(project).taken_in == 10
    assert [event.body["call"]["n"] for event in events_of(project)[1:]] == list(range(10))
    assert [done for what, done, total in seen if (what, total) == ("ingesting calls", 10)] == [4, 8, 10]


CONVERSATION = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]


@pytest.mark.defect("progress and `sweep` counted the events that calls became as calls: 5 of 4")
@pytest.mark.parametrize("batch", [1, 3, 1000])
def test_calls_are_counted_and_not_the_events_that_they_become(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    project.create()
    monkeypatch.setattr(drain, "BATCH_CALLS", batch)
    monkeypatch.setattr(drain, "CHUNK_CALLS", 1)
    seen: list[tuple[int, int]] = []

    def progress(what: str, done: int, total: int) -> None:
        if not seen:  # one more comes while the others are taken in
            keep_by_hand(project.inbox, b'{"n": 1}', monotonic=9)
        seen.append((done, total))

    monkeypatch.setattr(project, "progress", progress)
    for number, event in enumerate(CONVERSATION, 1):
        body = b'{"session_id":"c1","hook_event_name":"%s","prompt":"Fix it"}' % event.encode()
        keep_by_hand(project.inbox, body, monotonic=number, agent="claude", event=event)
    strange = keep_by_hand(project.inbox, b"{", monotonic=5)
    swept = holdfast.sweep(project)
    monkeypatch.undo()
    assert (swept.taken_in, swept.set_aside) == (4 + (batch < 1000), 1)
    assert len(kinds_of(project)) > 5
    assert seen[-1] == ((6, 6) if batch < 1000 else (5, 5))
    assert all(0 < done <= total <= 6 for done, total in seen)
    assert not strange.exists()


def test_calls_that_were_taken_in_and_not_removed_are_removed_a_batch_at_a_time(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them were looked up under one lock, however many somebody in a hurry had left."""
    monkeypatch.setattr(catch_up, "FEW", 0)
    holdfast.start(project, "goal")
    for number in range(10):
        keep_by_hand(project.inbox, b'{"n": %d}' % number, monotonic=number)
    assert catch_up.ingest_inbox(project, hurry=True).taken_in == 10
    monkeypatch.setattr(drain, "BATCH_CALLS", 4)
    sizes: list[int] = []
    remove = intake.remove

    def removing(inbox: Path, names: list[str]) -> None:
        sizes.append(len(names))
        remove(inbox, names)

    monkeypatch.setattr(intake, "remove", removing)
    assert catch_up.ingest_inbox(project).taken_in == 0
    assert sizes == [4, 4, 2]
    assert intake.waiting(project.inbox) == []


def test_secret_in_one_of_many_calls_is_hidden_there_alone(project: Workspace) -> None:
    """Calls are looked through together: what one of them holds must neither slip through nor touch the others."""
    holdfast.start(project, "goal")
    token = "ghp_" + "a1B2c3D4e5" * 4
    for number in range(5):
        said = f"the token is {token}" if number == 3 else f"call {number} says nothing"
        keep_by_hand(project.inbox, json.dumps({"said": said}).encode(), monotonic=number)
    holdfast.sweep(project)
    found = [event.body["call"]["said"] for event in events_of(project)[1:]]
    assert found == [f"call {n} says nothing" if n != 3 else "the token is [redacted token]" for n in range(5)]


def test_failure_in_the_middle_leaves_all_calls_where_they_are(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    holdfast.start(project, "goal")
    names = {keep_by_hand(project.inbox, monotonic=number).name for number in range(3)}
    read, seen = intake.read, iter(range(10))

    def fail_at_the_second(inbox: Path, name: str) -> Call | None:
        if next(seen) == 1:
            raise KeyboardInterrupt
        return read(inbox, name)

    with monkeypatch.context() as patch:
        patch.setattr(intake, "read", fail_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            holdfast.sweep(project)
    assert {path.name for path in kept_files(project.inbox)} == names
    assert holdfast.sweep(project).taken_in == 3


# which run


def test_call_names_its_run(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    holdfast.start(project, "second")
    hook(project.root, HOLDFAST_RUN=first.id)
    assert kinds_of(project, first.id)[-1] == "call.kept"


def test_call_of_a_session_counts_for_it(project: Workspace) -> None:
    holdfast.start(project, "goal")
    session = holdfast.join(project).session
    hook(project.root, HOLDFAST_SESSION=session.id)
    (found,) = holdfast.sessions(project).sessions
    assert (found.events, found.last_action) == (1, "robot Did")


def test_call_of_a_linked_worktree_goes_to_its_run(project: Workspace, clock: TickingClock, tmp_path: Path) -> None:
    here = holdfast.start(project, "here").run
    with a_worktree(project, tmp_path / "tree", clock) as other:
        there = holdfast.start(other, "there").run
    hook(tmp_path / "tree")
    holdfast.sweep(project)
    assert (kinds_of(project, here.id)[-1], kinds_of(project, there.id)[-1]) == ("run.started", "call.kept")


@pytest.mark.parametrize("form", ["{link}", "{link}/deep", "{root}/", "{root}/deep/.."])
def test_call_of_a_project_that_is_named_otherwise_goes_to_its_run(
    project: Workspace, tmp_path: Path, form: str
) -> None:
    run = holdfast.start(project, "goal").run
    (project.root / "deep").mkdir()
    (tmp_path / "link").symlink_to(project.root)
    hook(tmp_path, "claude", CLAUDE_PROJECT_DIR=form.format(link=tmp_path / "link", root=project.root))
    assert kinds_of(project, run.id) == ["run.started", "call.kept"]
    assert len(holdfast.runs(project).runs) == 1


def test_call_without_a_run_begins_one(project: Workspace) -> None:
    hook(project.root)
    holdfast.sweep(project)
    run = run_of(project)
    assert (run.goal, run.status, run.calls) == ("Work of robot", Status.ACTIVE, 1)
    hook(project.root)
    assert run_of(project).calls == 2


def test_call_after_the_end_of_a_run_does_not_wake_it(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    holdfast.complete(project)
    hook(project.root)
    found = run_of(project, run.id)
    assert (found.status, found.calls) == (Status.COMPLETED, 1)


def test_call_wakes_a_run_that_rests(project: Workspace) -> None:
    holdfast.start(project, "goal")
    holdfast.pause(project)
    hook(project.root)
    assert run_of(project).status is Status.ACTIVE


# many at once

HOOKS, NOTES = 32, 32


@pytest.mark.promise(12)
def test_64_processes_that_write_at_once_lose_nothing_and_double_nothing(
    project: Workspace, tmp_path: Path, figure: Figure
) -> None:
    holdfast.start(project, "goal")
    project.close()
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    keeper = os.open(gate, os.O_RDWR)
    payloads = [b'{"n": %d}' % number for number in range(HOOKS)]
    (tmp_path / "calls").mkdir()
    commands: list[tuple[list[str], Path | None]] = []
    for number, payload in enumerate(payloads):
        (tmp_path / "calls" / str(number)).write_bytes(payload)
        commands.append(([*DOOR, "robot", "Did"], tmp_path / "calls" / str(number)))
        commands.append(([sys.executable, "-m", "holdfast", "note", f"note {number}"], None))
    waiting = [behind_the_gate(project.root, gate, command, stdin) for command, stdin in commands]
    os.write(keeper, b"\n" * len(waiting))
    ended = [(process.communicate(timeout=300)[1].decode(), process.returncode) for process in waiting]
    os.close(keeper)
    assert [(error, code) for error, code in ended if code != 0] == []
    events = events_of(project)
    calls = [event.body["call"]["n"] for event in events if event.kind == "call.kept"]
    notes = [event.body["text"] for event in events if event.kind == "note.added"]
    assert sorted(calls) == list(range(HOOKS))
    assert sorted(notes) == sorted(f"note {number}" for number in range(NOTES))
    assert [event.seq for event in events] == list(range(1, 1 + 1 + HOOKS + NOTES))
    figure("processes at once", len(waiting))
    assert kept_files(project.inbox) == []


def behind_the_gate(directory: Path, gate: Path, command: list[str], stdin: Path | None) -> subprocess.Popen[bytes]:
    """A process that begins when a line comes through the gate."""
    script = 'read _ <"$0"; exec "$@"'
    with open(stdin or os.devnull, "rb") as source:
        return subprocess.Popen(
            ["sh", "-c", script, str(gate), *command],
            cwd=directory,
            env={**os.environ, "HOLDFAST_STORE_DEADLINE": "120"},
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )


STOP_INSIDE = """
import os, signal, sys
import holdfast
from holdfast.core.model import Draft
with holdfast.open(sys.argv[1]) as project:
    with project.writing() as journal:
        journal.append(sys.argv[2], Draft("note.added", {"text": "from inside"}))
        os.kill(os.getpid(), signal.SIGSTOP)
print("committed", flush=True)
"""


@pytest.mark.promise(12, 18)
@pytest.mark.parametrize("end", [signal.SIGCONT, signal.SIGKILL], ids=["continued", "killed"])
def test_writer_that_stands_still_in_its_transaction_stops_no_hook(project: Workspace, end: signal.Signals) -> None:
    run = holdfast.start(project, "goal").run
    command = [sys.executable, "-c", STOP_INSIDE, str(project.root), run.id]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        os.waitpid(writer.pid, os.WUNTRACED)
        knock(project.root, b'{"n": 1}')
        assert len(kept_files(project.inbox)) == 1
        impatient = {"HOLDFAST_STORE_DEADLINE": "0.3"}
        refused = Command.run("note", "from outside", directory=project.root, env=impatient)
        assert refused.code == 11
        assert str(writer.pid) in refused.err
        writer.send_signal(end)
        said = writer.communicate(timeout=60)[0]
    assert (said == b"committed\n") == (end is signal.SIGCONT)
    Command.run("note", "from outside", directory=project.root).ok()
    texts = [event.body.get("text") for event in events_of(project)]
    assert texts.count("from inside") == (1 if end is signal.SIGCONT else 0)
    assert texts.count("from outside") == 1
    assert kinds_of(project).count("call.kept") == 1


def test_reader_is_not_stopped_by_a_writer(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    command = [sys.executable, "-c", STOP_INSIDE, str(project.root), run.id]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        os.waitpid(writer.pid, os.WUNTRACED)
        assert run_of(project).notes == []
        writer.send_signal(signal.SIGCONT)
        writer.communicate(timeout=60)
    assert [note.text for note in run_of(project).notes] == ["from inside"]


# what cannot be read for the moment


def unreadable(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Let the system refuse to open a file."""
    opened = os.open

    def refuse(path: str | Path, *arguments: Any, **options: Any) -> int:
        if str(path).endswith(name):
            raise OSError(number, os.strerror(number), str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)


def numbers_of(workspace: Workspace) -> list[int]:
    return [event.body["call"]["n"] for event in events_of(workspace) if event.kind == "call.kept"]


@pytest.mark.promise(6)
@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_call_that_cannot_be_read_keeps_nobody_else_waiting_and_is_taken_in_once_it_can(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    holdfast.start(project, "goal")
    bad, *_ = [keep_by_hand(project.inbox, b'{"n": %d}' % n, monotonic=n) for n in (1, 2, 3)]
    with monkeypatch.context() as patch:
        unreadable(patch, bad.name, number)
        holdfast.note(project, "something else")
        holdfast.repair(project)
        assert numbers_of(project) == [2, 3]
        assert kept_files(project.inbox) == [project.inbox / bad.name]
        (told,) = project.warnings
        assert f"1 call in the inbox cannot be read at present; the others are ingested: {project.place}/inbox/" in told
        assert f"`mv {project.place}/inbox/{bad.name} .`" in told
    assert holdfast.sweep(project).taken_in == 1
    assert numbers_of(project) == [2, 3, 1]
    assert kept_files(project.inbox) == []


@pytest.mark.promise(6)
def test_calls_that_cannot_be_read_are_counted(project: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    holdfast.start(project, "goal")
    bad = keep_by_hand(project.inbox)
    with monkeypatch.context() as patch:
        unreadable(patch, bad.name, errno.EIO)
        assert holdfast.status(project).unread == [bad.name]
        assert holdfast.verify(project).unread == 1
        (check,) = [check for check in holdfast.doctor(project).checks if check.name == "not read"]
        assert check.about == "1 call cannot be read at present"
    assert (holdfast.status(project).unread, holdfast.verify(project).unread) == ([], 0)


@pytest.mark.promise(5, 6)
@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_no_call_overtakes_one_that_only_finds_no_room_to_be_read(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    holdfast.start(project, "goal")
    paths = [keep_by_hand(project.inbox, b'{"n": %d}' % n, monotonic=n) for n in (1, 2, 3)]
    with monkeypatch.context() as patch:
        unreadable(patch, paths[1].name, number)
        with pytest.raises(Trouble):
            holdfast.sweep(project)
    assert [path.name for path in kept_files(project.inbox)] == [path.name for path in paths]
    holdfast.sweep(project)
    assert numbers_of(project) == [1, 2, 3]


@pytest.mark.promise(6)
@pytest.mark.parametrize("late", ["SessionStart", "UserPromptSubmit"])
def test_call_that_is_read_after_its_conversation_has_ended_does_not_open_it_again(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    project.create()
    paths: dict[str, Path] = {}
    for number, event in enumerate(("SessionStart", "UserPromptSubmit", "UserPromptSubmit", "SessionEnd"), 1):
        body = b'{"session_id":"c1","hook_event_name":"%s","prompt":"Fix it"}' % event.encode()
        when = str(1_767_268_800_000_000_000 + number * 1_000_000_000)
        path = keep_by_hand(project.inbox, body, monotonic=number, agent="claude", event=event, time=when)
        paths.setdefault(event, path)
    with monkeypatch.context() as patch:
        unreadable(patch, paths[late].name, errno.EIO)
        before = kinds_of(project)
    after = kinds_of(project)
    assert (before.count("session.opened"), after.count("session.opened")) == (1, 1)
    assert len(after) == len(before) + 1
    assert kept_files(project.inbox) == []
