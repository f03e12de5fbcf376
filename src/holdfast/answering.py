"""What an agent that asks is told: the brief when a conversation begins, what must survive when one is compacted.

The call that asks was kept before anything else happens here, so whatever goes wrong, nothing of it is lost.
"""

from __future__ import annotations

import time

from holdfast import choosing
from holdfast.catchup import catch_up
from holdfast.intake import Call
from holdfast.journal import Journal
from holdfast.keeping import keep_if_changed
from holdfast.model import Run, Session
from holdfast.priming import plan_brief
from holdfast.stores.protocol import RunQuery
from holdfast.text import one_line
from holdfast.workspace import Workspace

LIMIT = 10_000  # characters that Claude Code takes from one hook; more would become a file that nobody reads
SURVIVING = 4_000  # characters for whoever writes the summary
PATIENCE = 4.0  # seconds after which an answer goes out with what is known by then
NAMED = 5


def answer(workspace: Workspace, call: Call, event: str) -> str | None:
    """The text for the agent, or None where there is nothing to say."""
    catch_up(workspace, until=time.monotonic() + PATIENCE)
    if event == "SessionStart":
        return _brief(workspace, call, min(LIMIT, workspace.settings.whole("brief.budget")))
    if event == "PreCompact":
        keep_if_changed(workspace, "before-compaction")
        return _brief(workspace, call, SURVIVING)
    return None


def _brief(workspace: Workspace, call: Call, budget: int) -> str | None:
    with workspace.reading() as journal:
        session = _session(journal, call)
        run = journal.find_run(session.run) if session else None
        if run is None:
            return _others(journal, workspace.worktree)
        last = _earlier(journal, run, session)
    return plan_brief(run, last, workspace.clock.now(), budget).text


def _session(journal: Journal, call: Call) -> Session | None:
    payload = call.payload if isinstance(call.payload, dict) else {}
    found = journal.sessions_of(str(payload.get("session_id") or call.environment.get("CLAUDE_CODE_SESSION_ID") or ""))
    return found[0] if found else None


def _earlier(journal: Journal, run: Run, session: Session | None) -> Session | None:
    """The session before this one: what it was doing when it stopped is what the next one has to know."""
    sessions = [found for found in journal.list_sessions(run.id, limit=2) if session is None or found.id != session.id]
    return sessions[0] if sessions else session


def _others(journal: Journal, worktree: str) -> str | None:
    """The open runs that a new conversation could join, in a line each."""
    query = RunQuery(worktree=worktree, statuses=choosing.OPEN_STATUSES, limit=NAMED)
    runs, _ = journal.list_runs(query)
    if not runs:
        return None
    lines = [f"- {run.id} {run.status}: {one_line(run.title, 100)} (`holdfast join {run.id}`)" for run in runs]
    return "\n".join(["Holdfast keeps these open runs of this worktree; none was joined by itself:", *lines])
