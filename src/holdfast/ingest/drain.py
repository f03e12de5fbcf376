"""Turn a batch of inbox calls into events, in one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from msgspec import Struct

from holdfast.agents.protocol import Moment, Reading
from holdfast.agents.registry import find_agent, find_client, identify
from holdfast.core import ids
from holdfast.core.errors import Trouble
from holdfast.core.text import path_text
from holdfast.ingest.context_usage import Moments, measure, note_moment
from holdfast.ingest.routing import CallContext, route_call
from holdfast.ingest.said import add_said
from holdfast.journal.journal import Journal
from holdfast.project import inbox
from holdfast.project.inbox import Call, NotACall
from holdfast.project.workspace import Workspace
from holdfast.system import locate

BATCH_CALLS, BATCH_BYTES = 1000, 16 * 1024 * 1024
CHUNK_CALLS, CHUNK_BYTES = 50, 1024 * 1024  # that are scanned for secrets together


class Batch(Struct):
    """The result of ingesting a batch."""

    done: list[str] = []  # calls to remove
    strange: list[str] = []  # files that are not calls
    unread: dict[str, Trouble] = {}  # calls that cannot be read at present, and stay
    taken: int = 0  # calls that became events


def ingest_batch(workspace: Workspace, journal: Journal, names: Iterable[str]) -> Batch:
    """Append the first of these calls, up to the limit of a transaction."""
    batch = Batch()
    worktrees: dict[str, str] = {}
    moments: Moments = {}
    size = 0
    for calls in _in_chunks(_read(workspace, journal, names, batch)):
        has_secrets = not workspace.redactor.is_clean(call.payload for call in calls)
        if has_secrets:
            for call in calls:
                call.payload = _without_secrets(workspace, call)  # safeguard: hide-inbox-call
        readings = [find_agent(call.agent).read_call(call) for call in calls]
        last = {reading.conversation: number for number, reading in enumerate(readings) if _is_work(reading)}
        for number, (call, reading) in enumerate(zip(calls, readings, strict=True)):
            if reading.moment is Moment.TURN or last.get(reading.conversation) == number:
                add_said(workspace, call, reading)
            _append_call(workspace, journal, call, reading, worktrees, moments)
            batch.taken += 1
            batch.done.append(call.name)
            size += call.size
        if len(batch.done) >= BATCH_CALLS or size >= BATCH_BYTES:
            break
    measure(workspace, journal, moments)
    return batch


def _read(workspace: Workspace, journal: Journal, names: Iterable[str], batch: Batch) -> Iterator[Call]:
    """The readable calls in their order. An unreadable one is skipped, and ingested once it can be read.

    Its conversation is unknown until then. If all later calls waited for it, one bad block or one file with another
    owner would stop every command. An event that comes late has its own time, and does not reopen a conversation that
    has ended since: see `routing.py`.
    """
    for name in names:
        if len(batch.done) >= BATCH_CALLS:
            return
        if journal.has_event(ids.event_of_call(name)):  # ingested, but not removed before the process ended
            batch.done.append(name)
            continue
        try:
            call = inbox.read(workspace.inbox, name)
        except NotACall:
            batch.strange.append(name)
            continue
        except Trouble as error:
            if not inbox.is_of_one_file(error):
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
    """The payload, redacted before anything is truncated: half a token matches no pattern."""
    payload = call.payload
    keys = find_client(call.agent).PLACES if isinstance(payload, dict) else ()
    places = {key: payload[key] for key in keys if key in payload}
    clean = workspace.clean(payload)
    return {**clean, **places} if places else clean


def _is_work(reading: Reading) -> bool:
    """True if texts may have been said before the call: the last one of a client that was killed has no turn's end."""
    return reading.moment in (Moment.ACTION, Moment.TURN)


def _append_call(
    workspace: Workspace, journal: Journal, call: Call, reading: Reading, worktrees: dict[str, str], moments: Moments
) -> None:
    if call.directory not in worktrees:  # cached: a batch has few directories, and each lookup is slow
        worktrees[call.directory] = path_text(locate.worktree_name(locate.locate_store(call.directory)[0]))
    recent = timedelta(hours=workspace.settings.number("join.hours"))
    context = CallContext(worktrees[call.directory], recent)
    note_moment(moments, call, reading)
    route_call(journal, call, reading, context)
