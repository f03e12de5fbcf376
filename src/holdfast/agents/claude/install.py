"""Putting our calls into an agent's settings file, and giving the file back as it was.

Before a file is touched, a record in the user's own directory says what it held and what it will hold. So whoever
comes after a kill can finish, and taking out again gives back the very bytes, unless somebody else has changed the file
meanwhile: then only our own calls go.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from holdfast.agents.claude import settings_file
from holdfast.agents.claude.hooks import Handler
from holdfast.agents.claude.settings_file import NotSettings
from holdfast.core.errors import Busy, Refused
from holdfast.core.text import one_line, path_text, sound_text
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files, shared_files
from holdfast.system.file_copies import Generations
from holdfast.system.git.command import find_program
from holdfast.system.safe_paths import real_path

ATTEMPTS = 5
PATIENCE = 10.0
LIMIT = 4 * 1024 * 1024
# Somebody has put something into a directory of ours, it never came to be, or it is not ours to remove any more.
STAYS = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EBUSY)
LEFTOVER = re.compile(r"\.[0-9a-f]{12}(\.old)?")


class Record(Struct):
    """What a settings file held before us, and what we wrote into it."""

    path: str
    original: bytes | None  # None: there was no such file
    written: bytes
    made: list[bytes]  # directories that were not there either, the outermost first


class Changed(Struct):
    """What became of one settings file."""

    file: str
    events: dict[str, str]  # the event, and whether our call was `added`, `replaced` or `removed`
    exact: bool = True  # the file is now what it was before, byte for byte
    gone: bool = False  # we had made it, so it went


class Place(Struct, frozen=True):
    """A settings file, the directory that it must not lead out of, and where the user's own records are."""

    path: Path
    border: Path
    state: Path
    mode: int = files.PRIVATE_FILE  # of the file, where it is made

    def resolved(self) -> Path:
        """The file itself, where its name is a link."""
        real, border = real_path(self.path), real_path(self.border)
        if not real.startswith(border.rstrip("/") + "/"):
            raise Refused(
                "The agent's settings file is a link that leads out of the project",
                [("file", self.path), ("leads to", real)],
                ["`holdfast init --print` shows what to put there by hand"],
            )
        return Path(real)


def config_directory(environ: Mapping[str, str]) -> Path:
    """Where Claude Code keeps what belongs to the user."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"))


def is_used(root: Path, environ: Mapping[str, str]) -> bool:
    """Whether anything tells that Claude Code is used in a project, or by this user."""
    if (root / ".claude").is_dir() or config_directory(environ).is_dir():
        return True
    return find_program("claude", environ.get("PATH", os.defpath), str(root)) is not None


def place_of(scope: str, root: Path, environ: Mapping[str, str], state: Path) -> Place:
    if scope == "user":
        directory = config_directory(environ)
        home = Path(environ.get("HOME") or os.path.expanduser("~"))
        return Place(directory / "settings.json", home if home in directory.parents else directory, state)
    if scope == "local":
        return Place(root / ".claude" / "settings.local.json", root, state)
    return Place(root / ".claude" / "settings.json", root, state, _common_mode())  # it is meant to be committed


def _common_mode() -> int:
    """The mode of a file that is not the user's alone, as the umask has it."""
    umask = os.umask(0o077)  # it can only be asked by setting it; what another thread makes meanwhile is too private
    os.umask(umask)
    return 0o666 & ~umask


def read_settings(path: Path) -> dict[str, Any]:
    """What a settings file says; nothing where there is none."""
    return _settings(path, files.read(path, LIMIT))


def has_lost(place: Place) -> bool:
    """Whether our calls were put into this file and are gone from it, though nobody has asked us to take them out."""
    try:
        path = place.resolved()
        record = _load(place.state, path)
        had_calls = record is not None and settings_file.called(_settings(path, record.written))
        return bool(had_calls) and not settings_file.called(read_settings(path))
    except (Refused, OSError):  # what cannot be read says nothing
        return False


def install(
    place: Place,
    calls: dict[str, Handler] | None,
    line: Handler | None = None,
    is_unwanted: settings_file.Wanted | None = None,
) -> Changed:
    """Put our calls in, and our status line; take handlers out that are unwanted beside ours. Without calls, only that.

    What is there already is left, an older form of ours is replaced.
    """
    path = place.resolved()
    with _locked(place.state):
        for record, before in _attempts(place, path):
            _settings(path, before)
            after, events = (before or b"").decode(), dict[str, str]()
            if is_unwanted is not None:
                after, dropped = settings_file.without_handlers(after, is_unwanted)
                events = dict.fromkeys(dropped, "replaced")
            if calls is not None:
                after, added = settings_file.with_calls(after, calls)
                events = added | events
            if line is not None:
                after, drawn = settings_file.with_status_line(after, line)
                events |= {settings_file.LINE: drawn} if drawn else {}
            if not events:
                return Changed(path_text(path), {})
            original, made = _origin(path, before, record)
            _note(place.state, path, Record(path_text(path), original, after.encode(), made))
            if _write(place, path, before, after.encode(), made):
                return Changed(
                    path_text(path), {sound_text(event): done for event, done in events.items()}, exact=False
                )
    raise _contested(path)


def _attempts(place: Place, path: Path) -> Iterator[tuple[Record | None, bytes | None]]:
    """What we know of a file and what it holds, as often as somebody else may write it in between."""
    for _ in range(ATTEMPTS):
        record = _load(place.state, path)
        shared_files.settle(path)
        _clear_leftovers(path, record)
        yield record, files.read(path, LIMIT)


def uninstall(place: Place) -> Changed:
    """Give the file back as it was, or take only our calls out where somebody has changed it."""
    path = place.resolved()
    with _locked(place.state):
        for record, before in _attempts(place, path):
            events = {sound_text(event): "removed" for event in settings_file.found_in(_settings(path, before))}
            exact = record is not None and before in (record.written, record.original)
            original, made = _origin(path, before, record)
            events |= dict.fromkeys(_put_back(path, before, original), "put back")
            if before != original:
                assert before is not None
                _note(place.state, path, Record(path_text(path), original, before, made))
                if not exact:
                    Generations(place.state / "generations").keep(path, before)
                if not _give_back(path, before, original):
                    continue
            _finish(place.state, path, made)
            return Changed(path_text(path), events, exact or not events, gone=original is None)
    raise _contested(path)


def _put_back(path: Path, before: bytes | None, original: bytes | None) -> list[str]:
    """The events whose handlers `install` had taken out."""
    now, then = (_settings(path, data).get("hooks", {}) for data in (before, original))
    return [
        sound_text(event) for event, groups in then.items() if any(group not in now.get(event, []) for group in groups)
    ]


def _settings(path: Path, data: bytes | None) -> dict[str, Any]:
    try:
        return settings_file.parse((data or b"").decode())
    except UnicodeDecodeError as error:
        raise _unreadable(path, "it is not UTF-8") from error
    except NotSettings as error:
        raise _unreadable(path, str(error)) from error


def _unreadable(path: Path, why: str) -> Refused:
    return Refused(
        "The agent's settings file cannot be understood, and was left as it is",
        [("file", path), ("because", one_line(why, 200))],
        ["mend it, then run the command again", "`holdfast init --print` shows what to put there by hand"],
    )


def _contested(path: Path) -> Busy:
    return Busy("Somebody else keeps changing the agent's settings file", [("file", path)], ["run the command again"])


def _origin(path: Path, before: bytes | None, record: Record | None) -> tuple[bytes | None, list[bytes]]:
    """What the file is without us, and which directories we made for it."""
    made = record.made if record else _missing(path.parent)
    if record is not None and before == record.written:
        return record.original, made
    if before is None:
        return None, made
    _settings(path, before)
    earlier = _settings(path, record.original) if record else {}
    text = settings_file.without_calls(before.decode(), earlier)
    made_by_us = record is not None and record.original is None
    return (None if made_by_us and settings_file.parse(text) == {} else text.encode()), made


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
                files.sync_directory(Path(os.fsdecode(directory)).parent)
    return shared_files.replace_shared(path, before, after, place.mode) is None


def _give_back(path: Path, before: bytes, original: bytes | None) -> bool:
    """False where somebody else has changed the file in this very moment."""
    if original is None:
        return shared_files.remove_shared(path, before) is None
    return shared_files.replace_shared(path, before, original) is None


def _finish(state: Path, path: Path, made: list[bytes]) -> None:
    for directory in reversed(made):
        with files.os_errors(os.fsdecode(directory)):
            try:
                os.rmdir(directory)
            except OSError as error:
                if error.errno not in STAYS:  # the record stays too, so that it can be tried again
                    raise
            else:
                files.sync_directory(Path(os.fsdecode(directory)).parent)
    files.remove(_record_path(state, path))


def _clear_leftovers(path: Path, record: Record | None) -> None:
    """Remove what a kill left beside the file: a part of what we had, or wanted to have, there. Nothing else goes."""
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
    with files.lock(state / "installed" / "lock", PATIENCE):
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
