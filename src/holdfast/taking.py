"""What kept calls become: one batch of them, in one commit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from holdfast import ids, intake, spool
from holdfast.agents import caller, find_agent
from holdfast.intake import Call, NotACall
from holdfast.journal import Journal
from holdfast.measuring import Moments, measure, note_moment
from holdfast.placing import Ground, place
from holdfast.text import path_text
from holdfast.workspace import Workspace

PLACES = ("session_id", "transcript_path", "cwd")  # by which a call finds its run
BATCH_CALLS, BATCH_BYTES = 1000, 16 * 1024 * 1024


def take_batch(workspace: Workspace, journal: Journal, left: set[str]) -> tuple[list[str], list[str], int]:
    """Append one batch; answers with the calls to remove, those to set aside, and how many events came of them."""
    done: list[str] = []
    strange: list[str] = []
    worktrees: dict[str, str] = {}
    moments: Moments = {}
    size = added = 0
    inbox = workspace.inbox
    for name in intake.waiting(inbox):
        if name in left:
            continue
        if journal.has_event(ids.event_of_call(name)):  # whoever took it in did not come to remove it
            done.append(name)
            continue
        try:
            call = intake.read(inbox, name)
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


def _without_secrets(workspace: Workspace, payload: Any) -> Any:
    """Before anything is cut to its length: half a token is no token that anybody finds."""
    places = {key: payload[key] for key in PLACES if key in payload} if isinstance(payload, dict) else {}
    clean = workspace.clean(payload)
    return {**clean, **places} if places else clean


def _append_call(
    workspace: Workspace, journal: Journal, call: Call, worktrees: dict[str, str], moments: Moments
) -> int:
    if call.directory not in worktrees:  # a batch has few directories, and each costs some looking around
        worktrees[call.directory] = path_text(spool.worktree_name(spool.locate(call.directory)[0]))
    call.agent = caller(call)
    recent = timedelta(hours=workspace.settings.number("join.hours"))
    ground = Ground(worktrees[call.directory], recent)
    call.payload = _without_secrets(workspace, call.payload)
    reading = find_agent(call.agent).read_call(call)
    note_moment(moments, call, reading)
    return place(journal, call, reading, ground)
