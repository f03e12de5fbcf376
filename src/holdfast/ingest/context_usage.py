"""Measure the fill of an agent's context window, once for each conversation of a batch.

At the end of a session, its total usage is recorded too.
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
Moments = dict[str, tuple[Call, Reading]]  # by conversation, the last call after which its context may have changed


def note_moment(moments: Moments, call: Call, reading: Reading) -> None:
    """Note that a conversation is to be measured, unless the call leaves its context unchanged."""
    if reading.conversation and reading.transcript and reading.moment not in (Moment.PROMPT, Moment.OTHER):
        moments.pop(reading.conversation, None)
        moments[reading.conversation] = (call, reading)


def measure(workspace: Workspace, journal: Journal, moments: Moments) -> None:
    """Append new measurements."""
    for call, reading in moments.values():
        sessions = journal.sessions_of(reading.conversation or "")
        session = sessions[0] if sessions else None
        if session is None or session.fenced:
            continue
        is_end, path = reading.moment is Moment.END, Path(reading.transcript or "")
        total = find_agent(call.agent).read_spent(path) if is_end else None  # some clients write it only there
        bodies = {
            MEASURED: _fill(workspace, call, reading, sessions),
            COUNTED: counted(session, remaining_usage(total, sessions[1:])) if total else {},
        }
        drafts = [
            Draft(kind, body, call.event_id(NAMES[kind]), call.time, session.id, call.agent)
            for kind, body in bodies.items()
            if body
        ]
        with contextlib.suppress(Fenced):  # the run was taken over meanwhile
            journal.append(session.run, *drafts)


def _fill(workspace: Workspace, call: Call, reading: Reading, sessions: list[Session]) -> Body:
    """The body of a measurement of the context; empty if it is unknown or has not changed."""
    session, known = sessions[0], context_windows.find(workspace.here, reading.conversation or "")
    usage = _usage(call, reading, known)
    if usage is None:
        return {}
    window = window_in(workspace, usage, known, sessions)
    if (usage.tokens, window) == (session.context_tokens, session.context_window):
        return {}
    return {"tokens": usage.tokens, "window": window, "model": usage.model or known.model or session.model}


def counted(session: Session, used: Spent) -> Body:
    """The body of a session's usage; empty if it is known already, or if nothing was used."""
    known = (session.tokens_read, session.tokens_written, session.cost)
    if (used.tokens_read, used.tokens_written, used.cost) == known:
        return {}
    return {"read": used.tokens_read, "written": used.tokens_written, "cost": used.cost}


def window_in(workspace: Workspace, usage: Usage, known: Gauge, sessions: list[Session]) -> int:
    """The size of a context in tokens: set by the user, reported by the client, or known of the model."""
    said = workspace.settings.whole("context.window") or int_of(known.window)
    earlier = max((session.context_window or 0 for session in sessions), default=0)
    return window_of(usage.tokens, usage.model or known.model, said, earlier)


def _usage(call: Call, reading: Reading, known: Gauge) -> Usage | None:
    """The usage in the transcript; if it has none, the usage that the client reported to the status line."""
    if found := find_agent(call.agent).read_usage(Path(reading.transcript or "")):
        return found
    tokens = int_of(known.tokens)
    return Usage(tokens, known.model) if tokens else None
