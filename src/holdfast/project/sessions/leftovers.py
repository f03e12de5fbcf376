"""Processes that a session ended by a signal has left running: found by the variables that its agent gave to tools."""

from __future__ import annotations

import os

from msgspec import Struct

from holdfast.core.model import Ending, Run, Session
from holdfast.core.text import one_line
from holdfast.journal.journal import Journal
from holdfast.project.workspace import Workspace
from holdfast.system import process
from holdfast.system.process import Running

OURS = "HOLDFAST_SESSION"  # what `holdfast run` and programs that join a run give on
ERRANDS = ("-m", "holdfast", "hook")  # a process of our own that outlives the call which started it
BY_SIGNAL = (Ending.DIED, Ending.STOPPED)  # one that ended by itself may have left its processes on purpose
SESSIONS, SHOWN, WIDTH = 20, 10, 200
Variables = tuple[str | None, str | None]


class Leftover(Struct):
    """A process that outlives the session in which it was started."""

    pid: int
    command: str
    session: str


def find_leftovers(workspace: Workspace, journal: Journal, run: Run) -> list[Leftover]:
    """The processes that sessions of the run left when a signal ended them, the oldest first; at most a few."""
    died = [session for session in journal.list_sessions(run.id, limit=SESSIONS) if session.how in BY_SIGNAL]
    if not any(session.process and _is_of_here(session) for session in died):
        return []
    family = {os.getpid(), *process.ancestors()}
    variables = {session.agent: _variables(workspace, session.agent) for session in died}
    wanted = {name for names in variables.values() for name in names if name}
    found = [
        Leftover(running.pid, one_line(workspace.hide(running.command), WIDTH), owner.id)
        for running in process.running_with(OURS, *sorted(wanted))
        if running.pid not in family and not _is_errand(running) and (owner := _owner(running, died, variables))
    ]
    return sorted(found, key=lambda left: left.pid)[:SHOWN]


def _is_of_here(session: Session) -> bool:
    """Whether its process ran on this machine since it was started; else nothing of it can be left here."""
    place, known = process.here(), session.process
    return known is not None and (known.boot, known.namespace) == (place.boot, place.namespace)


def _variables(workspace: Workspace, agent: str | None) -> Variables:
    """The variables in which an agent's client tells its tools the conversation and its own process."""
    return workspace.clients.variables_of(agent) if workspace.clients else (None, None)


def _owner(running: Running, died: list[Session], variables: dict[str | None, Variables]) -> Session | None:
    told = running.variables
    for session in died:
        conversation, client = (told.get(name) if name else None for name in variables[session.agent])
        pid = str(session.process.pid) if session.process else None
        is_tool = session.agent_session and (conversation, client) == (session.agent_session, pid)
        if told.get(OURS) == session.id or is_tool:
            return session
    return None


def _is_errand(running: Running) -> bool:
    return any(running.words[place : place + 3] == ERRANDS for place in range(len(running.words)))
