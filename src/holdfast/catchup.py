"""Making the journal say what is true now: take in what hooks have kept, then notice who has died.

Calls become events in the order in which they were made, exactly once: the event's id comes from the call's name, and
the call is removed only after its event is committed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from msgspec import Struct, structs

from holdfast import history, ids, intake, process, spool
from holdfast.agents import find_agent
from holdfast.attending import attended
from holdfast.choosing import current_run, newest_run
from holdfast.intake import Call, NotACall
from holdfast.journal import Journal
from holdfast.lifecycle import Step
from holdfast.model import Draft, Run, Session, Status
from holdfast.text import path_text
from holdfast.workspace import Workspace

BATCH_CALLS, BATCH_BYTES = 1000, 16 * 1024 * 1024


class CaughtUp(Struct):
    """What was taken in and who was found dead."""

    taken_in: int = 0
    set_aside: int = 0
    interrupted: list[str] = []


def catch_up(workspace: Workspace) -> CaughtUp:
    result = take_in(workspace)
    result.interrupted = sweep(workspace)
    return result


def take_in(workspace: Workspace) -> CaughtUp:
    """Turn every kept call into events. One process does it; others wait for it, and find nothing left."""
    result = CaughtUp()
    total = len(intake.waiting(workspace.inbox))
    while intake.waiting(workspace.inbox):
        with workspace.writing(for_session=False) as journal:
            names, strange, added = _take_batch(workspace, journal)
        intake.remove(workspace.inbox, names)
        for name in strange:
            intake.set_aside(workspace.inbox, name)
        result.taken_in += added
        result.set_aside += len(strange)
        workspace.progress("taking in calls", result.taken_in, total)
        if not names and not strange:
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
        return [run for session, evidence in _dead_sessions(journal) if (run := _bury(journal, session, evidence))]


def _take_batch(workspace: Workspace, journal: Journal) -> tuple[list[str], list[str], int]:
    """Append one batch; answers with the calls to remove, those to set aside, and how many events came of them."""
    done: list[str] = []
    strange: list[str] = []
    worktrees: dict[str, str] = {}
    size = added = 0
    for name in intake.waiting(workspace.inbox):
        try:
            call = intake.read(workspace.inbox, name)
        except NotACall:
            strange.append(name)
            continue
        if call is not None:
            added += _append_call(journal, call, worktrees)
            done.append(name)
            size += call.size
        if len(done) >= BATCH_CALLS or size >= BATCH_BYTES:
            break
    return done, strange, added


def _append_call(journal: Journal, call: Call, worktrees: dict[str, str]) -> int:
    drafts = find_agent(call.agent).read_call(call)
    named = call.environment.get("HOLDFAST_SESSION")
    session = journal.find_session(named) if named else None
    run = _run_of_call(journal, call, session, worktrees)
    if session is not None and session.fenced:
        drafts = [structs.replace(draft, kind="call.late") for draft in drafts]
    elif session is not None:
        drafts = [structs.replace(draft, session=session.id) for draft in drafts]
    return len(journal.append(run.id, *drafts))


def _run_of_call(journal: Journal, call: Call, session: Session | None, worktrees: dict[str, str]) -> Run:
    """The run that the call names, else the worktree's open one, else its last one, else a new one."""
    named = session.run if session else call.environment.get("HOLDFAST_RUN")
    if named and (run := journal.find_run(named)):
        return run
    if call.directory not in worktrees:  # a batch has few directories, and each costs some looking around
        worktrees[call.directory] = path_text(spool.worktree_name(spool.locate(call.directory)[0]))
    worktree = worktrees[call.directory]
    return current_run(journal, worktree) or newest_run(journal, worktree) or _start_for_call(journal, call, worktree)


def _start_for_call(journal: Journal, call: Call, worktree: str) -> Run:
    goal = f"Work of {call.agent or 'an agent'}"
    body = {"goal": goal, "layout": "native", "worktree": worktree, "directory": path_text(call.directory)}
    run = journal.start(ids.make("run"), Draft("run.started", {**body, "unasked": True}, time=call.time))
    journal.point(worktree, run.id)
    return run


def _dead_sessions(journal: Journal) -> list[tuple[Session, str]]:
    return list(_judged(journal.list_sessions(only_open=True, with_process=True)))


def _judged(sessions: list[Session]) -> Iterator[tuple[Session, str]]:
    for session in sessions:
        if session.process is not None:
            judgement = process.judge(session.process)
            if judgement.alive is False:
                yield session, judgement.evidence


def _bury(journal: Journal, session: Session, evidence: str) -> str | None:
    """End a dead session; its run is interrupted if nobody else is working on it."""
    body = {"how": "died", "reason": evidence, "at": session.last_active}
    journal.append(session.run, Draft(history.ENDED, body, session=session.id, agent=session.agent))
    run = journal.get_run(session.run)
    if attended(journal, run.id) or run.status is not Status.ACTIVE:
        return None
    journal.append(run.id, history.status_draft(Step.INTERRUPT, evidence=evidence))
    return run.id
