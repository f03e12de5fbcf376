"""The stored form of runs, sessions, checkpoints and events: JSON, compressed where that is smaller.

A string in an event's body of `SHARED` characters or more is stored once and replaced by `{"$blob": HASH}`. A key that
begins with a dollar sign is stored with one more, so that no body can forge a reference. A large value that changes
little is stored as the difference to an earlier one. A text that was thinned is replaced by its size,
`{"$thin": BYTES}`, and reads as a line that says so.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.fold import run as fold
from holdfast.core.fold.run import record_of
from holdfast.core.formats.json_limits import sparse
from holdfast.core.ids import hexdigest
from holdfast.core.model import Body, Checkpoint, Event, Run, Session
from holdfast.journal.store import CheckpointRow, EventRow, RunRow, SessionRow
from holdfast.system import files
from holdfast.system.clock import from_micros, micros

SHARED = 1024
WORTH_COMPRESSING = 400
WORTH_THINNING = 256  # characters of a text
WORTH_COMPARING = 8192  # bytes of a value that may be stored as a difference
LARGEST = 1 << 28  # bytes of a value that a difference may produce
DEEPEST = 100  # differences in a chain
PLAIN, COMPRESSED, DIFFERENT = b"j", b"z", b"d"
DIGEST = 16  # bytes of a hash
WAYS = ["`holdfast verify`"]
ARCHIVED = "archived"  # the listed status of a run in an archive that has not ended

# The errors of decoding: ValueError for bytes that are not UTF-8, TypeError for types that damage has changed.
UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError, TypeError)
encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode
RUN, SESSION, CHECKPOINT = msgspec.json.Decoder(Run), msgspec.json.Decoder(Session), msgspec.json.Decoder(Checkpoint)
BLOCK = 32  # bytes that must be equal before anything is copied
SAMPLES = 16  # blocks that are tested before two texts are compared
STRIDE = 4096
Difference = list[int | bytes]
T = TypeVar("T")


def event_of(row: EventRow, fetch: Callable[[bytes], bytes | None]) -> Event:
    body = unpack(row.body, fetch)
    try:
        id, time = row.id.hex(), from_micros(row.time)
        if not all(isinstance(text, str) for text in (row.kind, row.session or "", row.agent or "")):
            raise TypeError("a text has another type")
    except (AttributeError, TypeError, ValueError, OverflowError) as error:  # damage changes types and numbers
        raise Damaged(f"Event {row.seq} of run {row.run} cannot be read", [("error", error)], WAYS) from error
    return Event(row.run, row.seq, id, row.kind, time, row.session, row.agent, body)


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


def decode_run(state: bytes, id: str = "") -> Run:
    return _decoded(RUN, state, f"The state of run {id}")


def row_of_session(session: Session) -> SessionRow:
    opened, has_process = micros(session.opened), session.process is not None
    return SessionRow(
        session.id, session.run, opened, session.is_open, has_process, session.agent_session, encode(session)
    )


def session_of(row: SessionRow) -> Session:
    return _decoded(SESSION, row.record, f"The record of session {row.id}")


def row_of_checkpoint(found: Checkpoint) -> CheckpointRow:
    record = encode(record_of(found))
    is_named = found.name is not None
    time = micros(found.time)
    return CheckpointRow(found.id, found.worktree, found.number, found.run, time, is_named, found.pinned, record)


def checkpoint_of(row: CheckpointRow) -> Checkpoint:
    return _decoded(CHECKPOINT, row.record, f"Checkpoint {row.id}")


def _decoded(decoder: msgspec.json.Decoder[T], data: bytes, what: str) -> T:
    try:
        return decoder.decode(data)
    except UNREADABLE as error:
        raise Damaged(f"{what} cannot be read", [("error", error)], WAYS) from error


def read_record(path: Path, kind: type[T], limit: int = files.READ_LIMIT) -> T | None:
    """Read a small JSON file of the store or the user; None if it is missing or unreadable."""
    try:
        return msgspec.json.decode(files.read(path, limit) or b"", type=kind)
    except (*UNREADABLE, HoldfastError):
        return None


# The body of an event


def pack(body: Body) -> tuple[bytes, dict[bytes, bytes]]:
    """The stored form of a body, and the large values in it by their hash."""
    blobs: dict[bytes, bytes] = {}
    return squeeze(encode(_take_out(body, blobs))), blobs


def unpack(data: bytes, fetch: Callable[[bytes], bytes | None]) -> Body:
    """The body of a stored form; `fetch` finds a large value by its hash."""
    try:
        body = _put_back(decode(sparse(expand(data))), fetch)
    except UNREADABLE as error:
        raise Damaged("The body of an event cannot be read", [("error", error)], WAYS) from error
    if not isinstance(body, dict):
        raise Damaged("The body of an event is not an object", [], WAYS)
    return body


def blobs_in(data: bytes) -> set[bytes]:
    found: set[bytes] = set()

    def note(digest: bytes) -> bytes:
        found.add(digest)
        return b""

    unpack(data, note)
    return found


def squeeze(data: bytes) -> bytes:
    if len(data) >= WORTH_COMPRESSING:
        small = zlib.compress(data, 1)
        if len(small) < len(data):
            return COMPRESSED + small
    return PLAIN + data


def expand(data: bytes) -> bytes:
    if not isinstance(data, bytes):
        raise Damaged("A stored value has a wrong type", [("type", type(data).__name__)], WAYS)
    kind, rest = data[:1], data[1:]
    if kind == PLAIN:
        return rest
    try:
        if kind == COMPRESSED:
            return zlib.decompress(rest)
    except zlib.error as error:
        raise Damaged("A stored value cannot be expanded", [("error", error)], WAYS) from error
    raise Damaged("A stored value has an unknown form", [("form", kind)], WAYS)


def against(base: bytes, digest: bytes, depth: int, value: bytes) -> bytes | None:
    """The stored form of a value as the difference to `base`, which has this hash; None if it is not much smaller."""
    if depth >= DEEPEST or len(value) < WORTH_COMPARING or not is_alike(base, value):
        return None
    small = zlib.compress(msgspec.msgpack.encode(difference(base, value)))
    return DIFFERENT + bytes([depth + 1]) + digest + small if len(small) < len(value) // 8 else None


def base_in(data: bytes) -> tuple[int, bytes]:
    """The depth of a stored difference in its chain, and the hash of its base; (0, b"") for a whole value."""
    is_difference = data[:1] == DIFFERENT and len(data) > 2 + DIGEST
    return (data[1], data[2 : 2 + DIGEST]) if is_difference else (0, b"")


def combine(base: bytes, data: bytes) -> bytes:
    """The value of a stored difference and its base."""
    try:
        return patch(base, msgspec.msgpack.decode(zlib.decompress(data[2 + DIGEST :])), LARGEST)
    except (zlib.error, *UNREADABLE) as error:
        raise Damaged("A stored value cannot be expanded", [("error", error)], WAYS) from error


def thin(data: bytes, places: Collection[str], fetch: Callable[[bytes], bytes | None]) -> bytes | None:
    """A stored body with the long texts under these keys replaced by their sizes; None if there are none."""
    body = decode(sparse(expand(data)))
    if not isinstance(body, dict):
        return None
    small = {key: _thinned(value, fetch) if key in places else value for key, value in body.items()}
    return squeeze(encode(small)) if small != body else None


def _thinned(value: Any, fetch: Callable[[bytes], bytes | None]) -> Any:
    if isinstance(value, str):
        return {"$thin": len(value.encode())} if len(value) >= WORTH_THINNING else value
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(digest := value.get("$blob"), str):
            return {"$thin": len(fetch(bytes.fromhex(digest)) or b"")}
        return {key: _thinned(item, fetch) for key, item in value.items()}
    return [_thinned(item, fetch) for item in value] if isinstance(value, list) else value


def digest_of(data: bytes) -> bytes:
    return bytes.fromhex(hexdigest("blake2b", data, digest_size=DIGEST))


def _take_out(value: Any, blobs: dict[bytes, bytes]) -> Any:
    if isinstance(value, str):
        if len(value) < SHARED:
            return value
        data = value.encode()
        digest = digest_of(data)
        blobs[digest] = data
        return {"$blob": digest.hex()}
    if isinstance(value, dict):
        return {"$" * key.startswith("$") + key: _take_out(item, blobs) for key, item in value.items()}
    if isinstance(value, list):
        return [_take_out(item, blobs) for item in value]
    return value


def _put_back(value: Any, fetch: Callable[[bytes], bytes | None]) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and isinstance(digest := value.get("$blob"), str):
            if (data := fetch(bytes.fromhex(digest))) is None:
                raise Damaged("A stored value is missing", [("hash", digest)], WAYS)
            return data.decode("utf-8", "replace")
        if len(value) == 1 and isinstance(size := value.get("$thin"), int):
            return f"[{size:,} bytes of tool output, thinned out]"
        return {key.removeprefix("$"): _put_back(item, fetch) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_back(item, fetch) for item in value]
    return value


# Differences between two texts


def is_alike(base: bytes, value: bytes) -> bool:
    """True if most of a few samples of one text occur in the other, so that a comparison may pay."""
    if len(value) < SAMPLES * BLOCK or len(base) < SAMPLES * BLOCK:
        return False
    step = (len(value) - BLOCK) // (SAMPLES - 1)
    return sum(value[at : at + BLOCK] in base for at in range(0, step * SAMPLES, step)) > SAMPLES // 2


def difference(base: bytes, value: bytes) -> Difference:
    """The difference from `base` to `value`: new bytes, and pairs of start and length in `base`."""
    places = {base[at : at + BLOCK]: at for at in range(len(base) - BLOCK, -1, -BLOCK)}
    found: Difference = []
    new = at = 0  # the start of the new bytes, and the current position
    while at <= len(value) - BLOCK:
        start = places.get(value[at : at + BLOCK])
        if start is None:
            at += 1
            continue
        while at > new and start > 0 and value[at - 1] == base[start - 1]:
            at, start = at - 1, start - 1
        length = _common(base, start, value, at)
        found += [value[new:at], start, length] if at > new else [start, length]
        new = at = at + length
    return [*found, value[new:]] if new < len(value) else found


def patch(base: bytes, changes: Any, limit: int) -> bytes:
    """Apply a difference; raises ValueError if it does not fit the base or the value becomes too large."""
    if not isinstance(changes, list):
        raise ValueError("a difference is a list")
    return b"".join(_parts(base, iter(changes), limit))


def _parts(base: bytes, changes: Iterator[Any], limit: int) -> Iterator[bytes]:
    for item in changes:
        part = item if isinstance(item, bytes) else _copied(base, item, next(changes, None))
        limit -= len(part)
        if limit < 0:
            raise ValueError("the result of a difference is too large")
        yield part


def _copied(base: bytes, start: Any, length: Any) -> bytes:
    if type(start) is not int or type(length) is not int or not 0 <= start <= start + length <= len(base):
        raise ValueError("a difference copies bytes outside of its base")
    return base[start : start + length]


def _common(one: bytes, at: int, other: bytes, there: int) -> int:
    """The number of equal bytes from two positions on."""
    most = min(len(one) - at, len(other) - there)
    length, step = 0, STRIDE
    while step and length < most:
        step = min(step, most - length)
        if one[at + length : at + length + step] == other[there + length : there + length + step]:
            length += step
        else:
            step //= 2
    return length
