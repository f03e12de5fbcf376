"""Between the journal's words and a store's rows: runs, sessions, events and checkpoints, there and back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from holdfast.core.errors import Damaged
from holdfast.core.fold import run as fold
from holdfast.core.fold.run import record_of
from holdfast.core.model import Checkpoint, Event, Run, Session
from holdfast.journal import codec
from holdfast.journal.store import CheckpointRow, EventRow, RunRow, SessionRow
from holdfast.system.clock import from_micros, micros

ARCHIVED = "archived"  # the status in lists of a run that is kept in an archive, though it has not ended
encode = msgspec.json.Encoder().encode
_run_decoder = msgspec.json.Decoder(Run)
_session_decoder = msgspec.json.Decoder(Session)
_checkpoint_decoder = msgspec.json.Decoder(Checkpoint)


def event_of(row: EventRow, fetch: Callable[[bytes], bytes | None]) -> Event:
    body = codec.unpack(row.body, fetch)
    try:
        id, time = row.id.hex(), from_micros(row.time)
    except (AttributeError, TypeError, ValueError, OverflowError) as error:  # damage makes other types and numbers
        raise _damaged_event(row, error) from error
    if not all(isinstance(text, str) for text in (row.kind, row.session or "", row.agent or "")):
        raise _damaged_event(row, "a text is none any more")
    return Event(row.run, row.seq, id, row.kind, time, row.session, row.agent, body)


def _damaged_event(row: EventRow, why: object) -> Damaged:
    return Damaged(f"Event {row.seq} of run {row.run} cannot be read", [("error", why)], ["`holdfast verify`"])


def row_of_run(run: Run, now: datetime) -> RunRow:
    labels = {f"agent:{agent}" for agent in run.agents} | {f"tag:{tag}" for tag in run.tags}
    return RunRow(
        run.id,
        run.status if run.is_open or not run.status.is_open else ARCHIVED,
        run.layout,
        run.worktree,
        micros(run.created or now),
        micros(run.updated or now),
        run.seq,
        fold.VERSION,
        encode(run),
        frozenset(labels),
    )


def session_of(row: SessionRow) -> Session:
    try:
        return _session_decoder.decode(row.record)
    except codec.UNREADABLE as error:
        raise Damaged(
            f"The record of session {row.id} cannot be read", [("error", error)], ["`holdfast verify`"]
        ) from error


def checkpoint_of(row: CheckpointRow) -> Checkpoint:
    try:
        return _checkpoint_decoder.decode(row.record)
    except codec.UNREADABLE as error:
        raise Damaged(f"Checkpoint {row.id} cannot be read", [("error", error)], ["`holdfast verify`"]) from error


def row_of_checkpoint(found: Checkpoint) -> CheckpointRow:
    return CheckpointRow(
        found.id,
        found.worktree,
        found.number,
        found.run,
        micros(found.time),
        found.name is not None,
        found.pinned,
        encode(record_of(found)),
    )


def row_of_session(session: Session) -> SessionRow:
    return SessionRow(
        session.id,
        session.run,
        micros(session.opened),
        session.is_open,
        session.process is not None,
        session.agent_session,
        encode(session),
    )


def decode_run(state: bytes, id: str = "") -> Run:
    try:
        return _run_decoder.decode(state)
    except codec.UNREADABLE as error:
        raise Damaged(f"The state of run {id} cannot be read", [("error", error)], ["`holdfast verify`"]) from error
