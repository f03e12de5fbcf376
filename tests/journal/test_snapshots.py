"""Snapshots: reading the newest state does not depend on history's length, and they never lie."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast
from holdfast.core.fold import run as fold
from holdfast.core.model import Draft, Event
from holdfast.journal import codec
from holdfast.journal.journal import MILESTONE
from holdfast.journal.store import EventRow
from holdfast.project.workspace import Workspace
from tests.sessions import events_of, run_of, stored_events


@pytest.fixture
def long(project: Workspace) -> Workspace:
    """A run with more than two milestones of events."""
    run = holdfast.start(project, "a long story").run.id
    with project.writing() as writing:
        for number in range(2 * MILESTONE + 5):
            writing.append(run, Draft("action.taken", {"text": f"action {number}", "files": [f"file {number % 7}"]}))
    return project


def test_every_milestone_has_a_snapshot(long: Workspace) -> None:
    run = run_of(long).id
    with long.reading() as reading:
        found = reading.view.snapshots(run)
    assert [snapshot.seq for snapshot in found] == [MILESTONE, 2 * MILESTONE]
    assert {snapshot.fold for snapshot in found} == {fold.VERSION}


@pytest.mark.parametrize("seq", [1, MILESTONE - 1, MILESTONE, MILESTONE + 1, 2 * MILESTONE, 2 * MILESTONE + 6])
def test_earlier_state_is_read_from_the_nearest_snapshot(long: Workspace, seq: int) -> None:
    run = run_of(long).id
    expected = fold.fold(run, events_of(long)[:seq])
    assert holdfast.show(long, run, at=str(seq)).run == expected


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the events that are read from now on."""
    seen: list[int] = []
    event_of = codec.event_of

    def note_and_read(row: EventRow, fetch: Callable[[bytes], bytes | None]) -> Event:
        seen.append(row.seq)
        return event_of(row, fetch)

    monkeypatch.setattr(codec, "event_of", note_and_read)
    return seen


def test_newest_state_is_read_without_its_history(long: Workspace, read: list[int]) -> None:
    assert run_of(long).seq == 2 * MILESTONE + 6
    assert holdfast.note(long, "one more").seq == 2 * MILESTONE + 7
    assert read == []
    holdfast.show(long, at=str(2 * MILESTONE + 2))
    assert read == [2 * MILESTONE + 1, 2 * MILESTONE + 2]


def test_state_of_another_version_of_the_fold_is_folded_anew(
    long: Workspace, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_of(long).id
    before = run_of(long)
    monkeypatch.setattr(fold, "VERSION", fold.VERSION + 1)
    assert run_of(long) == before
    assert read == list(range(1, before.seq + 1))
    assert holdfast.show(long, run, at="300").run == fold.fold(run, events_of(long)[:300])
    assert holdfast.verify(long).problems == []
    holdfast.note(long, "written by the new version")
    read.clear()
    assert run_of(long).seq == before.seq + 1
    assert read == []


def test_forgetting_across_a_snapshot_reaches_the_newest_state(long: Workspace) -> None:
    run = run_of(long).id
    before = run_of(long)
    holdfast.forget(long, str(2 * MILESTONE + 6))
    holdfast.forget(long, "3")
    events = stored_events(long, run)
    forgotten = [2 * MILESTONE + 6, 3]
    assert run_of(long) == fold.fold(run, events)
    assert f"action {2 * MILESTONE + 4}" in [action.text for action in before.actions]
    assert f"action {2 * MILESTONE + 4}" not in [action.text for action in run_of(long).actions]
    for seq in (MILESTONE, 2 * MILESTONE + 1, len(events) - 1, len(events)):
        assert holdfast.show(long, run, at=str(seq)).run == fold.fold(run, events[:seq], forgotten)


def test_large_values_are_stored_once(project: Workspace) -> None:
    holdfast.start(project, "goal")
    for _ in range(3):
        holdfast.note(project, "the same large text " * 500)
    run = run_of(project)
    assert len({note.text for note in run.notes}) == 1
    with project.reading() as reading:
        assert len(reading.view.blob_uses(run.id)) == 1
        assert all(len(row.body) < 200 for row in reading.view.events(run.id))
