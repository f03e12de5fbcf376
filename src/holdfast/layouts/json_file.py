"""JSON files that another system writes too: tolerant reading, and writing by splicing.

Only members of the root object are replaced or added; every other byte stays. A file with duplicate keys, or with
numbers that JSON does not have, would lose something when it is written: it is only read.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from holdfast.core.errors import Busy, Damaged, Refused, Trouble
from holdfast.core.formats import json_edit, json_limits
from holdfast.core.text import one_line, path_text
from holdfast.system import files, shared_files

WHITE = re.compile(r"[ \t\r\n]*")
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
    """A version that was read, with the offsets that the next one is spliced at."""

    text: str
    members: list[Member]
    opening: int  # of the root's braces
    closing: int
    flaws: list[str]
    root: Path | None = None  # no link may lead out of it


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
    scan = _Scan(text)
    try:
        value = scan.root()
    except json.JSONDecodeError as error:
        why = f"Invalid JSON at line {error.lineno}: {one_line(error.msg, 80)}"
        raise Unreadable(path, why) from error
    except RecursionError as error:
        raise _too_deep(path) from error
    if not isinstance(value, dict):
        raise Unreadable(path, f"It holds {_kind_of(value)} where an object belongs")
    if json_limits.is_deeper(value):
        raise _too_deep(path)
    return JsonFile(path, data, value, text, scan.members, scan.opening, scan.closing, scan.flaws, root)


def _bytes_of(path: Path, limit: int, root: Path | None) -> bytes:
    try:
        data = files.read(path, limit, root)
    except Trouble as error:
        raise Unreadable(path, error.message, is_denied=isinstance(error.__cause__, PermissionError)) from error
    except Refused as error:
        raise Unreadable(path, error.message) from error
    if data is None:
        raise Unreadable(path, "There is no such file", is_missing=True)
    return data


def _too_deep(path: Path) -> Unreadable:
    return Unreadable(path, "It is nested too deeply")


def _kind_of(value: object) -> str:
    if value is None:
        return "null"
    return "an array" if isinstance(value, list) else "a single value"


class _Scan:
    """One pass over a root object: the offsets of its members, and the flaws for which it cannot be written."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.members: list[Member] = []
        self.flaws: list[str] = []
        self.opening = self.closing = 0
        self.inside: tuple[str, int] | None = None  # the member that is being read, and its offset
        self.decoder = json.JSONDecoder(
            object_pairs_hook=self._object,
            parse_constant=self._no_number,
            parse_float=self._float,
            parse_int=self._whole,
        )

    def root(self) -> object:
        at = self.opening = self._past_white(int(self.text.startswith(json_edit.MARK)))
        if not self.text.startswith("{", at):
            value, end = self.decoder.raw_decode(self.text, at)
            self._expect_end(end)
            return value
        pairs = list(self._pairs(self._past_white(at + 1)))
        self._expect_end(self.closing + 1)
        self.inside = None
        return self._object(pairs)

    def _pairs(self, at: int) -> Iterator[tuple[str, Any]]:
        mark = self.text[at : at + 1]
        while mark != "}":
            if not self.text.startswith('"', at):
                raise self._wrong("Expecting property name enclosed in double quotes", at)
            name, end = self.decoder.raw_decode(self.text, at)
            self.inside = name, at
            begin = self._past_white(self._past(":", end))
            value, end = self.decoder.raw_decode(self.text, begin)
            self.members.append(Member(name, at, begin, end))
            yield name, value
            at = self._past_white(end)
            mark = self.text[at : at + 1]
            if mark != "}":
                at = self._past_white(self._past(",", at))
        self.closing = at

    def _past(self, mark: str, at: int) -> int:
        at = self._past_white(at)
        if not self.text.startswith(mark, at):
            raise self._wrong(f"Expecting '{mark}' delimiter", at)
        return at + 1

    def _past_white(self, at: int) -> int:
        found = WHITE.match(self.text, at)
        return found.end() if found else at

    def _expect_end(self, at: int) -> None:
        if (at := self._past_white(at)) != len(self.text):
            raise self._wrong("Extra data", at)

    def _wrong(self, message: str, at: int) -> json.JSONDecodeError:
        return json.JSONDecodeError(message, self.text, at)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            for name, times in Counter(name for name, _ in pairs).items():
                if times > 1:
                    self._flaw(f"the key {one_line(name, 60)} stands {times} times in one object")
        return found

    def _float(self, digits: str) -> float | None:
        number = float(digits)
        if math.isfinite(number):
            return number
        self._no_number(digits)
        return None

    def _whole(self, digits: str) -> int | None:
        try:
            return int(digits)
        except ValueError:  # Python limits the digits of an integer
            self._no_number(digits)
            return None

    def _no_number(self, word: str) -> None:
        self._flaw(f"{one_line(word, 20)} is no number that JSON programs can read")

    def _flaw(self, what: str) -> None:
        if len(self.flaws) == FLAWS:
            return
        where = "at the root"
        if self.inside:
            name, at = self.inside
            where = f"in {one_line(name, 60)}, which begins at line {self.text.count(chr(10), 0, at) + 1}"
        self.flaws.append(f"{what}, {where}")


def with_members(file: JsonFile, changes: dict[str, object]) -> bytes:
    """Return the file's bytes with members of its root replaced, and new ones added at the end."""
    form, inner, outer = _form(file)
    colon = ": " if form.airy else ":"
    there = {member.name: member for member in file.members}
    new = [
        json.dumps(name) + colon + json_edit.rendered(value, inner, form)
        for name, value in changes.items()
        if name not in there
    ]
    spliced = [
        json_edit.Splice(member.value, member.end, json_edit.rendered(changes[name], inner, form))
        for name, member in there.items()
        if name in changes
    ]
    return json_edit.with_splices(file.text, spliced + ([_addition(file, new, form, inner, outer)] if new else []))


def as_bytes(value: dict[str, Any]) -> bytes:
    """Encode a file that is written as a whole. Members of other programs may contain lone surrogates."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _form(file: JsonFile) -> tuple[json_edit.Form, str | None, str]:
    """The root's format, its members' indentation (None if they are on one line), and its own indentation."""
    outer = json_edit.margin(file.text, file.opening)
    first = file.members[0].start if file.members else None
    is_spread = first is None or "\n" in file.text[file.opening : first]
    inner = json_edit.margin(file.text, first) if is_spread and first is not None else outer + "  "
    unit = inner.removeprefix(outer) or "  "
    return json_edit.form_of(file.text, unit), inner if is_spread else None, outer


def _addition(file: JsonFile, new: list[str], form: json_edit.Form, inner: str | None, outer: str) -> json_edit.Splice:
    gap = form.line + inner if inner is not None else " " if form.airy else ""
    written = f",{gap}".join(new)
    if file.members:
        at = file.members[-1].end
        return json_edit.Splice(at, at, f",{gap}{written}")
    return json_edit.Splice(file.opening + 1, file.closing, f"{gap}{written}{form.line}{outer}")


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
