"""Route each call to a run and a session.

A conversation stays with its run when it is resumed, compacted, cleared or forked. A new one joins the worktree's run
by the table in `core/lifecycle.py`; otherwise its first prompt or action starts a new run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from msgspec import Struct, structs

from holdfast.agents.protocol import Reading
from holdfast.core import ids, lifecycle
from holdfast.core.fold import activity, run as fold
from holdfast.core.fold.run import CONVERSATION
from holdfast.core.lifecycle import Move
from holdfast.core.model import Beginning, Body, Draft, Ending, Environment, Run, Session, Status
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts.registry import find_layout
from holdfast.project.inbox import Call
from holdfast.project.runs.select import OPEN_STATUSES, current_run, newest_run
from holdfast.project.sessions import find_dead, live_sessions, mark_dead, open_session
from holdfast.project.workspace import find_followed
from holdfast.system import process


class CallContext(Struct):
    """The worktree of a call, and the age up to which a run may be joined."""

    worktree: str
    recent: timedelta


def route_call(journal: Journal, call: Call, reading: Reading, context: CallContext) -> int:
    """Append the events of a call to its run. Returns their number."""
    named = call.environment.get("HOLDFAST_SESSION")
    session = find_followed(journal, named) if named else None
    if session is not None:
        journal.append(session.run, *_identified(call, reading, session))
    elif reading.conversation:
        session = _session_of(journal, call, reading, context)
    run = _run_of(journal, call, reading, session, context)
    if run is None:  # a conversation that has only begun, and has no run yet
        # only by the name of the conversation are its events found when the run that it gets is purged
        named_by = {CONVERSATION: reading.conversation}
        drafts = [structs.replace(draft, body={**draft.body, **named_by}) for draft in reading.drafts]
        return len(journal.append(journal.ledger(context.worktree).id, *drafts))
    news = [draft for draft in reading.drafts if not activity.is_repeated(run, draft)]
    added = len(journal.append(run.id, *_before(call, reading, session, run), *_signed(news, session)))
    if reading.ends and session and session.is_open and _is_same(session, call):
        ended = {"how": Ending.ENDED, "reason": reading.ends}
        draft = Draft(fold.ENDED, ended, call.event_id("ended"), call.time, session.id, call.agent)
        added += len(journal.append(run.id, draft))
    return added + len(journal.append(run.id, *find_layout(run.layout).follow(run, session, reading)))


def _identified(call: Call, reading: Reading, session: Session) -> Iterator[Draft]:
    """An event for a conversation that begins in a session opened by a verb: the first one, or its successor.

    A nested client has a conversation of its own in the same session, which is ignored here.
    """
    is_next = session.agent_session is None or reading.begins is Beginning.CLEAR
    if reading.begins and reading.conversation and session.is_open and is_next:
        transcript = path_text(reading.transcript) if reading.transcript else None
        body: Body = {"agent_session": reading.conversation, "transcript": transcript}
        yield Draft(fold.TOLD_OF, body, id=call.event_id("told"), time=call.time, session=session.id, agent=call.agent)


def _before(call: Call, reading: Reading, session: Session | None, run: Run) -> Iterator[Draft]:
    """Events before those of a call: a first prompt becomes the goal of a run without one; an action may resume a run.

    Only a prompt resumes a paused run, and an interrupted one of the Go Team. An action in a session that was opened
    since then proves that there was a prompt; on an interrupted run only such a session is open.
    """
    if session is None or session.fenced:
        return
    if reading.goal and run.unasked and not run.prompts and run.goal == _work_of(call):
        yield Draft("goal.changed", {"goal": reading.goal}, id=call.event_id("goal"), time=call.time)
    is_later = run.status_since is not None and session.opened > run.status_since
    is_awaited = session.is_open if run.status is Status.INTERRUPTED else run.status is Status.PAUSED and is_later
    if is_awaited and reading.acts:
        yield structs.replace(fold.status_draft(Move.RESUME), id=call.event_id("resumed"), time=call.time)


def _work_of(call: Call) -> str:
    """The goal of a run that is started without a prompt."""
    return f"Work of {call.agent or 'an agent'}"


def _signed(drafts: list[Draft], session: Session | None) -> list[Draft]:
    if session is None:
        return drafts
    if session.fenced:
        return [structs.replace(draft, kind="call.late") for draft in drafts]
    return [structs.replace(draft, session=session.id) for draft in drafts]


def _session_of(journal: Journal, call: Call, reading: Reading, context: CallContext) -> Session | None:
    """The session of a conversation in the calling process; opened if the conversation begins or continues."""
    known = journal.sessions_of(reading.conversation or "")
    found = next((session for session in known if session.is_open and _is_same(session, call)), None)
    if found is not None:
        return found
    latest = known[0] if known else None
    if latest is not None and latest.how is Ending.TAKEN_OVER and _is_same(latest, call):
        return latest  # it was fenced off: its calls are late, whatever they begin
    if latest is not None and latest.ended is not None and call.time < latest.ended and _is_same(latest, call):
        return latest  # the call was unreadable at its turn: what it began has ended since
    is_new = reading.acts and latest is None
    if reading.begins is None and reading.goal is None and not is_new:
        return latest  # a late call of an ended session
    run = journal.find_run(latest.run) if latest else _run_to_join(journal, call, reading, context)
    if run is None and (reading.goal is not None or is_new):
        run = _start(journal, call, reading.goal or _work_of(call), context)
    return _open(journal, call, reading, run) if run else None


def _is_same(session: Session, call: Call) -> bool:
    if session.process is None or call.process is None:
        return True
    here, there = ((found.pid, found.start, found.boot) for found in (session.process, call.process))
    return here == there


def _run_to_join(journal: Journal, call: Call, reading: Reading, context: CallContext) -> Run | None:
    if run := journal.find_run(call.environment.get("HOLDFAST_RUN") or ""):
        return run
    if reading.begins is Beginning.CLEAR:  # it succeeds another one of its process
        known = (found for found in journal.list_sessions(limit=100) if found.process and call.process)
        before = next((found for found in known if _is_same(found, call)), None)
        return journal.find_run(before.run) if before and before.how is not Ending.TAKEN_OVER else None
    if reading.begins is Beginning.FORK:
        return newest_run(journal, context.worktree)
    return _open_run(journal, call, context)


def _open_run(journal: Journal, call: Call, context: CallContext) -> Run | None:
    """The run that a new conversation joins by the join rules. One with an owner is never too old."""
    pointed = current_run(journal, context.worktree)
    query = RunQuery(worktree=context.worktree, statuses=OPEN_STATUSES, limit=2)
    claim, run = lifecycle.claim(pointed, () if pointed else journal.list_runs(query)[0])
    if run is None:
        return None
    is_recent = run.owned is not None or run.updated is None or call.time - run.updated <= context.recent
    return run if lifecycle.joins(claim, living=bool(live_sessions(journal, run.id)), recent=is_recent) else None


def _start(journal: Journal, call: Call, goal: str, context: CallContext) -> Run:
    body = {"goal": goal, "layout": "native", "worktree": context.worktree, "directory": path_text(call.directory)}
    run = journal.start(ids.make("run"), Draft("run.started", {**body, "unasked": True}, time=call.time))
    pointed = current_run(journal, context.worktree)
    if pointed is None or not live_sessions(journal, pointed.id):
        journal.point(context.worktree, run.id)
    return run


def _open(journal: Journal, call: Call, reading: Reading, run: Run) -> Session:
    """Open a session for a conversation, after marking the run's dead sessions."""
    for session, evidence in find_dead(journal.list_sessions(run.id, only_open=True, with_process=True)):
        mark_dead(journal, session, evidence)
    opened = Draft(fold.OPENED, id=call.event_id("opened"), time=call.time, agent=call.agent)
    return open_session(
        journal,
        run,
        opened,
        Environment(process.here().host, "", path_text(call.directory)),
        process=call.process,
        conversation=reading.conversation,
        transcript=path_text(reading.transcript) if reading.transcript else None,
        begun=reading.begins,
    )


def _run_of(
    journal: Journal, call: Call, reading: Reading, session: Session | None, context: CallContext
) -> Run | None:
    """The run of the session, or the one named by the call; for an agent without conversations, the worktree's."""
    named = session.run if session else call.environment.get("HOLDFAST_RUN")
    if named and (run := journal.find_run(named)):
        return run
    if reading.conversation:
        return None
    found = current_run(journal, context.worktree) or newest_run(journal, context.worktree)
    return found or _start(journal, call, _work_of(call), context)
