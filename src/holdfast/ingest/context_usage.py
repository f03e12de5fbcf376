"""Measuring how full an agent's context is, when its calls are taken in: once for each conversation of a batch.

When a session ends, what it has used is counted too.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from holdfast.agents.protocol import Moment, Reading, Usage
from holdfast.agents.registry import find_agent
from holdfast.core.errors import Fenced
from holdfast.core.fold.activity import COUNTED, MEASURED, Spent, remaining_usage, window_of
from holdfast.core.model import Body, Draft, Session, int_of
from holdfast.journal.journal import Journal
from holdfast.project import context_windows
from holdfast.project.context_windows import Gauge
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace

NAMES = {MEASURED: "context", COUNTED: "usage"}
Moments = dict[str, tuple[Call, Reading]]  # by conversation, the last call after which it is to be measured


def note_moment(moments: Moments, call: Call, reading: Reading) -> None:
    """Remember that a conversation is to be measured, if the call is one after which its context has changed."""
    if reading.conversation and reading.transcript and reading.moment not in (Moment.PROMPT, Moment.OTHER):
        moments.pop(reading.conversation, None)
        moments[reading.conversation] = (call, reading)


def measure(workspace: Workspace, journal: Journal, moments: Moments) -> None:
    """Append what was measured, where it is something new."""
    for call, reading in moments.values():
        _measure(workspace, journal, call, reading)


def _measure(workspace: Workspace, journal: Journal, call: Call, reading: Reading) -> None:
    sessions = journal.sessions_of(reading.conversation or "")
    session = sessions[0] if sessions else None
    if session is None or session.fenced:
        return
    bodies = {
        MEASURED: _fill(workspace, call, reading, sessions),
        COUNTED: _spent(call, reading, sessions) if reading.moment is Moment.END else {},
    }
    drafts = [
        Draft(kind, body, call.event_id(NAMES[kind]), call.time, session.id, call.agent)
        for kind, body in bodies.items()
        if body
    ]
    with contextlib.suppress(Fenced):  # the run was taken over meanwhile
        journal.append(session.run, *drafts)


def _fill(workspace: Workspace, call: Call, reading: Reading, sessions: list[Session]) -> Body:
    """How full the context is; empty where that is not known, or nothing new."""
    session, known = sessions[0], context_windows.find(workspace.here, reading.conversation or "")
    usage = _usage(call, reading, known)
    if usage is None:
        return {}
    window = window_in(workspace, usage, known, sessions)
    if (usage.tokens, window) == (session.context_tokens, session.context_window):
        return {}
    return {"tokens": usage.tokens, "window": window, "model": usage.model or known.model or session.model}


def _spent(call: Call, reading: Reading, sessions: list[Session]) -> Body:
    """The usage of a session that has ended: some clients write it into the transcript only."""
    total = find_agent(call.agent).read_spent(Path(reading.transcript or ""))
    return counted(sessions[0], remaining_usage(total, sessions[1:])) if total else {}


def counted(session: Session, used: Spent) -> Body:
    """The body of the event that a session has used so much; empty where that is known, or nothing was used."""
    known = (session.tokens_read, session.tokens_written, session.cost)
    if (used.tokens_read, used.tokens_written, used.cost) == known:
        return {}
    return {"read": used.tokens_read, "written": used.tokens_written, "cost": used.cost}


def window_in(workspace: Workspace, usage: Usage, known: Gauge, sessions: list[Session]) -> int:
    """The tokens that a context holds: as the user set it, as the client said, or by the model."""
    said = workspace.settings.whole("context.window") or int_of(known.window)
    earlier = max((session.context_window or 0 for session in sessions), default=0)
    return window_of(usage.tokens, usage.model or known.model, said, earlier)


def _usage(call: Call, reading: Reading, known: Gauge) -> Usage | None:
    """The usage in the transcript; where that has none, the one that the status line was told."""
    if found := find_agent(call.agent).read_usage(Path(reading.transcript or "")):
        return found
    tokens = int_of(known.tokens)
    return Usage(tokens, known.model) if tokens else None
