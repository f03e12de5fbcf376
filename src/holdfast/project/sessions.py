"""Sessions: opening them, moving them to another run, ending dead ones, and the processes they left running."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NoReturn

from msgspec import Struct, structs

from holdfast.core import ids
from holdfast.core.errors import Busy, HoldfastError, NotFound, Refused
from holdfast.core.fold import run as fold
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Beginning, Body, Cause, Draft, Ending, Environment, Process, Run, Session, Status
from holdfast.core.text import one_line
from holdfast.journal.journal import Journal
from holdfast.project.workspace import Workspace
from holdfast.system import files, process
from holdfast.system.clock import shown
from holdfast.system.process import Running

SIGNS = "alive"  # the directory of the store for heartbeats of supervised sessions
OURS = "HOLDFAST_SESSION"  # set by `holdfast run` and by programs that join a run, and inherited by their processes
ERRANDS = ("-m", "holdfast", "hook")  # our background process, which outlives the call that started it
BY_SIGNAL = (Ending.DIED, Ending.STOPPED)  # a session that ended by itself may have left processes on purpose
SESSIONS, SHOWN, WIDTH = 20, 10, 200
Variables = tuple[str | None, str | None]


def open_process_session(
    workspace: Workspace, journal: Journal, run: Run, pid: int | None, agent: str | None, *, epoch: int | None = None
) -> Session:
    """Open a session on a run; with a pid, it is marked dead once that process is gone.

    With the pid of this process, the workspace works in it from then on.
    """
    known = process.identify(pid) if pid is not None else None
    if pid is not None and known is None:
        raise NotFound(f"No process {pid} is running", [], ["`ps` lists them"])
    environment = Environment(process.here().host, sys.platform, os.getcwd())
    session = open_session(journal, run, Draft(fold.OPENED, agent=agent), environment, process=known, epoch=epoch)
    if pid == os.getpid():
        workspace.session, workspace.owns_session = session.id, True
    return session


def open_session(
    journal: Journal,
    run: Run,
    opened: Draft,
    environment: Environment | None,
    *,
    process: Process | None = None,
    conversation: str | None = None,
    transcript: str | None = None,
    begun: Beginning | None = None,
    epoch: int | None = None,
) -> Session:
    """Open a session of a process or a conversation on a run, by the event of the draft."""
    body: Body = {
        "agent_session": conversation,
        "transcript": transcript,
        "begun": begun,
        "process": process,
        "environment": environment,
        "epoch": run.epoch if epoch is None else epoch,
    }
    id = opened.session or ids.make("ses")
    journal.append(run.id, structs.replace(opened, body=body, session=id))
    session = journal.find_session(id)
    assert session is not None
    return session


def fence_off(journal: Journal, session: Session, why: str) -> Session:
    """Fence off a session whose run is taken over: it cannot write any more."""
    body = {"how": Ending.TAKEN_OVER, "reason": why, "at": session.last_active}
    journal.append(session.run, Draft(fold.ENDED, body, session=session.id, agent=session.agent))
    return journal.find_session(session.id) or session


def live_sessions(journal: Journal, run: str) -> list[Session]:
    """Return the sessions of a run whose process may be alive. A session without a process does not count."""
    sessions = journal.list_sessions(run, only_open=True, with_process=True)
    return [found for found in sessions if found.process and process.judge(found.process).alive is not False]


def other_live_sessions(workspace: Workspace, journal: Journal, run: str) -> list[Session]:
    """Return the same without the caller's own sessions."""
    return [found for found in live_sessions(journal, run) if not is_own(workspace, found)]


def is_own(workspace: Workspace, session: Session) -> bool:
    """True if a session is the caller's: by its id, by its conversation, or because its process started this one."""
    if session.id == workspace.session:
        return True
    if session.agent_session and session.agent_session in [caller.conversation for caller in workspace.callers]:
        return True
    known = session.process
    return known is not None and process.is_ancestor(known)


def find_conversation(workspace: Workspace, journal: Journal) -> Session | None:
    """Return the last session of the conversation in which this command runs, unless it was fenced off.

    If the environment names the conversation, its session may have ended with its run.
    """
    named = journal.find_session(workspace.session or "")
    if named and named.is_open and named.agent_session:
        return named
    if told := find_named_conversation(workspace, journal):
        return None if told.fenced else told
    open_ones = journal.list_sessions(only_open=True, with_process=True)
    started = {
        found.process.pid: found
        for found in open_ones
        if found.agent_session and found.process and process.is_ancestor(found.process)
    }
    return next((started[pid] for pid in (os.getpid(), *process.ancestors()) if pid in started), None)


def find_named_conversation(workspace: Workspace, journal: Journal) -> Session | None:
    """Return the open or else the last session of the conversation that the environment names."""
    for caller in workspace.callers:
        if known := journal.sessions_of(caller.conversation):
            return next((found for found in known if found.is_open), known[0])
    return None


def fence_off_others(workspace: Workspace, journal: Journal, run: Run, why: str) -> list[Session]:
    sessions = journal.list_sessions(run.id, only_open=True)
    return [fence_off(journal, found, why) for found in sessions if not is_own(workspace, found)]


def next_epoch(workspace: Workspace, journal: Journal, run: Run) -> int:
    """Return the epoch after a take-over: the present one if the caller has a session, so that it stays valid."""
    has_own = any(is_own(workspace, found) for found in journal.list_sessions(run.id, only_open=True))
    return run.epoch if has_own else run.epoch + 1


def is_silent(workspace: Workspace, session: Session) -> bool:
    """True if a process cannot be judged from here (on another machine), and has been silent for `silent.after`."""
    if session.process is None or process.judge(session.process).alive is not None:
        return False
    waited = workspace.clock.now() - last_heard(workspace, session)
    return waited.total_seconds() > workspace.settings.number("silent.after")


def write_heartbeat(workspace: Workspace, session: str) -> None:
    """Write a heartbeat of an idle session into a file, since events would only make the journal grow."""
    files.make_private_directory(workspace.here / SIGNS)
    files.put(workspace.here / SIGNS / session, workspace.clock.now().isoformat().encode(), synced=False)


def clear_heartbeats(workspace: Workspace, journal: Journal) -> None:
    directory = workspace.here / SIGNS
    for name in os.listdir(directory) if directory.is_dir() else []:
        found = journal.find_session(name)
        if found is None or not found.is_open:
            files.remove(directory / name)


def last_heard(workspace: Workspace, session: Session) -> datetime:
    """Return the time of a session's last event or heartbeat."""
    last = session.last_active or session.opened
    if not ids.is_safe(session.id):
        return last
    try:
        sign = datetime.fromisoformat((files.read(workspace.here / SIGNS / session.id, 100) or b"").decode())
        return max(last, sign)
    except (HoldfastError, ValueError, TypeError):  # missing, truncated, or without a time zone
        return last


def mark_silent_dead(workspace: Workspace, journal: Journal, run: Run) -> None:
    """Mark the silent sessions of a run dead, because another one resumes it."""
    for session in live_sessions(journal, run.id):
        if session.process is not None and is_silent(workspace, session):
            mark_dead(journal, session, f"{process.judge(session.process).evidence}, and is silent", Cause.TIMEOUT)


def find_dead(sessions: list[Session]) -> Iterator[tuple[Session, str]]:
    for session in sessions:
        if session.process is not None:
            judgement = process.judge(session.process)
            if judgement.alive is False:
                yield session, judgement.evidence


def mark_dead(journal: Journal, session: Session, evidence: str, cause: Cause = Cause.CRASH) -> str | None:
    """End a dead session; its run is interrupted unless another live session works on it."""
    body = {"how": Ending.DIED, "reason": evidence, "at": session.last_active}
    journal.append(session.run, Draft(fold.ENDED, body, session=session.id, agent=session.agent))
    run = journal.get_run(session.run)
    if live_sessions(journal, run.id) or run.status is not Status.ACTIVE:
        return None
    journal.append(run.id, fold.status_draft(Move.INTERRUPT, evidence=evidence, cause=cause))
    return run.id


def refuse_live(run: Run, alive: list[Session], take_over: str | None = None, *, named: bool = True) -> NoReturn:
    """Refuse because live sessions hold a run. Taking over is suggested only for a run that the user named."""
    facts = [(found.id, who(found)) for found in alive]
    if named:
        take_over = take_over or f"holdfast resume {run.id} --take-over"
        way = f"`{take_over}` fences it off: its further writes are refused"
    else:
        way = f"`holdfast resume {run.id}` asks for this run by name; `holdfast runs` lists the others"
    hints = [way, f"`holdfast join {run.id}` works on it concurrently"]
    raise Busy("Another session is working on this run", facts, hints)


def who(session: Session) -> str:
    """Describe the process of a session: pid, host and start time."""
    if session.process is None:
        return f"open since {shown(session.opened)}"
    known = session.environment.host if session.environment else ""  # a hook call names a process, but no host
    host = session.process.host or known or "this machine"
    return f"process {session.process.pid} on {host} since {shown(session.opened)}"


def switch_session(workspace: Workspace, journal: Journal, run: Run, left: str | None = None) -> None:
    """Resume a run, and move our own session to it.

    The run that the session leaves is paused if no other process works on it. Without a session that is `left`, the
    run that was current in this worktree before.
    """
    settle(journal, run, Move.RESUME)
    own = journal.find_session(workspace.session or "")
    if own is not None and own.is_open:
        _move(workspace, journal, own, run)
    else:
        _rest(journal, journal.find_run(left or ""), run, f"{run.id} is worked on instead")


def move_conversation(workspace: Workspace, journal: Journal, run: Run) -> None:
    """Move the conversation in which this command runs, if any, to a run. The run that it leaves is paused."""
    if own := find_conversation(workspace, journal):
        _move(workspace, journal, own, run)


def _move(workspace: Workspace, journal: Journal, own: Session, run: Run) -> None:
    if own.run == run.id:
        return
    opened = ids.make("ses")
    body = {"how": own.how or "ended", "reason": own.reason or f"moved to {run.id}", "at": own.ended}
    draft = Draft(fold.ENDED, {**body, "followed_by": opened}, session=own.id, agent=own.agent)
    journal.append(own.run, draft)
    _rest(journal, journal.find_run(own.run), run, f"its session moved to {run.id}")
    draft = Draft(fold.OPENED, session=opened, agent=own.agent)
    conversation, transcript = own.agent_session, own.transcript
    open_session(
        journal, run, draft, own.environment, process=own.process, conversation=conversation, transcript=transcript
    )
    if workspace.session == own.id:
        workspace.session = opened


def _rest(journal: Journal, left: Run | None, run: Run, why: str) -> None:
    """Pause a run that is left for another one, unless a process works on it."""
    if left is None or left.id == run.id or left.owned or left.status not in (Status.CREATED, Status.ACTIVE):
        return
    rules = journal.rules_of(left)
    is_followed = rules.is_single and rules is journal.rules_of(run)  # by another of its kind: it keeps its status
    if not is_followed and not live_sessions(journal, left.id):
        with contextlib.suppress(Refused):  # some layouts cannot pause a run that has not begun
            settle(journal, left, Move.PAUSE, why)


def settle(journal: Journal, run: Run, move: Move, reason: str | None = None, more: Iterable[Draft] = ()) -> bool:
    """Apply a move of a run's lifecycle, and end its sessions with it. False if it changes nothing.

    `more` is appended with the move, while the sessions are still open.
    """
    after = transition(run.status, move, journal.rules_of(run))
    if after is run.status:
        return False
    journal.append(run.id, fold.status_draft(move, reason), *more)
    if not after.is_open:
        for session in journal.list_sessions(run.id, only_open=True):
            journal.end_session(session.id, f"the run was settled: {move}")
    return True


class Leftover(Struct):
    """A process that outlived the session in which it was started."""

    pid: int
    command: str
    session: str


def find_leftovers(workspace: Workspace, journal: Journal, run: Run) -> list[Leftover]:
    """Return the first processes that killed sessions of the run left running.

    They are identified by the environment variables that an agent passes to its tools.
    """
    died = [session for session in journal.list_sessions(run.id, limit=SESSIONS) if session.how in BY_SIGNAL]
    processes = [session.process for session in died]
    here = process.here()  # on another machine, or in another boot, nothing of it can be running
    if not any(known and (known.boot, known.namespace) == (here.boot, here.namespace) for known in processes):
        return []
    family = {os.getpid(), *process.ancestors()}
    variables_of = workspace.clients.variables_of if workspace.clients else lambda agent: (None, None)
    variables = {session.agent: variables_of(session.agent) for session in died}  # see `Clients`
    wanted = {name for names in variables.values() for name in names if name}
    found = [
        Leftover(running.pid, one_line(workspace.hide(running.command), WIDTH), owner.id)
        for running in process.running_with(OURS, *sorted(wanted))
        if running.pid not in family
        and not any(running.words[place : place + 3] == ERRANDS for place in range(len(running.words)))
        and (owner := _owner(running, died, variables))
    ]
    return sorted(found, key=lambda left: left.pid)[:SHOWN]


def _owner(running: Running, died: list[Session], variables: dict[str | None, Variables]) -> Session | None:
    told = running.variables
    for session in died:
        conversation, client = (told.get(name) if name else None for name in variables[session.agent])
        pid = str(session.process.pid) if session.process else None
        is_tool = session.agent_session and (conversation, client) == (session.agent_session, pid)
        if told.get(OURS) == session.id or is_tool:
            return session
    return None
