"""Trust in the files of a repository that name commands to run.

FABER's workflows name commands, and settings of an agent name the programs of hooks. Nothing in such a file is run
before the user has seen it at a terminal and granted trust. A change of one byte in it, or in a file that its commands
name, revokes the grant. Grants are in the user's own directory, one for each file by its real path in this project; a
grant that came with a repository, or that another user can write, is ignored.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.text import one_line, path_text, sound_text
from holdfast.journal.codec import read_record
from holdfast.project import settings
from holdfast.project.workspace import Workspace
from holdfast.system import files, safe_paths
from holdfast.system.safe_paths import real_path

WAITING, TRUSTED, CHANGED = "waiting", "trusted", "changed"
FILE_LIMIT = 1024 * 1024
SCRIPT_LIMIT = 16 * 1024 * 1024
MOST_TEXT = 20_000  # characters of a named file that are shown
PLACEHOLDER = re.compile(r"\{(\w+)\}")
LONGEST = 4096  # characters of a command
SLASH = re.compile(r"/[A-Za-z][\w:.-]*")
OWN = "project_root"  # the only placeholder with a value of ours
SPLITTING = "();<>|&`"  # characters that end a word in a shell, besides blanks
MOST_LINKS = 40  # in the paths of one command; the system allows as many for one path
UNSTEADY = ("/proc", "/dev/fd")  # below which a path is different for each process


class Executable(NamedTuple):
    """A file that can name commands, and its parser."""

    path: Path
    kind: str  # `workflow`, `hooks` or `settings`
    read: Callable[[bytes], list[tuple[str, str]]]  # returns (artifact or event, command or program)
    is_program: bool = False  # it names programs instead of commands


class Order(Struct):
    artifact: str  # or the event of a hook
    command: str  # the literal text
    why_not: str | None = None  # the reason why it never runs, even if trusted


class Named(Struct):
    """A file of the project that is a word of a command."""

    path: str
    sha256: str
    text: str
    cut: bool  # the text is truncated


class Brought(Struct):
    """A file that names commands, and the state of its grant."""

    path: str
    kind: str  # `workflow`, `hooks` or `settings`
    state: str  # `waiting`, `trusted`, or `changed` since it was trusted
    digest: str
    orders: list[Order]
    files: list[Named]

    @property
    def can_run(self) -> bool:
        return any(order.why_not is None for order in self.orders)


class Verdict(Struct):
    """The words of a command that may run, or the reason why it may not."""

    words: list[str]
    why: str = ""
    hint: str = ""


def grants_of(workspace: Workspace) -> Grants:
    common = workspace.place.parent
    borders = [workspace.root, common, *([common.parent] if common.name == ".git" else [])]
    return Grants(settings.own_directory() / "trust", borders)


def key(workspace: Workspace, path: Path) -> tuple[str, str]:
    """Return the key of a grant: the real paths of the project and of the file."""
    return path_text(real_path(workspace.root)), path_text(real_path(path))


def allowed(workspace: Workspace, file: Executable) -> list[str]:
    found = look(workspace, file)
    return [] if found is None or found.state != TRUSTED else [order.command for order in found.orders]


def look(workspace: Workspace, file: Executable) -> Brought | None:
    """Parse the commands of a file, and check its grant; None if the file cannot be read."""
    data = _read(real_path(file.path), FILE_LIMIT)
    if data is None:
        return None
    orders, named = _orders(workspace.root, file, data)
    root, real = key(workspace, file.path)
    parts = [part.encode() for each in named for part in (each.path, each.sha256)]
    # safeguard: changed-script, digest-of-never-runs
    found = digest([root.encode(), real.encode(), data, *parts, *_never(orders)])
    grant = grants_of(workspace).find(root, real)
    # safeguard: changed-workflow
    state = WAITING if grant is None else TRUSTED if holds(grant, found, orders) else CHANGED
    return Brought(path_text(file.path), file.kind, state, found, orders, named)


def holds(grant: Grant, found: str, orders: Iterable[Order]) -> bool:
    """True if the grant covers all that can run: the same bytes, and no command that was shown as never running."""
    # safeguard: ungranted-command
    return grant.digest == found and all(order.command in grant.commands for order in orders if order.why_not is None)


def _never(orders: Iterable[Order]) -> Iterator[bytes]:
    """Return the commands shown as never running, with the reasons, which depend on files of the project."""
    for number, order in enumerate(orders):
        if order.why_not:
            yield from (f"\0{number}".encode(), order.why_not.encode())  # no path begins with NUL


def judge(workspace: Workspace, definitions: Iterable[Executable], command: str, values: dict[str, str]) -> Verdict:
    """Decide if a command of a workflow, in one of these definitions and with these values, may run."""
    try:
        words = split(command)
        filled = fill(words, values)
        # The literal words too: values might make a command fit, but the user was shown that it never runs.
        literal, named = (named_paths(each, workspace.root) for each in (words, filled))
    except Unfit as error:
        return Verdict([], f"it {error.why}")
    hint = "`holdfast trust` shows it and asks"
    for file in definitions:
        found = look(workspace, file)
        order = next((order for order in found.orders if order.command == command), None) if found else None
        if found is None or order is None:
            continue
        if found.state == CHANGED:
            return Verdict([], "it, or a file that it names, was changed since you trusted it", hint)
        if found.state == TRUSTED:  # safeguard: untrusted-command
            seen = {*literal, *(file.path for file in found.files)}
            # safeguard: unseen-file
            other = [name for name in named if name not in seen]
            why = f"it would use {one_line(other[0], 80)}, which you have not seen" if other else ""
            return Verdict([] if other else filled, why)
        if not is_inside(workspace, file.path):
            hint = f"`holdfast trust {shlex.quote(path_text(file.path))}` shows it and asks"
    return Verdict([], "a command of a project runs only if you trust it", hint)


def is_inside(workspace: Workspace, path: Path) -> bool:
    root, real = key(workspace, path)
    return real.startswith(root + os.sep)


def _orders(root: Path, file: Executable, data: bytes) -> tuple[list[Order], list[Named]]:
    """Return the commands of a file, and the files that they name, sorted by path."""
    orders: list[Order] = []
    found: dict[str, str] = {}
    for id, command in file.read(data):
        why = None
        try:
            named = {} if file.is_program else named_paths(split(command), root)
            found |= {path: full for path, full in named.items() if os.path.isfile(full)}
        except Unfit as error:
            why = error.why
        orders.append(Order(one_line(sound_text(id), 80), command, why))
    return orders, [_seen(path, full) for path, full in sorted(found.items())]


def _seen(path: str, full: str) -> Named:
    data = _read(full, SCRIPT_LIMIT)
    if data is None:  # too large or unreadable: no grant may ever match it
        return Named(path, os.urandom(32).hex(), "", cut=True)
    text = data[: MOST_TEXT * 4].decode("utf-8", "backslashreplace")
    return Named(path, files.digest(data), text[:MOST_TEXT], len(text) > MOST_TEXT or len(data) > MOST_TEXT * 4)


def _read(path: str, limit: int) -> bytes | None:
    try:
        return files.read(Path(path), limit)
    except HoldfastError:
        return None


class Grant(Struct):
    """The user's trust in a file that was shown."""

    root: str  # of the project
    path: str
    digest: str  # of the file, of all files that its commands name, and of the reasons why others never run
    time: datetime
    commands: list[str] = []  # that may run


class Grants:
    def __init__(self, directory: Path, borders: Iterable[Path]) -> None:
        """`borders` are directories with a repository's files: grants inside them are ignored."""
        self.directory = directory
        self._borders = [real_path(border) for border in borders]

    def find(self, root: str, path: str) -> Grant | None:
        found = self._load(self._place(root, path))
        # safeguard: grant-of-another-file
        return found if found is not None and (found.root, found.path) == (root, path) else None

    def put(self, grant: Grant) -> None:
        if not self._is_safe():
            facts = [("directory", path_text(self.directory))]
            hints = ["set HOME to your own home directory"]
            raise Refused("Trust cannot be stored inside the project that asks for it", facts, hints)
        files.make_private_directory(self.directory.parent)
        files.make_private_directory(self.directory)
        files.write(self._place(grant.root, grant.path), msgspec.json.encode(grant), files.PRIVATE_FILE)

    def remove(self, grant: Grant) -> None:
        files.remove(self._place(grant.root, grant.path))

    def every(self) -> list[Grant]:
        names = sorted(os.listdir(self.directory)) if self.directory.is_dir() else []
        found = [self._load(self.directory / name) for name in names if not name.startswith(".")]
        return sorted((grant for grant in found if grant is not None), key=lambda grant: (grant.root, grant.path))

    def _place(self, root: str, path: str) -> Path:
        return self.directory / digest([root.encode(), path.encode()])

    def _load(self, path: Path) -> Grant | None:
        with contextlib.suppress(OSError, HoldfastError):
            status = os.lstat(path)
            files.check_private(self.directory)
            # safeguard: grant-mode
            is_ours = status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
            if is_ours and self._is_safe():  # safeguard: grant-place
                return read_record(path, Grant, FILE_LIMIT)
        return None

    def _is_safe(self) -> bool:
        """True unless the directory is inside a repository, by a link or by a variable."""
        real = real_path(self.directory)
        return not any(real == border or real.startswith(border.rstrip(os.sep) + os.sep) for border in self._borders)


def digest(parts: Iterable[bytes]) -> str:
    """Hash several parts with their lengths, so that no other division into parts has the same digest."""
    found = sha256()
    for part in parts:
        found.update(len(part).to_bytes(8) + part)
    return found.hexdigest()


# The words of a command. No shell reads it. Values come from an untrusted state file, so each stays part of one word.


class Unfit(Exception):
    """A command that cannot be run, with the reason as the predicate of a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def split(command: str) -> list[str]:
    """Split a command into words, without expanding anything in them."""
    if len(command) > LONGEST:
        raise Unfit("is too long for a command")
    if "\0" in command:
        raise Unfit("contains a NUL")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Unfit("has a quote that is not closed") from error
    if not words or not words[0]:
        raise Unfit("names no program")
    if SLASH.fullmatch(words[0]):
        raise Unfit("is a slash command of the client, and only the client can run it")
    return words


def fill(words: Iterable[str], values: dict[str, str]) -> list[str]:
    """Replace placeholders. Each word stays one word, and becomes neither an option nor another path."""
    return [_filled(word, values) for word in words]


def _filled(word: str, values: dict[str, str]) -> str:
    for name in PLACEHOLDER.findall(word):
        if name not in values:
            raise Unfit(f"has the placeholder {one_line(name, 40)}, which has no value")
        if name != OWN and not ids.is_safe(values[name]):  # safeguard: filled-in-value
            raise Unfit(f"would hold {one_line(values[name], 80)}, which is not safe in a command")
    return PLACEHOLDER.sub(lambda found: values[found[1]], word)


def named_paths(words: Iterable[str], root: Path) -> dict[str, str]:
    """Return the existing files and directories of the project that are words of a command, with their real paths.

    The words of shell code inside a word count too, and the VALUE of `--option=VALUE`. Nothing is expanded.
    """
    top = safe_paths.real_path(os.fspath(root))
    links = itertools.count(1)
    full = [_follow(top, word, links) for word in dict.fromkeys(_plain_words(words, root, top)) if word]
    return {path_text(os.path.relpath(found, top)): found for found in sorted(filter(None, full))}


def _plain_words(words: Iterable[str], root: Path, top: str) -> Iterator[str]:
    places = [place for place in (f"{{{OWN}}}", str(root), top) if place != os.sep]
    here = re.compile("|".join(rf"{re.escape(place)}(?![\w.-])" for place in places))
    for word in words:
        relative = here.sub(os.curdir, word)
        # safeguard: script-in-shell-text
        for found in (relative, *_shell_words(relative)):
            # safeguard: script-behind-equals
            yield from (found, found.partition("=")[2])


def _shell_words(text: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=SPLITTING)
    lexer.whitespace_split, lexer.commenters = True, ""
    with contextlib.suppress(ValueError):  # a quote that is not closed
        yield from lexer


def _follow(top: str, path: str, links: Iterator[int]) -> str | None:
    """Resolve a path in the project; None if it does not exist, or is a path of the system."""
    here, rest, was_link = os.sep if os.path.isabs(path) else top, path.split(os.sep)[::-1], False
    is_ours = _is_below(top, here)
    while rest:
        name = rest.pop()
        here = os.path.dirname(here) if name == os.pardir else os.path.normpath(os.path.join(here, name))
        is_ours = is_ours or _is_below(top, here)
        # safeguard: name-unsteady
        if here in UNSTEADY:
            if is_ours or not was_link:
                raise Unfit(f"names {one_line(path_text(path), 80)}, which is another file for each process")
            return None
        with contextlib.suppress(OSError, ValueError):
            rest += os.readlink(here).split(os.sep)[::-1]
            here, was_link = os.sep if rest[-1] == "" else os.path.dirname(here), True
            # safeguard: name-limit
            if next(links) > MOST_LINKS:
                raise Unfit(f"names paths through more than {MOST_LINKS} links")
    # safeguard: filled-directory
    if not is_ours or not os.path.exists(here):
        return None
    parts = os.path.relpath(here, top).lower().split(os.sep)
    # safeguard: name-outside
    if not _is_below(top, here) or any(part in safe_paths.FORBIDDEN for part in parts):
        raise Unfit(f"names {one_line(path_text(path), 80)}, which leads out of the project")
    return here


def _is_below(top: str, full: str) -> bool:
    return full == top or full.startswith(top.rstrip(os.sep) + os.sep)
