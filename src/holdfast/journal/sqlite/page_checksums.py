"""A checksum for each page of the database, which detects damage that SQLite itself does not.

`journal.sums` holds the checksum each page has after a WAL checkpoint. It is written before the checkpoint, so every
page outside the WAL has a checksum; a page in the WAL may match any of its frames. A kill at any point leaves nothing
that looks like damage. The frames of the WAL carry checksums, but SQLite takes the first wrong one as the end of the
WAL and silently drops the frames after it; `read_log` reports them.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import apsw

from holdfast.core.errors import Refused
from holdfast.journal.sqlite.connection import name_for_sqlite
from holdfast.system import files
from holdfast.system.files import os_errors

HEAD = b"holdfast-sums 1\n"
START = len(HEAD) + 8  # between HEAD and START: the salts of the log whose sums were recorded last
PAGE = 4096
LOCK_PAGE = 2**30 // PAGE + 1  # SQLite locks this page and never writes it
FRAME, LOG_HEAD = 24, 32
MAGIC = 0x377F0682
LOG_LIMIT = 1 << 32


class Log(NamedTuple):
    pages: dict[int, set[int]]  # the checksums of all versions of each page
    problem: str | None
    salts: bytes = b""  # unique to this log


def sums_path(path: Path) -> Path:
    return path.with_name("journal.sums")


def log_path(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def record_log(path: Path, frames: int) -> None:
    """Record the checksums of the pages in the first frames of the log. The caller is the only writer."""
    if not frames or not sums_path(path).exists():
        return
    found: dict[int, int] = {}
    with open(log_path(path), "rb") as log:
        salts = log.read(LOG_HEAD)[16:24]
        for _ in range(frames):
            frame = log.read(FRAME + PAGE)
            found[int.from_bytes(frame[:4], "big")] = zlib.crc32(frame[FRAME:])
    with os_errors(sums_path(path)), open(sums_path(path), "r+b", buffering=0) as file:
        _write_at(file, len(HEAD), salts)
        # safeguard: sync-log-identity
        os.fsync(file.fileno())  # first, or a power cut could leave checksums of pages that are not yet written
        for number, total in found.items():
            _write_at(file, START + 4 * (number - 1), struct.pack(">I", total))
        os.fsync(file.fileno())  # safeguard: sync-log-checksums


def _write_at(file: FileIO, position: int, data: bytes) -> None:
    file.seek(position)
    files.write_all(file.fileno(), data)


def record_all(path: Path) -> None:
    """Record the checksums of all pages. The caller is the only writer, and the log is empty."""
    sums = b"".join(struct.pack(">I", zlib.crc32(page)) for _, page in every_page(path))
    files.write(sums_path(path), HEAD + bytes(8) + sums)


def changed_pages(path: Path, first: int, count: int) -> tuple[list[int], bool]:
    """The numbers of changed pages in a range, and True if there are pages after it. Writers are locked out."""
    try:
        known = files.read(sums_path(path), LOG_LIMIT)
    except Refused:
        known = b""
    if known is None:
        return [], False
    if not known.startswith(HEAD):
        return [0], False
    log = read_log(log_path(path))
    was_recorded = known[len(HEAD) : START] == log.salts
    wrong, last = [], 0
    for number, page in every_page(path, first, count):
        last = number
        at = START + 4 * (number - 1)
        total = int.from_bytes(known[at : at + 4], "big")
        versions = log.pages.get(number, set())
        if not total or number == LOCK_PAGE or (was_recorded and versions):
            continue  # never written; or not copied yet, with its checksum possibly half written
        if zlib.crc32(page) not in {total, *versions}:
            wrong.append(number)
    return wrong, last == first + count - 1


def every_page(path: Path, first: int = 1, count: int = 2**62) -> Iterator[tuple[int, bytes]]:
    """Pages of the database file, read through SQLite: closing a descriptor of our own would drop its locks."""
    file = apsw.VFSFile("", name_for_sqlite(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])
    try:
        size = file.xFileSize()
        for number in range(first, min(first + count, -(-size // PAGE) + 1)):
            start = PAGE * (number - 1)
            yield number, file.xRead(min(PAGE, size - start), start)
    finally:
        file.xClose()


def read_log(path: Path) -> Log:
    """The pages in the log, and a problem if it ends too early."""
    frames = _parts_of(path)
    head = next(frames)
    if len(head) < LOG_HEAD:
        return Log({}, None)
    magic, _, page, _, *salt, one, two = struct.unpack(">8I", head)
    order = ">" if magic & 1 else "<"
    state = _checksum(head[: LOG_HEAD - 8], order, (0, 0))
    if magic & ~1 != MAGIC or page != PAGE or state != (one, two):
        return Log({}, "the header of the log is damaged, so SQLite ignores all of it")
    found: dict[int, set[int]] = {}
    waiting: list[tuple[int, int]] = []
    for place, frame in enumerate(frames, 1):
        number, size, *there, one, two = struct.unpack(">6I", frame[:FRAME])
        content = frame[FRAME:]
        state = _checksum(content, order, _checksum(frame[:8], order, state))
        if there != salt or state != (one, two):
            rest = (struct.unpack_from(">2I", frame, 8) for frame in itertools.chain([frame], frames))
            ours = sum(one == salt[0] or two == salt[1] for one, two in rest)  # an earlier log left the others
            problem = f"the log is damaged at frame {place}, so SQLite ignores {ours:,} pages in it" if ours else None
            return Log(found, problem, head[16:24])
        waiting.append((number, zlib.crc32(content)))
        if size:
            for number, total in waiting:
                found.setdefault(number, set()).add(total)
            waiting.clear()
    return Log(found, None, head[16:24])


def _parts_of(path: Path) -> Iterator[bytes]:
    """The header of the log, then its complete frames, one at a time: a log can be as large as the database."""
    with os_errors(path), contextlib.ExitStack() as stack:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            yield b""
            return
        file = stack.enter_context(open(descriptor, "rb"))
        yield file.read(LOG_HEAD)
        while len(frame := file.read(FRAME + PAGE)) == FRAME + PAGE:
            yield frame


def sound_frames(path: Path) -> Iterator[tuple[int, bytes]]:
    """The undamaged pages in complete transactions of the log, including those after a damaged page."""
    waiting: list[tuple[int, bytes]] = []
    for number, content, is_last in _frames(path):
        if content is not None:
            waiting.append((number, content))
        if is_last:
            yield from waiting
            waiting.clear()


def lost_pages(path: Path) -> int:
    """The number of pages whose last version in the log is damaged."""
    lost: set[int] = set()
    for number, content, _ in _frames(path):
        lost = lost | {number} if content is None else lost - {number}
    return len(lost)


def _frames(path: Path) -> Iterator[tuple[int, bytes | None, bool]]:
    """The frames of the log: page number, content unless damaged, and True at the end of a transaction.

    A frame's checksum continues from the one stored in the previous frame, so one damaged frame affects no other.
    """
    frames = _parts_of(path)
    head = next(frames)
    order = ">" if head[3:4] and head[3] & 1 else "<"
    state = struct.unpack(">2I", head[24:LOG_HEAD]) if len(head) >= LOG_HEAD else (0, 0)
    salts = Counter(frame[8:16] for frame in itertools.islice(_parts_of(path), 1, None))
    # those of its header if any frame has them, otherwise the most frequent ones
    ours = head[16:24] if head[16:24] in salts else max(salts, key=lambda found: salts[found], default=b"")
    for frame in frames:
        number, size, _, _, one, two = struct.unpack(">6I", frame[:FRAME])
        if not any(frame[n : n + 4] == ours[n - 8 : n - 4] for n in (8, 12)):
            continue  # left by an earlier log
        content = frame[FRAME:]
        sound = _checksum(content, order, _checksum(frame[:8], order, state)) == (one, two)
        yield number, content if sound else None, bool(size)
        state = (one, two)


def _checksum(data: bytes, order: str, state: tuple[int, int]) -> tuple[int, int]:
    one, two = state
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for a, b in zip(words[::2], words[1::2], strict=True):
        one = (one + a + two) & 0xFFFFFFFF
        two = (two + b + one) & 0xFFFFFFFF
    return one, two
