"""Limits that hold by themselves: what goes when the store is full, in which order, and that recording goes on."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from zlib import crc32

import pytest

import holdfast
from holdfast.core.model import Draft, Event
from holdfast.journal import codec
from holdfast.maintenance.background import run_pending
from holdfast.maintenance.prune import enforce_quota
from holdfast.project.quota import STAMP, Room, measure_usage, warning_of
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import stored_events
from tests.tools import Command, hook
from tests.worktrees import put, take

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
MARK = "bytes of tool output, thinned out]"


def words(seed: int, size: int) -> str:
    """A text that hardly gets smaller when it is packed."""
    return "".join(random.Random(seed).choices(LETTERS, k=size))


def worked(project: Workspace, goal: str, calls: int = 20, size: int = 20_000, *, done: bool = True) -> str:
    """A run in which tools gave much."""
    run = holdfast.start(project, goal).run.id
    with project.writing() as journal:
        seed = crc32(goal.encode())
        for number in range(calls):
            call = {"tool_name": "Read", "tool_response": words(seed + number, size)}
            journal.append(run, Draft("call.kept", {"agent": "robot", "event": "Did", "call": call}))
            body = {"text": f"Read: file {number}", "key": f"{goal}{number}", "outcome": words(-number, 900)}
            journal.append(run, Draft("action.taken", body))
    if done:
        holdfast.complete(project)
    return run


@contextmanager
def capped(project: Workspace, megabytes: int, clock: TickingClock, **settings: str) -> Iterator[Workspace]:
    holdfast.config_set(project, "store.cap", str(megabytes))
    for key, value in settings.items():
        holdfast.config_set(project, key.replace("__", "."), value)
    with holdfast.open(project.root, clock=clock) as workspace:
        yield workspace


def given(project: Workspace, run: str) -> list[str]:
    """What the tools of a run gave, as far as it is still there."""
    events = [event for event in stored_events(project, run) if event.kind in ("call.kept", "action.taken")]
    return [text for event in events if MARK not in (text := _given(event))]


def _given(event: Event) -> str:
    return str(event.body["outcome"] if event.kind == "action.taken" else event.body["call"].get("tool_response", MARK))


def test_at_the_cap_the_oldest_tool_output_goes_first_and_the_events_stay(
    project: Workspace, clock: TickingClock
) -> None:
    runs = [worked(project, f"goal {number}") for number in range(4)]
    before = {run: stored_events(project, run) for run in runs}
    with capped(project, 1, clock) as full:
        done = holdfast.tidy(full)
        assert done.thinned == runs[: len(done.thinned)]
        assert 1 <= len(done.thinned) < 4
        assert done.room.total < done.cap
        assert done.given_back > 200_000
        for run in runs:
            left = given(full, run)
            assert len(left) == (0 if run in done.thinned else 40)
            assert [(found.seq, found.kind, found.id) for found in stored_events(full, run)] == [
                (found.seq, found.kind, found.id) for found in before[run]
            ]
        shown = stored_events(full, runs[0])[1].body["call"]["tool_response"]
        assert shown == "[20,000 bytes of tool output, thinned out]"
        assert holdfast.verify(full, deep=True).problems == []
        assert holdfast.tidy(full).thinned == [], "nothing is left to do"


def test_a_dry_run_says_what_would_be_thinned_out_and_changes_nothing(project: Workspace, clock: TickingClock) -> None:
    run = worked(project, "goal", calls=80)
    with capped(project, 1, clock) as full:
        before = measure_usage(full).journal
        done = holdfast.tidy(full, dry_run=True)
        assert (done.thinned, done.given_back, done.room.journal) == ([run], 0, before)
        assert len(given(full, run)) == 160


@pytest.mark.promise(11)
def test_what_is_open_stays_although_the_store_is_full_and_recording_goes_on(
    project: Workspace, clock: TickingClock
) -> None:
    run = worked(project, "goal", calls=80, done=False)
    with capped(project, 1, clock) as full:
        done = holdfast.tidy(full)
        assert done.thinned == []
        assert done.room.total > done.cap
        assert len(given(full, run)) == 160
        holdfast.note(full, "still recorded")
        told = holdfast.status(full).warnings[-1]
        assert "of 1 MB; the rest is open, named, pinned, not exported or set aside" in told


@pytest.mark.promise(11)
def test_a_text_that_something_else_refers_to_stays(project: Workspace, clock: TickingClock) -> None:
    shared = words(1, 5_000)
    done = holdfast.start(project, "done").run.id
    with project.writing() as journal:
        call = {"agent": "robot", "event": "Did", "call": {"tool_response": shared}}
        journal.append(done, Draft("call.kept", call), Draft("note.added", {"text": words(2, 3_000)}))
    holdfast.complete(project)
    still_open = holdfast.start(project, "open").run.id
    with project.writing() as journal:
        journal.append(still_open, Draft("call.kept", call))
    clock.time += timedelta(days=40)
    with capped(project, 100, clock, output__keep_days="30") as later:
        assert holdfast.tidy(later).thinned == [done]
        assert stored_events(later, done)[1].body["call"]["tool_response"].endswith(MARK)
        assert stored_events(later, done)[2].body["text"] == words(2, 3_000)
        assert stored_events(later, still_open)[1].body["call"]["tool_response"] == shared


def test_tool_output_that_is_too_old_goes_and_younger_stays(project: Workspace, clock: TickingClock) -> None:
    old = worked(project, "old", calls=2)
    clock.time += timedelta(days=10)
    young = worked(project, "young", calls=2)
    with capped(project, 100, clock, output__keep_days="5") as later:
        assert holdfast.tidy(later).thinned == [old]
        assert (len(given(later, old)), len(given(later, young))) == (0, 4)


def test_a_run_that_goes_on_after_it_was_thinned_out_is_thinned_out_again(
    project: Workspace, clock: TickingClock
) -> None:
    run = worked(project, "goal", calls=2)
    clock.time += timedelta(days=10)
    with capped(project, 100, clock, output__keep_days="5") as later:
        assert holdfast.tidy(later).thinned == [run]
        with later.writing() as journal:
            journal.append(run, Draft("call.kept", {"agent": "a", "event": "b", "call": words(1, 3_000)}))
        clock.time += timedelta(days=10)
        assert holdfast.tidy(later).thinned == [run]
        assert stored_events(later, run)[-1].body["call"].endswith(MARK)


def test_a_body_cannot_pretend_to_be_thinned_out(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    with project.writing() as journal:
        journal.append(run, Draft("call.kept", {"agent": "a", "event": "b", "call": {"$thin": 7}}))
    assert stored_events(project, run)[-1].body["call"] == {"$thin": 7}


@pytest.mark.parametrize(
    "body", [b'j{"call":{"$thin":"seven"}}', b'j{"call":{"$thin":true,"b":1}}', b'j{"call":{"$thin":[]}}']
)
def test_a_damaged_mark_is_a_value_like_any_other(body: bytes) -> None:
    assert isinstance(codec.unpack(body, lambda digest: None)["call"], dict)


def test_backups_that_upgrades_made_go_first_but_the_newest_stays_for_a_week(
    project: Workspace, clock: TickingClock
) -> None:
    run = worked(project, "goal", calls=2)
    backups = [project.place / "backups" / f"format-{number}-20260101-120000.tar.gz" for number in (1, 2)]
    backups[0].parent.mkdir(mode=0o700)
    now = clock.now().timestamp()
    for age, path in enumerate(reversed(backups)):
        path.write_bytes(bytes(400_000 + 500_000 * age))
        os.utime(path, (now - age * 100, now - age * 100))
    with capped(project, 1, clock) as full:
        done = holdfast.tidy(full)
        assert (done.copies, done.thinned) == ([backups[0].name], [])
        assert (backups[0].exists(), backups[1].exists(), len(given(full, run))) == (False, True, 4)
        (full.place / "backups" / "mine.tar.gz").write_bytes(bytes(900_000))
        clock.time += timedelta(days=8)
        assert holdfast.tidy(full).copies == [backups[1].name]
        assert (full.place / "backups" / "mine.tar.gz").exists(), "nobody knows whose it is"


# Runs


def exported(project: Workspace, run: str) -> None:
    holdfast.export(project, run, project.root / f"{run}.holdfast", raw=True)


@pytest.mark.promise(11)
def test_runs_that_were_exported_go_when_they_are_too_old_and_others_never(
    project: Workspace, clock: TickingClock
) -> None:
    carried, kept = worked(project, "carried", calls=1), worked(project, "kept", calls=1)
    exported(project, carried)
    holdfast.start(project, "what the worktree means now")
    clock.time += timedelta(days=40)
    with capped(project, 100, clock, run__keep_days="30") as later:
        assert holdfast.tidy(later, dry_run=True).removed == [carried]
        assert holdfast.show(later, carried)
        assert holdfast.tidy(later).removed == [carried]
        assert [run.id for run in holdfast.runs(later).runs][-1] == kept
        found = holdfast.import_run(later, later.root / f"{carried}.holdfast")
        assert found.run == carried


def test_of_too_many_runs_those_go_that_were_exported_the_oldest_first(project: Workspace, clock: TickingClock) -> None:
    runs = [worked(project, f"goal {number}", calls=1) for number in range(4)]
    for run in runs[:3]:
        exported(project, run)
    with capped(project, 100, clock, run__most="2") as workspace:
        assert holdfast.tidy(workspace).removed == runs[:2]
        assert {run.id for run in holdfast.runs(workspace).runs} == set(runs[2:])


def test_a_run_that_was_thinned_out_since_its_export_is_still_the_same_run(
    project: Workspace, clock: TickingClock
) -> None:
    run = worked(project, "goal", calls=2)
    exported(project, run)
    clock.time += timedelta(days=10)
    with capped(project, 100, clock, output__keep_days="5") as later:
        assert holdfast.tidy(later).thinned == [run]
        holdfast.import_run(later, later.root / f"{run}.holdfast")
        assert [found.id for found in holdfast.runs(later).runs] == [run]
        exported(later, run)


@pytest.mark.promise(11)
def test_a_run_that_took_another_way_since_its_export_is_not_in_that_file(
    project: Workspace, clock: TickingClock, tmp_path: Path
) -> None:
    """A backup of before is put back, and the run comes to just as many events, but to others."""
    run = holdfast.start(project, "goal").run.id
    holdfast.backup(project, str(tmp_path / "before"))
    for way in ("one way", "another way"):
        holdfast.note(project, way)
        holdfast.complete(project)
        if way == "one way":
            exported(project, run)
            holdfast.restore_backup(project, str(tmp_path / "before"))
    holdfast.start(project, "what the worktree means now")
    with capped(project, 100, clock, run__most="1") as workspace:
        assert holdfast.tidy(workspace).removed == []
        assert holdfast.show(workspace, run)


# By itself


def test_a_turn_that_fills_the_store_tidies_it_and_the_next_ones_do_not_try_in_vain(
    project: Workspace, clock: TickingClock
) -> None:
    worked(project, "done", calls=30)
    worked(project, "open", calls=60, done=False)
    with capped(project, 1, clock) as full:
        run_pending(full)
        stamp = (full.place / STAMP).read_bytes()
        left = measure_usage(full).total
        assert left > 1_000_000, "what is open stays"
        run_pending(full)
        assert (full.place / STAMP).read_bytes() == stamp
        worked(full, "more", calls=10)
        run_pending(full)
        assert (full.place / STAMP).read_bytes() != stamp


def test_once_a_day_old_checkpoints_are_thinned_out_without_being_asked(
    project: Workspace, clock: TickingClock
) -> None:
    for number in range(3):
        put(project.root, {"a.txt": f"{number}\n"})
        take(project)
    run_pending(project)
    assert len(holdfast.checkpoints(project).checkpoints) == 3
    clock.time += timedelta(days=9)
    run_pending(project)
    assert len(holdfast.checkpoints(project).checkpoints) == 1
    holdfast.config_set(project, "tidy.every", "0")
    with holdfast.open(project.root, clock=clock) as later:
        for number in range(3):
            put(project.root, {"a.txt": f"again {number}\n"})
            take(later)
        clock.time += timedelta(days=9)
        run_pending(later)
        assert len(holdfast.checkpoints(later).checkpoints) == 4


def test_by_itself_nothing_thins_out_the_checkpoints_of_an_open_run_not_even_at_the_cap(
    project: Workspace, clock: TickingClock
) -> None:
    """At the cap all but the last one went, though the run was open and nobody had exported it."""
    holdfast.start(project, "goal")
    for number in range(4):
        put(project.root, {"a.txt": words(number, 900_000)})
        take(project)
        clock.time += timedelta(days=9)
    with capped(project, 1, clock) as full:
        done = enforce_quota(full)
        assert done is not None
        assert (done.dropped, done.because) == ([], {"of an open run": 4})
        assert len(holdfast.checkpoints(full).checkpoints) == 4
        assert len(holdfast.tidy(full, dry_run=True).dropped) == 3, "whoever asks for it means it"
        holdfast.complete(full)
        clock.time += timedelta(days=9)
        assert len((enforce_quota(full) or done).dropped) == 3


def test_a_stamp_that_is_damaged_costs_one_tidying_and_nothing_else(project: Workspace) -> None:
    for data in (b"{", b"[]", b'{"time": 7}', b"\xff" * 5_000):
        (project.place / STAMP).write_bytes(data)
        assert enforce_quota(project) is not None
        assert enforce_quota(project) is None


LOOK = """
import os, sys, holdfast
with holdfast.open(sys.argv[1]) as workspace:
    holdfast.status(workspace)
os.wait()  # there is a child, and it comes to an end
"""


def test_calls_that_fill_the_store_are_taken_in_and_it_is_tidied_where_nobody_waits(
    project: Workspace, clock: TickingClock, tmp_path: Path
) -> None:
    run = worked(project, "done", calls=80)
    with capped(project, 1, clock) as full:
        hook(project.root, "robot", "Did", b"{}")
        look = [sys.executable, "-c", LOOK, str(project.root)]
        subprocess.run(look, cwd=tmp_path, check=True, timeout=60)
        assert measure_usage(full).total < 1_000_000
        assert given(full, run) == []
        hook(project.root, "robot", "Did", b"{}")
        again = subprocess.run(look, cwd=tmp_path, check=False, timeout=60, capture_output=True)
        assert b"ChildProcessError" in again.stderr, "it fits, so nobody has anything to do"


def test_the_hook_itself_looks_at_no_sizes(project: Workspace) -> None:
    before = set(os.listdir(project.place))
    hook(project.root, "robot", "Did", b"{}")
    assert set(os.listdir(project.place)) == before


# How full it is


def test_a_store_that_is_four_fifths_full_says_so_in_one_line() -> None:
    assert warning_of(Room(total=800), 1_000) is None
    told = warning_of(Room(total=801_000_000), 1_000_000_000) or ""
    assert told.startswith("the store takes 801 of 1,000 MB; at the cap the oldest tool output is removed first")


def test_status_and_doctor_warn_of_a_store_that_is_nearly_full(project: Workspace, clock: TickingClock) -> None:
    worked(project, "goal", calls=40, done=False)
    with capped(project, 1, clock) as full:
        room = measure_usage(full)
        assert 800_000 < room.total < 1_000_000, "or this test is about something else"
    told = Command.run("status", directory=project.root).ok()
    assert told.err.count("the store takes 1 of 1 MB") == 1
    checks = {check.name: check for check in holdfast.doctor(full).checks}
    assert (checks["store"].state, checks["store"].hints) == ("warning", ["`holdfast tidy`"])


def test_everything_that_is_ours_is_counted(project: Workspace) -> None:
    put(project.root, {"noise": os.urandom(50_000)})
    take(project)
    room = measure_usage(project)
    ours = [path for path in project.place.rglob("*") if path.is_file()]
    packs = list((project.root / ".git/objects/pack").iterdir())
    assert room.total == sum(path.stat().st_size for path in [*ours, *packs])
    parts = (room.journal, room.checkpoints, room.inbox, room.copies, room.caches, room.rest)
    assert sum(parts) == room.total
    assert room.checkpoints > 50_000
