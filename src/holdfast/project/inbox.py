"""The inbox: hook calls that wait to be ingested, their order, and their parser.

Calls are ordered by the monotonic clock of their boot, which clock changes do not affect; earlier boots come first.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import Refused, Trouble, from_os_error
from holdfast.core.formats.json_limits import is_dense
from holdfast.core.model import Process
from holdfast.core.text import sound
from holdfast.journal.codec import UNREADABLE
from holdfast.project import inbox_writer
from holdfast.system import clock, files
from holdfast.system.process import parse_stat

MAGIC = b"holdfast-call 1"
HEADER_LIMIT = 256 * 1024
READ_LIMIT = inbox_writer.LIMIT + HEADER_LIMIT
DEPTH = 100
INFINITIES = (float("inf"), float("-inf"))
OF_ONE_FILE = {errno.EIO, errno.EACCES, errno.EPERM, errno.EBADMSG, getattr(errno, "EUCLEAN", errno.EIO)}
FAILED = {"session-load": "load FABER's context", "session-save": "save FABER's session"}  # by event
STALE = 3600.0  # seconds after which the temporary file of a killed hook is removed


def _number(text: str) -> float | str:
    """Return a number, or its digits if a float cannot hold it."""
    value = float(text)
    return text if value in INFINITIES else value


_decode = msgspec.json.Decoder(float_hook=_number).decode
_validate = msgspec.json.Decoder(msgspec.Raw).decode


class Call(Struct):
    name: str
    agent: str
    event: str
    time: datetime
    boot: str
    monotonic: int
    directory: str
    environment: dict[str, str]
    process: Process | None  # the client, if a variable names it, else the hook's parent
    payload: Any
    size: int = 0  # of the raw payload
    parent: Process | None = None  # of the hook

    @property
    def id(self) -> str:
        return ids.event_of_call(self.name)

    def event_id(self, number: int | str) -> str:
        """Return the id of one of the events of this call; the first has the call's own."""
        return ids.event_of_call(f"{self.name}#{number}") if number else self.id


class NotACall(Exception):
    """A file in the inbox that cannot be parsed. It is quarantined and reported, never deleted."""


class Name(NamedTuple):
    monotonic: int
    boot: str
    pid: int
    name: str


def waiting(inbox: Path) -> list[str]:
    names = [parsed for name in _listing(inbox) if (parsed := _parse_name(name))]
    boots = {name.boot for name in names}
    if len(boots) < 2:
        return [name.name for name in sorted(names)]
    # earlier boots by the mtime of their first file, since only the wall clock spans boots; this boot is last
    first = {name.boot: name for name in sorted(names, reverse=True)}
    rank = {boot: _changed(inbox / name.name) for boot, name in first.items()}
    rank[clock.boot()[:8] or "0"] = float("inf")
    return [name.name for name in sorted(names, key=lambda name: (rank[name.boot], *name))]


def read(inbox: Path, name: str) -> Call | None:
    """Return a waiting call; None if another process has ingested it."""
    try:
        data = files.read(inbox / name, READ_LIMIT)
    except Trouble:
        raise  # an I/O error: the file may be a valid call
    except Refused as error:
        raise NotACall(error.message) from error
    return decode(name, data) if data is not None else None


def is_of_one_file(error: Trouble) -> bool:
    """True if an error concerns one file alone, so that the calls after it can be ingested.

    If descriptors or memory run out, the next call might succeed, and calls would be ingested out of order.
    """
    return isinstance(error.__cause__, OSError) and error.__cause__.errno in OF_ONE_FILE


def unread(inbox: Path) -> list[str]:
    """Return the waiting calls that cannot be read, though others can."""
    return [name for name in waiting(inbox) if _is_unread(inbox / name)]


def _is_unread(path: Path) -> bool:
    try:
        files.read(path, READ_LIMIT)
    except Trouble as error:
        if not is_of_one_file(error):
            raise
        return True
    except Refused:  # not a call: the next ingestion quarantines it
        pass
    return False


def decode(name: str, data: bytes) -> Call:
    head, separator, _ = data[:HEADER_LIMIT].partition(b"\0\0")
    fields = head.split(b"\0")
    if not separator or fields[0] != MAGIC:
        raise NotACall("it does not begin like a recorded call")
    pairs = (part.decode("utf-8", "surrogateescape").partition("=") for part in fields[1:])
    return _call(name, {key: value for key, _, value in pairs}, data[len(head) + 2 :])


def set_aside(inbox: Path, name: str) -> None:
    """Quarantine a file that is not a call."""
    aside = inbox / "aside"
    files.make_private_directory(aside)
    try:
        os.rename(inbox / name, aside / name)
        files.sync_directory(aside)  # safeguard: sync-quarantined-calls
    except FileNotFoundError:
        pass
    except OSError as error:
        raise from_os_error(error) from error


def remove(inbox: Path, names: Iterable[str]) -> None:
    """Unlink calls whose events are committed. If a power cut brings one back, its id makes ingesting it a no-op."""
    with files.os_errors(inbox):
        directory = os.open(inbox, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=directory)
        finally:
            os.close(directory)


def clear_leftovers(inbox: Path, now: float) -> int:
    """Remove the temporary files of killed hooks, which were never acknowledged."""
    cleared = 0
    for name in os.listdir(inbox):
        parsed = _parse_name(name[1:]) if name.startswith(".") else None
        if parsed is None or now - _changed(inbox / name) < STALE:
            continue
        if parsed.boot != clock.boot()[:8] or not os.path.exists(f"/proc/{parsed.pid}"):
            files.remove(inbox / name)
            cleared += 1
    return cleared


def aside(inbox: Path) -> list[str]:
    place = inbox / "aside"
    return [] if os.path.islink(place) else sorted(_listing(place))  # a link could lead to another project's calls


class Failure(NamedTuple):
    """A failure of a hook, as shown to the user."""

    title: str
    time: datetime | None
    about: str  # the agent, the event, the error


def parse_failure(line: str) -> Failure:
    """Parse one line of the trouble file."""
    seconds, _, about = line.partition(" ")
    event = [*about.split(" ", 2), "", ""][1]
    time = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdecimal() and len(seconds) < 12 else None
    return Failure(f"A hook could not {FAILED.get(event, 'record a call')}", time, about)


def troubles(store: Path) -> list[str]:
    """Return the lines that failing hooks wrote, oldest first: a time in seconds, the agent, the event, the error."""
    data = files.read(store / "trouble") or b""
    lines = {line.decode("utf-8", "replace").strip(" \0") for line in data.split(b"\n")}
    return sorted(line for line in lines if line[:1].isdigit())


def _listing(directory: Path) -> list[str]:
    try:
        return [name for name in os.listdir(directory) if not name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise from_os_error(error) from error


def _parse_name(name: str) -> Name | None:
    parts = name.split("-")
    if len(parts) == 4 and parts[0].isdecimal() and parts[2].isdecimal():
        return Name(int(parts[0]), parts[1], int(parts[2]), name)
    return None


def is_call_name(name: str) -> bool:
    return "/" not in name and _parse_name(name) is not None


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _call(name: str, fields: dict[str, str], body: bytes) -> Call:
    return Call(
        name=name,
        agent=fields.get("agent", ""),
        event=fields.get("event", ""),
        time=clock.from_micros(_integer(fields.get("time")) // 1000),
        boot=fields.get("boot", ""),
        monotonic=_integer(fields.get("monotonic")),
        directory=fields.get("directory", ""),
        environment={key[4:]: value for key, value in fields.items() if key.startswith("env.")},
        process=_process(fields.get("client") or fields.get("parent", ""), fields.get("boot", "")),
        parent=_process(fields.get("parent", ""), fields.get("boot", "")),
        payload=parse(body) if body.strip() else None,
        size=len(body),
    )


def _process(text: str, boot: str) -> Process | None:
    """Parse `PID NAMESPACE STAT`, as the hook wrote it."""
    pid, _, rest = text.partition(" ")
    namespace, _, stat = rest.partition(" ")
    found = parse_stat(stat)
    return Process(_integer(pid), found[1], boot, namespace) if found else None


def _integer(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 20 else 0


def parse(data: bytes) -> Any:
    """Parse JSON; a value that is too deep or too dense to walk is returned as text.

    A lone surrogate, which some clients write, is replaced instead of refused.
    """
    try:
        if is_dense(data):
            _validate(data)
            return data.decode("utf-8", "replace")
        value = _parse(data)
    except UNREADABLE as error:
        raise NotACall(f"it is not JSON: {type(error).__name__}") from error
    if data.count(b"{") + data.count(b"[") > DEPTH and _is_deeper(value, DEPTH):
        return data.decode("utf-8", "replace")
    return value


def _parse(data: bytes) -> Any:
    with contextlib.suppress(*UNREADABLE):
        return _decode(data)
    import json  # slower, and more tolerant than the decoder above

    try:
        return sound(json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_float=_number))
    except MemoryError as error:
        raise ValueError("it is too large") from error


def _is_deeper(value: Any, depth: int) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth == 0 or any(_is_deeper(item, depth - 1) for item in inside if isinstance(item, (dict, list)))


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")
