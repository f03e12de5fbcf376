"""What is never removed: many states of runs, calls and checkpoints, and the harshest tidying that there is."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

import holdfast
from holdfast.core.model import Body, Checkpoint, Draft, Restore
from holdfast.journal.journal import Journal
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.maintenance.test_quota import MARK, words
from tests.promises import Figure
from tests.sessions import a_worktree
from tests.tools import hook
from tests.worktrees import back, commit, git, put, take

pytestmark = pytest.mark.promise(11)

OUTPUT = words(1, 2_000)
OLD = timedelta(days=400)
SETTINGS = {
    "store.cap": "1",
    "checkpoint.keep_days": "1",
    "checkpoint.most": "1",
    "run.keep_days": "1",
    "run.most": "1",
    "output.keep_days": "1",
}


def harshly(project: Workspace, clock: TickingClock) -> holdfast.Workspace:
    """Tidy as harshly as one can, long after all that happened, with a store that is too full anyway."""
    clock.time += OLD
    for key, value in SETTINGS.items():
        holdfast.config_set(project, key, value)
    (project.place / "faces").mkdir(mode=0o700, exist_ok=True)
    (project.place / "faces" / "ballast").write_bytes(bytes(2_000_000))
    workspace = holdfast.open(project.root, clock=clock)
    holdfast.tidy(workspace, days=0, most=1, megabytes=0)
    return workspace


# Runs. All of them were exported but where it says otherwise, and nothing has happened in them for a year.

Told = list[tuple[str, Body]]
DONE: Told = [("run.completed", {})]
NOTE: Told = [("note.added", {"text": "a"}), ("entry.pinned", {"entry": "n1"})]
SESSION: Told = [("session.opened", {"epoch": 0})]
OWNED: Told = [("owner.told", {"path": "state.json", "digest": "d", "word": "completed", "status": "completed"})]


class State(NamedTuple):
    """How a run came to be: its events, and what else is true of it."""

    events: Told
    exported: bool | int | bytes = True
    layout: str = "native"
    pointed: bool = False
    checkpoint: bool = False


WHOLE = {  # the run stays, and what its tools gave too
    "created": State([]),
    "active": State([("session.opened", {"epoch": 0}), ("session.ended", {"how": "ended"})]),
    "paused": State([("run.paused", {})]),
    "interrupted": State([*SESSION, ("run.interrupted", {})]),
    "paused and resumed": State([("run.paused", {}), ("run.resumed", {})]),
    "completed with a session that is open": State([*SESSION, *DONE]),
    "named": State([("run.renamed", {"name": "release"}), *DONE]),
    "tagged": State([("run.tagged", {"added": ["keep"]}), *DONE]),
    "with a pinned note": State([*NOTE, *DONE]),
    "with a pinned decision": State([("decision.made", {"decision": "a"}), ("entry.pinned", {"entry": "d1"}), *DONE]),
    "with a pinned task": State([("task.added", {"text": "a"}), ("entry.pinned", {"entry": "t1"}), *DONE]),
    "of a layout that nobody knows": State(DONE, layout="from-the-future"),
    "not exported and open": State([], exported=False),
    "not exported and named": State([("run.renamed", {"name": "a"}), *DONE], exported=False),
}
RUN_ONLY = {  # the run stays with every event; what its tools gave may be thinned out
    "completed, not exported": State(DONE, exported=False),
    "failed, not exported": State([("run.failed", {"reason": "a"})], exported=False),
    "aborted, not exported": State([("run.aborted", {})], exported=False),
    "abandoned, not exported": State([("run.abandoned", {})], exported=False),
    "exported before its last event": State(DONE, exported=2),
    "exported, says a file that nobody can read": State(DONE, exported=b"\xff\xfe"),
    "exported, says an empty file": State(DONE, exported=b""),
    "meant by a worktree": State(DONE, pointed=True),
    "with a checkpoint that is named": State(DONE, checkpoint=True),
    "of FABER": State([*OWNED, *DONE], layout="faber"),
    "in an archive of its own system": State([*DONE, ("run.archived", {"path": "a.json"})], layout="orchestrator"),
    "exported, says a file about another run": State(DONE, exported=b"3 00 run-another"),
    "exported, says a file with another event": State(DONE, exported=b"3 00112233445566778899aabbccddeeff run-%010d"),
    "exported, says a file that names no event": State(DONE, exported=b"3 run-%010d"),
}
GOES = {
    "completed": State(DONE),
    "failed": State([("run.failed", {})]),
    "unpinned": State([*NOTE, ("entry.unpinned", {"entry": "n1"}), *DONE]),
}


def make(project: Workspace, journal: Journal, number: int, state: State) -> str:
    id = f"run-{number:010d}"
    body = {"goal": f"state {number}", "layout": state.layout, "worktree": "."}
    run = journal.start(id, Draft("run.started", body))
    call = {"agent": "robot", "event": "Did", "directory": "/x", "call": {"tool_response": OUTPUT + str(number)}}
    session = f"ses-{number:010d}"
    drafts = [Draft(kind, body, session=session if "session" in kind else None) for kind, body in state.events]
    journal.append(id, Draft("call.kept", call), *drafts)
    if state.pointed:
        journal.point(f"worktree{number}", id)
    if isinstance(state.exported, bytes):
        (project.place / "exported").mkdir(exist_ok=True, mode=0o700)
        told = state.exported
        (project.place / "exported" / id).write_bytes(told % number if b"%" in told else told)
    elif state.exported:
        seq = run.seq if state.exported is True else state.exported
        last = next(event.id for event in journal.events(id) if event.seq == seq)
        tombstones.note_exported(project.place, tombstones.Exported(seq, last, id))
    return id


def output_of(journal: Journal, run: str) -> str:
    return str(next(event for event in journal.events(run) if event.kind == "call.kept").body["call"]["tool_response"])


def test_no_run_is_removed_that_is_open_pinned_named_in_use_unknown_or_not_exported(
    project: Workspace, clock: TickingClock, figure: Figure
) -> None:
    names: dict[str, str] = {}
    events: dict[str, int] = {}
    states = WHOLE | RUN_ONLY | {f"goes: {name}": state for name, state in GOES.items()}
    with project.writing() as journal:
        for number, (name, state) in enumerate(states.items()):
            names[name] = make(project, journal, number, state)
            events[name] = journal.get_run(names[name]).seq
    for name in (name for name, state in states.items() if state.checkpoint):
        put(project.root, {"a.txt": name})
        holdfast.checkpoint(project, "release", run=names[name])
    with harshly(project, clock) as later, later.reading() as journal:
        wrong = [name for name in WHOLE | RUN_ONLY if journal.find_run(names[name]) is None]
        assert wrong == [], "removed"
        figure("states", len(WHOLE | RUN_ONLY))
        wrong = [name for name in WHOLE | RUN_ONLY if len(list(journal.events(names[name]))) != events[name]]
        assert wrong == [], "lost events"
        wrong = [name for name in WHOLE if not output_of(journal, names[name]).startswith(OUTPUT)]
        assert wrong == [], "lost what their tools gave"
        assert [name for name in GOES if journal.find_run(names[f"goes: {name}"])] == [], "could go, and did not"
        thinned = [name for name in RUN_ONLY if output_of(journal, names[name]).endswith(MARK)]
        assert len(thinned) == len(RUN_ONLY), "the store was not full, or this test is about nothing"
        assert len(WHOLE | RUN_ONLY) == 28


# Calls and checkpoints. Each builds a state, and answers with what must hold afterwards.

Check = Callable[[Workspace], object]


def comes_back(made: Checkpoint, text: str) -> Check:
    def check(workspace: Workspace) -> None:
        holdfast.restore(workspace, made.id, force=True)
        assert (workspace.root / "a.txt").read_text() == text

    return check


def some(project: Workspace, count: int = 3) -> list[Checkpoint]:
    made = []
    for number in range(count):
        put(project.root, {"a.txt": f"{number}"})
        made.append(take(project))
    return made


def pinned(project: Workspace) -> Check:
    made = some(project)
    holdfast.pin(project, made[0].id)
    return comes_back(made[0], "0")


def named(project: Workspace) -> Check:
    put(project.root, {"a.txt": "named"})
    made = take(project, "release")
    some(project)
    return comes_back(made, "named")


def last_of_the_worktree(project: Workspace) -> Check:
    return comes_back(some(project)[-1], "2")


def last_of_an_open_run(project: Workspace) -> Check:
    holdfast.start(project, "open")
    made = some(project)[-1]
    holdfast.start(project, "another")
    some(project)
    return comes_back(made, "2")


def what_undo_needs(project: Workspace) -> Check:
    made = some(project)
    put(project.root, {"a.txt": "never kept by hand"})
    back(project, made[0])
    some(project)

    def check(workspace: Workspace) -> None:
        holdfast.undo(workspace)
        assert (workspace.root / "a.txt").read_text() == "never kept by hand"

    return check


def what_redo_needs(project: Workspace) -> Check:
    made = some(project)
    back(project, made[0])
    holdfast.undo(project)

    def check(workspace: Workspace) -> None:
        holdfast.redo(workspace)
        assert (workspace.root / "a.txt").read_text() == "0"

    return check


def of_a_restore_that_was_broken_off(project: Workspace) -> Check:
    made = some(project)
    with project.writing() as journal:
        ledger = journal.ledger(project.worktree)
        begun = Restore("res-0000000000", made[0].time, made[2].id, made[0].id)
        journal.append(ledger.id, Draft("restore.began", {"restore": begun}))

    def check(workspace: Workspace) -> None:
        holdfast.continue_restore(workspace)
        assert (workspace.root / "a.txt").read_text() == "0"

    return check


def that_the_journal_does_not_know(project: Workspace) -> Check:
    some(project)
    with shadow_of(project) as shadow:
        shadow.object_store.keep(700, {b"beside": shadow.object_store.blob(b"from somewhere else")})

    def check(workspace: Workspace) -> None:
        with shadow_of(workspace) as shadow:
            assert 700 in shadow.object_store.numbers()

    return check


def that_a_commit_rests_on(project: Workspace) -> Check:
    put(project.root, {"a.txt": "the only copy"})
    take(project)
    commit(project.root)
    some(project)
    return lambda workspace: git(workspace.root, "fsck", "--full") and git(workspace.root, "show", "HEAD:a.txt")


def that_the_index_rests_on(project: Workspace) -> Check:
    put(project.root, {"a.txt": "staged"})
    take(project)
    git(project.root, "add", "a.txt")
    some(project)

    def check(workspace: Workspace) -> None:
        assert git(workspace.root, "show", ":a.txt") == "staged"

    return check


def a_call_that_waits(project: Workspace) -> Check:
    holdfast.start(project, "open")
    hook(project.root, "robot", "Did", b'{"a": "waits"}')

    def check(workspace: Workspace) -> None:
        assert any(event.body.get("call") == {"a": "waits"} for event in holdfast.log(workspace).events)

    return check


def a_call_that_nobody_can_read(project: Workspace) -> Check:
    name = "00000000000000000001-00000000-1-00000000"
    (project.inbox / name).write_bytes(b"not a call")

    def check(workspace: Workspace) -> None:
        assert (workspace.inbox / "aside" / name).read_bytes() == b"not a call"

    return check


STATES = [
    pinned, named, last_of_the_worktree, last_of_an_open_run, what_undo_needs, what_redo_needs,
    of_a_restore_that_was_broken_off, that_the_journal_does_not_know, that_a_commit_rests_on, that_the_index_rests_on,
    a_call_that_waits, a_call_that_nobody_can_read,
]  # fmt: skip


@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_no_checkpoint_or_call_is_removed_that_somebody_needs(
    project: Workspace, clock: TickingClock, state: Callable[[Workspace], Check], figure: Figure
) -> None:
    figure("states", 1)
    check = state(project)
    with harshly(project, clock) as later:
        check(later)
        assert holdfast.verify(later, deep=True).problems == []


def test_the_checkpoints_of_another_worktree_stay(project: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        made = some(linked)
        with harshly(project, clock) as later:
            for number, found in enumerate(made):
                comes_back(found, str(number))(later)


def test_the_last_checkpoint_of_a_worktree_that_was_removed_stays_until_it_is_too_old(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        made = some(linked)
    git(project.root, "worktree", "remove", "--force", str(tmp_path / "linked"))
    assert made[-1].id not in holdfast.tidy(project, days=1, most=1, megabytes=0).dropped
    comes_back(made[-1], "2")(project)
