"""Status line for Claude Code: the run, the usage of the context, the age of the last checkpoint.

The client draws it very often, so it ingests nothing and never fails: parts that are unknown or slow are omitted. The
client's report on its context is stored for the next ingestion.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from holdfast.agents.claude.transcript import COUNTS
from holdfast.agents.generic_client import text_of
from holdfast.core.fold.activity import fill_of
from holdfast.core.model import Body, Run, Session, int_of, object_of
from holdfast.core.text import one_line, visible
from holdfast.journal.journal import Journal
from holdfast.project import context_windows
from holdfast.project.context_windows import Gauge
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system.clock import ago

TITLE = 40
BETWEEN = " · "


def draw_status(payload: Body, open_workspace: Callable[[str], Workspace]) -> str:
    """The status line for the client's payload; empty if anything fails."""
    with contextlib.suppress(Exception), open_workspace(_directory(payload)) as workspace:
        return line(workspace, payload)
    return ""


def line(workspace: Workspace, payload: Body) -> str:
    """The status line for the client's payload, whose report on the context is stored."""
    if not workspace.exists:
        return ""
    conversation = text_of(payload, "session_id")
    known = gauge_of(payload)
    if workspace.is_off:
        return BETWEEN.join(["holdfast is off", *_fullness(known, [])])
    workspace.check_ours()
    context_windows.keep(workspace.here, conversation, known)
    with workspace.reading() as journal:
        sessions = journal.sessions_of(conversation) if conversation else []
        run = _run(journal, sessions, workspace.worktree)
        newest = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
    parts = [one_line(run.title, TITLE) if run else "no run yet", *_fullness(known, sessions)]
    if newest is not None:
        parts.append(f"checkpoint {ago(newest.time, workspace.clock.now())}")
    return visible(BETWEEN.join(parts))


def gauge_of(payload: Body) -> Gauge:
    """The client's report on its context. Never fails, whatever the payload is."""
    about, model = object_of(payload.get("context_window")), object_of(payload.get("model"))
    usage = object_of(about.get("current_usage"))
    tokens = sum(int_of(usage.get(name)) or 0 for name in COUNTS)
    return Gauge(int_of(about.get("context_window_size")), tokens or None, text_of(model, "id")[:200] or None)


def _fullness(known: Gauge, sessions: list[Session]) -> list[str]:
    recorded = [fill_of(session.context_tokens, session.context_window) for session in sessions[:1]]
    fill = next(filter(None, [fill_of(known.tokens, known.window), *recorded]), None)
    return [f"context {fill.percent} %"] if fill else []


def _run(journal: Journal, sessions: list[Session], worktree: str) -> Run | None:
    return journal.find_run(sessions[0].run) if sessions else select.current_run(journal, worktree)


def draw_without_store(payload: Body) -> str:
    return BETWEEN.join(_fullness(gauge_of(payload), []))


def _directory(payload: Body) -> str:
    named = os.environ.get("CLAUDE_PROJECT_DIR") or text_of(payload.get("workspace"), "project_dir")
    return named or os.getcwd()
