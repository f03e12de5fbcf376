"""JSON files that another system writes too: tolerant reading, and writing by splicing.

Only members of the root object are replaced or added; every other byte stays. A file with duplicate keys, or with
numbers that JSON does not have, would lose something when it is written: it is only read.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from holdfast.core.errors import Busy, Damaged, Refused
from holdfast.core.formats import json_edit, json_limits
from holdfast.core.text import one_line, path_text
from holdfast.system import files, shared_files

KEY = re.compile(r'[\s,]*("(?:[^"\\]|\\.)*+")\s*:\s*')  # of a member, in a valid text
BLANK = json_edit.MARK + " \t\r\n"
LIMIT = 12 * 1024 * 1024  # bytes; one emoji makes four bytes of each in memory, where a text exists several times
FLAWS = 20  # that are reported
BACKUPS = 50  # that are read, the newest
NAMES = 10_000  # of files in a directory of backups


class Member(NamedTuple):
    """A member of the root: the offsets of its key, of its value, and of its end."""

    name: str
    start: int
    value: int
    end: int


class Version(Struct):
    """The content of a file at one moment."""

    path: Path
    data: bytes
    value: dict[str, Any]  # with None for values that JSON does not have, such as NaN


class JsonFile(Version):
    """A version that was read, from which the next one is spliced."""

    text: str
    flaws: list[str]
    root: Path | None = None  # no link may lead out of it

    @property
    def opening(self) -> int:
        """The offset of the root's first brace; the others are members' or the last one."""
        return self.text.index("{")

    @property
    def closing(self) -> int:
        return self.text.rindex("}")

    @property
    def members(self) -> list[Member]:
        """The members of the root. It is a second pass, as few files are written."""
        text, at, found = self.text, self.opening + 1, list[Member]()
        decoder = json.JSONDecoder(parse_int=str)  # Python limits the digits of an integer
        while key := KEY.match(text, at):
            at = decoder.raw_decode(text, key.end())[1]
            found.append(Member(json.loads(key[1]), key.start(1), key.end(), at))
        return found


class Unreadable(Damaged):
    """A file without a JSON object in it, or one that cannot be read. `why` is one line."""

    def __init__(self, path: Path, why: str, *, is_missing: bool = False, is_denied: bool = False) -> None:
        super().__init__(f"A file cannot be read: {why}", [("path", path_text(path))])
        self.path, self.why = path, why
        self.is_missing, self.is_denied = is_missing, is_denied

    def remedy(self, repair: str) -> str:
        """The hint: `repair`, unless only the read permission is missing."""
        if not self.is_denied:
            return repair
        place = shlex.quote(path_text(self.path))
        own = os.path.lexists(self.path) and os.lstat(self.path).st_uid == os.geteuid()
        return f"`chmod u+r {place}` lets you read it" if own else f"`ls -l {place}` names its owner"


class Changed(Busy):
    """A concurrent write by another program: `theirs` is the content now, or None if the file is gone."""

    def __init__(self, path: Path, theirs: bytes | None) -> None:
        hints = ["run the command again"]
        super().__init__("Somebody else changed the file at the same moment", [("path", path_text(path))], hints)
        self.theirs = theirs


def read_json(path: Path, limit: int = LIMIT, root: Path | None = None) -> JsonFile:
    """Read the JSON object in a file, or raise Unreadable. No link may lead out of the root."""
    return parse_json(path, _bytes_of(path, limit, root), root)


def parse_json(path: Path, data: bytes, root: Path | None = None) -> JsonFile:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Unreadable(path, f"It is not UTF-8 at byte {error.start:,}") from error
    if not text.strip(BLANK):
        raise Unreadable(path, "The file is empty")
    if json_limits.is_dense(data):
        raise Unreadable(path, f"It holds more than {json_limits.MOST:,} values")
    decoder = _Decoder()
    try:
        value = decoder.decode(text.removeprefix(json_edit.MARK))
    except json.JSONDecodeError as error:
        why = f"Invalid JSON at line {error.lineno}: {one_line(error.msg, 80)}"
        raise Unreadable(path, why) from error
    except RecursionError as error:
        raise _too_deep(path) from error
    if not isinstance(value, dict):
        kind = {list: "an array", type(None): "null"}.get(type(value), "a single value")
        raise Unreadable(path, f"It holds {kind} where an object belongs")
    if json_limits.is_deeper(value):
        raise _too_deep(path)
    file = JsonFile(path, data, value, text, [], root)
    if decoder.flaws:
        file.flaws = list(itertools.islice(_located_flaws(file), FLAWS))
    return file


def _bytes_of(path: Path, limit: int, root: Path | None) -> bytes:
    try:
        data = files.read(path, limit, root)
    except Refused as error:
        raise Unreadable(path, error.message, is_denied=isinstance(error.__cause__, PermissionError)) from error
    if data is None:
        raise Unreadable(path, "There is no such file", is_missing=True)
    return data


def _too_deep(path: Path) -> Unreadable:
    return Unreadable(path, "It is nested too deeply")


class _Decoder(json.JSONDecoder):
    """A decoder that notes the flaws for which a file cannot be written."""

    def __init__(self) -> None:
        self.flaws: list[str] = []
        super().__init__(
            object_pairs_hook=self._object,
            parse_constant=self._no_number,
            parse_float=self._float,
            parse_int=self._whole,
        )

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            self.flaws += _repeated(name for name, _ in pairs)
        return found

    def _float(self, digits: str) -> float | None:
        number = float(digits)
        return number if math.isfinite(number) else self._no_number(digits)

    def _whole(self, digits: str) -> Any:
        try:
            return int(digits)
        except ValueError:  # Python limits the digits of an integer
            return self._no_number(digits)

    def _no_number(self, word: str) -> Any:
        """Note it; its value is None."""
        self.flaws.append(f"{one_line(word, 20)} is no number that JSON programs can read")


def _repeated(names: Iterable[str]) -> Iterator[str]:
    for name, times in Counter(names).items():
        if times > 1:
            yield f"the key {one_line(name, 60)} stands {times} times in one object"


def _located_flaws(file: JsonFile) -> Iterator[str]:
    """The flaws of a file, each with its place. It is a second pass, as few files have any."""
    text, members = file.text, file.members
    for member in members:
        decoder = _Decoder()
        decoder.raw_decode(text, member.value)
        line = text.count("\n", 0, member.start) + 1
        yield from (f"{flaw}, in {one_line(member.name, 60)}, which begins at line {line}" for flaw in decoder.flaws)
    yield from (f"{flaw}, at the root" for flaw in _repeated(member.name for member in members))


def with_members(file: JsonFile, changes: dict[str, object]) -> bytes:
    """Return the file's bytes with members of its root replaced, and new ones added at the end."""
    text, members = file.text, file.members
    form, inner, outer = _form(text, file.opening, members)
    spliced = [
        json_edit.Splice(member.value, member.end, json_edit.rendered(changes[member.name], inner, form))
        for member in members
        if member.name in changes
    ]
    there, colon = {member.name for member in members}, ": " if form.airy else ":"
    new = [
        json.dumps(name) + colon + json_edit.rendered(value, inner, form)
        for name, value in changes.items()
        if name not in there
    ]
    if new:
        gap = form.line + inner if inner is not None else " " if form.airy else ""
        written = f"{gap}" + f",{gap}".join(new)
        if members:
            spliced.append(json_edit.Splice(members[-1].end, members[-1].end, f",{written}"))
        else:
            spliced.append(json_edit.Splice(file.opening + 1, file.closing, f"{written}{form.line}{outer}"))
    return json_edit.with_splices(text, spliced)


def as_bytes(value: dict[str, Any]) -> bytes:
    """Encode a file that is written as a whole. Members of other programs may contain lone surrogates."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _form(text: str, opening: int, members: list[Member]) -> tuple[json_edit.Form, str | None, str]:
    """The root's format, its members' indentation (None if they are on one line), and its own indentation."""
    outer = json_edit.margin(text, opening)
    first = members[0].start if members else None
    is_spread = first is None or "\n" in text[opening:first]
    inner = json_edit.margin(text, first) if is_spread and first is not None else outer + "  "
    unit = inner.removeprefix(outer) or "  "
    return json_edit.form_of(text, unit), inner if is_spread else None, outer


def write_json(file: JsonFile, data: bytes, *, lock_deadline: float = 30.0) -> list[str]:
    """Replace a file by its next version, unless it has changed since it was read. Return warnings.

    A backup of the version that was read is written first. Every failure leaves one whole version in place.
    """
    check_writable(file)
    path, root = file.path, file.root
    # safeguard: lock-json-file
    with files.os_errors(path), files.lock(path.with_name(path.name + ".lock"), lock_deadline, path.name, root):
        if (found := files.read(path, root=root)) != file.data:
            raise Changed(path, found)
        warnings = _back_up(file)
        theirs = shared_files.replace_shared(path, file.data, data, root=root)
        if theirs is None and (found := files.read(path, root=root)) != data:
            raise Changed(path, found)
    if theirs is not None:
        raise Changed(path, theirs)
    return warnings


def check_writable(file: JsonFile) -> None:
    """Refuse a file that would lose something when it is written."""
    if file.flaws:
        raise Refused(
            "This file cannot be written without losing a part of it",
            [("path", path_text(file.path)), *(("flaw", flaw) for flaw in file.flaws)],
            ["mend it in an editor, then run the command again"],
        )


def _back_up(file: JsonFile) -> list[str]:
    path = file.path.with_name(file.path.name + ".backup")
    try:
        with files.os_errors(path):
            files.write(path, file.data, stat.S_IMODE(os.lstat(file.path).st_mode), file.root)
    except Refused as error:
        return [f"Could not create backup {path_text(path.name)}: {error.message}"]
    return []


def best_backup(path: Path, accept: Callable[[dict[str, Any]], bool], root: Path | None = None) -> list[JsonFile]:
    """List the readable and accepted backups of a file, under any of the names in use; newest first."""
    dated, names = [], (f"{path.name}.backup", f"{path.stem}.backup.json", f"{path.name}.bak")
    for place in [path.with_name(name) for name in names] + _dated_backups(path):
        with contextlib.suppress(OSError):
            dated.append((os.lstat(place).st_mtime_ns, place))
    dated.sort(key=lambda found: -found[0])
    found = []
    for _, place in dated[:BACKUPS]:
        with contextlib.suppress(Unreadable):
            file = read_json(place, root=root)
            if accept(file.value):
                found.append(file)
    return found


def _dated_backups(path: Path) -> list[Path]:
    directory = path.with_name("backups")
    if directory.is_symlink():
        return []
    found: list[Path] = []
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry, _ in zip(entries, range(NAMES), strict=False):
            if entry.name.startswith(f"{path.stem}_") and entry.name.endswith(".json"):
                found.append(directory / entry.name)
    return found


def object_of(value: Any) -> dict[str, Any]:
    """A value read tolerantly: one of another type counts as an empty object."""
    return value if isinstance(value, dict) else {}


def objects_of(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
