"""Install hooks into a client's settings file, and restore the file byte for byte on removal.

Before a file is changed, a record with its old and new content is written to the user's own directory. So a killed
installation can be completed, and removal restores the original bytes. If the file was changed meanwhile, only our own
entries are removed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.agents.protocol import Installation, NotSettings, Place
from holdfast.core.errors import Busy, Refused
from holdfast.core.text import one_line, path_text, sound_text
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files, shared_files
from holdfast.system.safe_paths import real_path
from holdfast.system.shared_files import Generations

ATTEMPTS = 5
PATIENCE = 10.0
LIMIT = 4 * 1024 * 1024
# A directory that we made is in use, was never created, or may no longer be removed by us.
STAYS = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EBUSY)
LEFTOVER = re.compile(r"\.[0-9a-f]{12}(\.old)?")


class Record(Struct):
    """The content of a settings file before the installation and after it."""

    path: str
    original: bytes | None  # None: the file did not exist
    written: bytes
    made: list[bytes]  # directories that we created for it, the outermost first


class Changed(Struct):
    file: str
    events: dict[str, str]  # by event: our hook was `added`, `replaced` or `removed`
    exact: bool = True  # the file was restored byte for byte
    gone: bool = False  # we had created the file, so it was removed


def resolve(place: Place) -> Path:
    """The real path of a settings file, which may be a link."""
    real, border = real_path(place.path), real_path(place.border)
    if not real.startswith(border.rstrip("/") + "/"):  # safeguard: linked-settings
        raise Refused(
            "The agent's settings file is a link that leads out of the project",
            [("file", place.path), ("leads to", real)],
            ["`holdfast init --print` shows what to put there by hand"],
        )
    return Path(real)


def read(place: Place) -> str:
    """The text of a settings file; empty if it does not exist. A text in another format is refused."""
    path = resolve(place)
    return _text(place, path, files.read(path, LIMIT))


def has_lost(place: Place) -> bool:
    """True if our hooks were installed into this file and removed from it without an uninstall."""
    try:
        record = _load(place.state, resolve(place))
        had_hooks = record is not None and place.format.has_hooks(_text(place, place.path, record.written))
        return had_hooks and not place.format.has_hooks(read(place))
    except (Refused, OSError):  # an unreadable file is no evidence
        return False


def install(installation: Installation) -> Changed:
    """Edit a settings file as planned. Existing entries stay; an older form of ours is replaced."""
    place = installation.place
    path = resolve(place)
    with _locked(place.state):
        for record, before in _attempts(place, path):
            after, events = installation.edit(_text(place, path, before))
            if not events:
                return Changed(path_text(path), {})
            original, made = _origin(place, path, before, record)
            _note(place.state, path, Record(path_text(path), original, after.encode(), made))
            if _write(place, path, before, after.encode(), made):
                return Changed(
                    path_text(path), {sound_text(event): done for event, done in events.items()}, exact=False
                )
    raise _contested(path)


def _attempts(place: Place, path: Path) -> Iterator[tuple[Record | None, bytes | None]]:
    """The record and the content of a file, read again for each retry after a concurrent change."""
    for _ in range(ATTEMPTS):
        record = _load(place.state, path)
        shared_files.settle(path)
        _clear_leftovers(path, record)
        yield record, files.read(path, LIMIT)


def uninstall(place: Place) -> Changed:
    """Restore the original file; if it was changed since, remove only our entries."""
    path = resolve(place)
    with _locked(place.state):
        for record, before in _attempts(place, path):
            text = _text(place, path, before)
            events = {sound_text(event): "removed" for event in place.format.found_in(text)}
            exact = record is not None and before in (record.written, record.original)
            original, made = _origin(place, path, before, record)
            put_back = place.format.put_back(text, _text(place, path, original))
            events |= dict.fromkeys(map(sound_text, put_back), "put back")
            if before != original:
                assert before is not None
                _note(place.state, path, Record(path_text(path), original, before, made))
                if not exact:
                    Generations(place.state / "generations").keep(path, before)
                if original is None:
                    theirs = shared_files.remove_shared(path, before)
                else:
                    theirs = shared_files.replace_shared(path, before, original)
                if theirs is not None:  # another process changed the file at the same time
                    continue
            _finish(place.state, path, made)
            return Changed(path_text(path), events, exact or not events, gone=original is None)
    raise _contested(path)


def _text(place: Place, path: Path, data: bytes | None) -> str:
    try:
        text = (data or b"").decode()
        place.format.found_in(text)
        return text
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it is not UTF-8") from error
    except NotSettings as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: Path, why: str) -> Refused:
    return Refused(
        "The agent's settings file cannot be parsed, and was left unchanged",
        [("file", path), ("because", one_line(why, 200))],
        ["correct it, then run the command again", "`holdfast init --print` shows what to put there by hand"],
    )


def _contested(path: Path) -> Busy:
    return Busy("Another process keeps changing the agent's settings file", [("file", path)], ["run the command again"])


def _origin(place: Place, path: Path, before: bytes | None, record: Record | None) -> tuple[bytes | None, list[bytes]]:
    """The content of the file without our entries (None: no file), and the directories that we created for it."""
    made = record.made if record else _missing(path.parent)
    if record is not None and before == record.written:
        return record.original, made
    if before is None:
        return None, made
    earlier = _text(place, path, record.original) if record else ""
    text = place.format.without_hooks(_text(place, path, before), earlier)
    made_by_us = record is not None and record.original is None
    return (None if made_by_us and place.format.is_empty(text) else text.encode()), made


def _missing(directory: Path) -> list[bytes]:
    found = []
    while not directory.exists():
        found.append(os.fsencode(directory))
        directory = directory.parent
    return found[::-1]


def _write(place: Place, path: Path, before: bytes | None, after: bytes, made: list[bytes]) -> bool:
    if before is not None:
        Generations(place.state / "generations").keep(path, before)
    with files.os_errors(path):
        for directory in made:
            with contextlib.suppress(FileExistsError):
                os.mkdir(directory)
                files.sync_directory(Path(os.fsdecode(directory)).parent)  # safeguard: sync-settings-directory
    return shared_files.replace_shared(path, before, after, place.mode) is None


def _finish(state: Path, path: Path, made: list[bytes]) -> None:
    for directory in reversed(made):
        with files.os_errors(os.fsdecode(directory)):
            try:
                os.rmdir(directory)
            except OSError as error:
                if error.errno not in STAYS:  # the record stays too, so that a retry is possible
                    raise
            else:
                files.sync_directory(Path(os.fsdecode(directory)).parent)
    files.remove(_record_path(state, path))


def _clear_leftovers(path: Path, record: Record | None) -> None:
    """Remove temporary files that a killed process left next to the file: only prefixes of the old or new content."""
    if record is None or not path.parent.is_dir():
        return
    known = (record.original or b"", record.written)
    for name in os.listdir(path.parent):
        if name.startswith(f".{path.name}.") and LEFTOVER.fullmatch(name.removeprefix(f".{path.name}")):
            data = files.read(path.parent / name, LIMIT)
            if data is not None and any(whole.startswith(data) for whole in known):
                files.remove(path.parent / name)


@contextlib.contextmanager
def _locked(state: Path) -> Iterator[None]:
    for directory in (state, state / "installed"):
        files.make_private_directory(directory)
    with files.lock(state / "installed" / "lock", PATIENCE):  # safeguard: lock-agent-settings
        yield


def _record_path(state: Path, path: Path) -> Path:
    return state / "installed" / f"{files.digest(os.fsencode(path))[:32]}.json"


def _note(state: Path, path: Path, record: Record) -> None:
    files.write(_record_path(state, path), msgspec.json.encode(record), files.PRIVATE_FILE)


def _load(state: Path, path: Path) -> Record | None:
    try:
        return msgspec.json.decode(files.read(_record_path(state, path)) or b"", type=Record)
    except (*UNREADABLE, Refused):
        return None
