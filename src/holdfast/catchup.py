"""Making the journal say what is true now: take in what hooks have kept, then notice who has died.

Calls become events in the order in which they were made, exactly once: the event's id comes from the call's name, and
the call is removed only after its event is committed.
"""

from __future__ import annotations

import time
from datetime import timedelta

from msgspec import Struct

from holdfast import ids, intake, spool
from holdfast.agents import caller, find_agent
from holdfast.attending import bury, judged
from holdfast.intake import Call, NotACall
from holdfast.journal import Journal
from holdfast.measuring import Moments, measure, note_moment
from holdfast.model import Session
from holdfast.placing import Ground, place
from holdfast.text import path_text
from holdfast.workspace import Workspace

BATCH_CALLS, BATCH_BYTES = 1000, 16 * 1024 * 1024
FEW = 50  # calls that are removed in no time


class CaughtUp(Struct):
    """What was taken in and who was found dead."""

    taken_in: int = 0
    set_aside: int = 0
    interrupted: list[str] = []
    left: set[str] = set()  # calls that were taken in and not removed


def catch_up(workspace: Workspace, until: float | None = None, *, hurry: bool = False) -> CaughtUp:
    """Take in and notice; no longer than `until`, a moment of the monotonic clock."""
    result = take_in(workspace, until, hurry=hurry)
    result.interrupted = sweep(workspace)
    return result


def take_in(workspace: Workspace, until: float | None = None, *, hurry: bool = False) -> CaughtUp:
    """Turn every kept call into events. One process does it; others wait for it, and find nothing left.

    Removing many files takes as long as taking them in. Whoever is in a hurry leaves that to the next one, who knows
    them by their events.
    """
    result = CaughtUp()
    total = len(intake.waiting(workspace.inbox))
    while set(intake.waiting(workspace.inbox)) - result.left:
        with workspace.writing(for_session=False) as journal:
            names, strange, added = _take_batch(workspace, journal, result.left)
        if hurry and len(names) > FEW:
            result.left.update(names)
        else:
            intake.remove(workspace.inbox, names)
        for name in strange:
            intake.set_aside(workspace.inbox, name)
        result.taken_in += added
        result.set_aside += len(strange)
        workspace.progress("taking in calls", result.taken_in, total)
        if (not names and not strange) or (until is not None and time.monotonic() > until):
            break
    if total:
        intake.clear_leftovers(workspace.inbox, time.time())
    return result


def sweep(workspace: Workspace) -> list[str]:
    """Mark as interrupted what died. Only evidence counts: silence and odd clocks prove nothing."""
    with workspace.reading() as journal:
        dead = _dead_sessions(journal)
    if not dead:
        return []
    with workspace.writing(for_session=False) as journal:
        return [run for session, evidence in _dead_sessions(journal) if (run := bury(journal, session, evidence))]


def _take_batch(workspace: Workspace, journal: Journal, left: set[str]) -> tuple[list[str], list[str], int]:
    """Append one batch; answers with the calls to remove, those to set aside, and how many events came of them."""
    done: list[str] = []
    strange: list[str] = []
    worktrees: dict[str, str] = {}
    moments: Moments = {}
    size = added = 0
    for name in intake.waiting(workspace.inbox):
        if name in left:
            continue
        if journal.has_event(ids.event_of_call(name)):  # whoever took it in did not come to remove it
            done.append(name)
            continue
        try:
            call = intake.read(workspace.inbox, name)
        except NotACall:
            strange.append(name)
            continue
        if call is not None:
            added += _append_call(workspace, journal, call, worktrees, moments)
            done.append(name)
            size += call.size
        if len(done) >= BATCH_CALLS or size >= BATCH_BYTES:
            break
    return done, strange, added + measure(workspace, journal, moments)


def _append_call(
    workspace: Workspace, journal: Journal, call: Call, worktrees: dict[str, str], moments: Moments
) -> int:
    if call.directory not in worktrees:  # a batch has few directories, and each costs some looking around
        worktrees[call.directory] = path_text(spool.worktree_name(spool.locate(call.directory)[0]))
    call.agent = caller(call)
    recent = timedelta(hours=workspace.settings.number("join.hours"))
    ground = Ground(worktrees[call.directory], recent)
    reading = find_agent(call.agent).read_call(call)
    note_moment(moments, call, reading)
    return place(journal, call, reading, ground)


def _dead_sessions(journal: Journal) -> list[tuple[Session, str]]:
    return list(judged(journal.list_sessions(only_open=True, with_process=True)))
