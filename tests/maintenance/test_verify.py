"""Proving that a store is whole: nothing is found in a healthy one, and whatever is changed behind our back is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

import holdfast
from holdfast.core.model import Draft
from holdfast.journal import codec
from holdfast.journal.journal import MILESTONE
from holdfast.operations.maintenance import Problem
from holdfast.project.workspace import Workspace
from tests.hook_calls import keep_by_hand
from tests.sessions import a_process, kill, run_of
from tests.tools import Command


@pytest.fixture
def full(repository: Path) -> Iterator[Workspace]:
    """A store with something of everything. It is not verified afterwards, since it gets damaged."""
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "first")
        holdfast.start(workspace, "second", agent="robot")
        holdfast.tag(workspace, ("one",))
        holdfast.note(workspace, "a large text " * 200)
        with a_process() as child:
            holdfast.join(workspace, pid=child.pid, agent="robot")
            kill(child)
        holdfast.join(workspace)
        forgotten = holdfast.note(workspace, "to be forgotten")
        holdfast.forget(workspace, str(forgotten.seq))
        run = run_of(workspace).id
        with workspace.writing() as journal:
            for number in range(MILESTONE):
                journal.append(run, Draft("action.taken", {"text": f"action {number}"}))
        yield workspace


def tamper(workspace: Workspace, *statements: str) -> None:
    """Change the database behind our back, as a broken disk or another program would."""
    workspace.close()
    connection = apsw.Connection(str(workspace.place / "journal.db"))
    connection.pragma("foreign_keys", False)
    for statement in statements:
        connection.execute(statement)
        assert connection.changes() or statement.startswith(("CREATE", "DROP", "PRAGMA"))
    connection.close()


def problems(workspace: Workspace) -> list[Problem]:
    return holdfast.verify(workspace).problems


def test_healthy_store_has_no_problems_and_everything_is_counted(full: Workspace) -> None:
    keep_by_hand(full.inbox, b"not json")
    holdfast.sweep(full)
    found = holdfast.verify(full)
    assert (found.problems, found.runs, found.set_aside) == ([], 2, 1)
    assert found.events == sum(run.seq for run in holdfast.runs(full).runs)


def test_verifying_changes_nothing(full: Workspace) -> None:
    holdfast.sweep(full)
    with full.reading() as journal:
        before = [journal.view.find_run(run) for run in journal.view.all_run_ids()]
    holdfast.verify(full)
    with full.reading() as journal:
        assert [journal.view.find_run(run) for run in journal.view.all_run_ids()] == before


NEWEST = "(SELECT max(key) FROM run)"
FORGED = codec.squeeze(b'{"id":"x","goal":"forged"}').hex()
OTHER = codec.squeeze(b"another text").hex()

TAMPERED = {
    "state of a run": f"UPDATE run SET state = x'{FORGED}' WHERE key = {NEWEST}",
    "state that cannot be read": f"UPDATE run SET state = x'6a7b' WHERE key = {NEWEST}",
    "state that cannot be expanded": f"UPDATE run SET state = x'7a00ff' WHERE key = {NEWEST}",
    "status of a run": f"UPDATE run SET status = 'completed' WHERE key = {NEWEST}",
    "worktree of a run": f"UPDATE run SET worktree = 'elsewhere' WHERE key = {NEWEST}",
    "time of a run": f"UPDATE run SET updated = updated - 1 WHERE key = {NEWEST}",
    "length of a run": f"UPDATE run SET seq = seq + 1 WHERE key = {NEWEST}",
    "label": "UPDATE label SET label = 'tag:other' WHERE label = 'tag:one'",
    "missing label": "DELETE FROM label",
    "missing event in the middle": f"DELETE FROM event WHERE run = {NEWEST} AND seq = 4",
    "missing first event": f"DELETE FROM event WHERE run = {NEWEST} AND seq = 1",
    "missing last event": f"DELETE FROM event WHERE run = {NEWEST} AND seq = (SELECT max(seq) FROM event)",
    "all events of a run": f"DELETE FROM event WHERE run = {NEWEST}",
    "body of an event": f"UPDATE event SET body = x'6a7b7d' WHERE run = {NEWEST} AND seq = 1",
    "body that cannot be read": f"UPDATE event SET body = x'00' WHERE run = {NEWEST} AND seq = 1",
    "kind of an event": f"UPDATE event SET kind = 'note.added' WHERE run = {NEWEST} AND seq = 1",
    "time of an event": f"UPDATE event SET time = time + 1 WHERE run = {NEWEST} AND seq = 1",
    "session of an event": "UPDATE event SET session = 'ses-x' WHERE kind = 'session.opened'",
    "agent of an event": "UPDATE event SET agent = 'other' WHERE kind = 'session.opened'",
    "large value": f"UPDATE blob SET data = x'{OTHER}'",
    "large value that cannot be read": "UPDATE blob SET data = x'00'",
    "missing large value": "DELETE FROM blob",
    "use of a large value": "DELETE FROM blob_use",
    "session that is still open": "UPDATE session SET is_open = 1 WHERE is_open = 0",
    "session without its process": "UPDATE session SET has_process = 0 WHERE has_process = 1",
    "record of a session": "UPDATE session SET record = x'7b7d'",
    "session of another run": "UPDATE session SET run = (SELECT min(key) FROM run)",
    "missing session": "DELETE FROM session WHERE is_open = 1",
    "snapshot": f"UPDATE snapshot SET state = x'{FORGED}'",
    "snapshot that cannot be read": "UPDATE snapshot SET state = x'00'",
    "snapshot beyond the end": "UPDATE snapshot SET seq = 100000",
    "dangling pointer": "UPDATE pointer SET run = 999",
    "run without events": "INSERT INTO run (id, status, layout, worktree, created, updated, seq, fold, state)"
    " VALUES ('run-x', 'active', 'native', '.', 0, 0, 0, 1, x'6a7b7d')",
}  # fmt: skip


@pytest.mark.promise(8)
@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED.keys())
def test_whatever_is_changed_behind_our_back_is_found(full: Workspace, change: str) -> None:
    tamper(full, change)
    assert problems(full)


WHERE: list[tuple[str, Callable[[Problem], bool]]] = [
    ("state of a run", lambda problem: "the stored state does not match the events" in problem.what),
    ("missing event in the middle", lambda problem: "event 4 is missing" in problem.what),
    ("large value", lambda problem: "value has changed" in problem.what),
    ("session that is still open", lambda problem: problem.where.startswith("ses-")),
    ("dangling pointer", lambda problem: "pointer" in problem.what and "run" in problem.what),
    ("snapshot", lambda problem: f"snapshot at event {MILESTONE}" in problem.what),
]


@pytest.mark.promise(8)
@pytest.mark.parametrize(("name", "fits"), WHERE, ids=[name for name, _ in WHERE])
def test_problem_names_what_is_wrong(full: Workspace, name: str, fits: Callable[[Problem], bool]) -> None:
    tamper(full, TAMPERED[name])
    assert any(fits(problem) for problem in problems(full))


def test_one_damaged_run_does_not_hide_the_others(full: Workspace) -> None:
    tamper(full, TAMPERED["body that cannot be read"])
    found = holdfast.verify(full)
    assert found.runs == 2
    assert len({problem.where for problem in found.problems}) == 1


def test_damage_has_an_exit_code_of_its_own(full: Workspace) -> None:
    tamper(full, TAMPERED["status of a run"])
    done = Command.run("verify", directory=full.root)
    assert done.code == 12
    assert "status" in done.out
