"""What kept calls become: one batch of them, in one commit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from msgspec import Struct

from holdfast.agents.registry import find_agent, find_client, identify
from holdfast.core import ids
from holdfast.core.errors import Trouble
from holdfast.core.text import path_text
from holdfast.ingest.context_usage import Moments, measure, note_moment
from holdfast.ingest.routing import Ground, place
from holdfast.journal.journal import Journal
from holdfast.project import inbox as intake
from holdfast.project.inbox import Call, NotACall
from holdfast.project.workspace import Workspace
from holdfast.system import locate

BATCH_CALLS, BATCH_BYTES = 1000, 16 * 1024 * 1024
CHUNK_CALLS, CHUNK_BYTES = 50, 1024 * 1024  # that are looked through for secrets together


class Batch(Struct):
    """Calls to remove, files to set aside, calls that stay because they cannot be read, and how many are new."""

    done: list[str] = []
    strange: list[str] = []
    unread: dict[str, Trouble] = {}
    taken: int = 0  # calls that became events


def take_batch(workspace: Workspace, journal: Journal, names: Iterable[str]) -> Batch:
    """Append the first of these calls, as many as one commit takes."""
    batch = Batch()
    worktrees: dict[str, str] = {}
    moments: Moments = {}
    size = 0
    for calls in _in_chunks(_read(workspace, journal, names, batch)):
        has_secrets = not workspace.redactor.is_clean(call.payload for call in calls)
        for call in calls:
            if has_secrets:
                call.payload = _without_secrets(workspace, call)  # safeguard: hide-inbox-call
            _append_call(workspace, journal, call, worktrees, moments)
            batch.taken += 1
            batch.done.append(call.name)
            size += call.size
        if len(batch.done) >= BATCH_CALLS or size >= BATCH_BYTES:
            break
    measure(workspace, journal, moments)
    return batch


def _read(workspace: Workspace, journal: Journal, names: Iterable[str], batch: Batch) -> Iterator[Call]:
    """The calls that can be read, in their order. One that cannot is overtaken by those after it.

    Whose it is stands in the call itself, so nobody can tell which of the others are of its conversation; were all of
    them to wait, one bad block or one file with another owner would stop every command for good. Coming later, it is an
    event with its own time, and opens no conversation again that has ended since: see `placing.py`.
    """
    inbox = workspace.inbox
    for name in names:
        if len(batch.done) >= BATCH_CALLS:
            return
        if journal.has_event(ids.event_of_call(name)):  # whoever took it in did not come to remove it
            batch.done.append(name)
            continue
        try:
            call = intake.read(inbox, name)
        except NotACall:
            batch.strange.append(name)
            continue
        except Trouble as error:
            if not intake.is_of_one_file(error):
                raise
            batch.unread[name] = error
            continue
        if call is not None:
            identify(call)
            yield call


def _in_chunks(calls: Iterable[Call]) -> Iterator[list[Call]]:
    chunk: list[Call] = []
    size = 0
    for call in calls:
        chunk.append(call)
        size += call.size
        if len(chunk) >= CHUNK_CALLS or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _without_secrets(workspace: Workspace, call: Call) -> Any:
    """The payload, redacted before anything is cut to its length: half a token matches no pattern."""
    payload = call.payload
    keys = find_client(call.agent).PLACES if isinstance(payload, dict) else ()
    places = {key: payload[key] for key in keys if key in payload}
    clean = workspace.clean(payload)
    return {**clean, **places} if places else clean


def _append_call(
    workspace: Workspace, journal: Journal, call: Call, worktrees: dict[str, str], moments: Moments
) -> None:
    if call.directory not in worktrees:  # a batch has few directories, and each costs some looking around
        worktrees[call.directory] = path_text(locate.worktree_name(locate.locate_store(call.directory)[0]))
    recent = timedelta(hours=workspace.settings.number("join.hours"))
    ground = Ground(worktrees[call.directory], recent)
    reading = find_agent(call.agent).read_call(call)
    note_moment(moments, call, reading)
    place(journal, call, reading, ground)
