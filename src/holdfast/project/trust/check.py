"""What a repository brings that could run, and whether the user has allowed it.

FABER's workflows name commands, and settings of an agent name the programs of hooks. Until somebody has seen such a
file at a terminal and allowed it, nothing that it names is started. One changed byte of it, or of a file that it names,
and that holds no more. Grants lie in the user's own directory, one for each file, at its real path in this project; one
that a repository could have brought, or another user written, is worth nothing.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.text import one_line, path_text, sound_text
from holdfast.journal.codec import UNREADABLE
from holdfast.project import settings
from holdfast.project.trust import command_line
from holdfast.project.trust.command_line import Unfit, named_paths
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.safe_paths import real_path

WAITING, TRUSTED, CHANGED = "waiting", "trusted", "changed"
FILE_LIMIT = 1024 * 1024
SCRIPT_LIMIT = 16 * 1024 * 1024
MOST_TEXT = 20_000  # characters of a named file that are shown


class Executable(NamedTuple):
    """A file that may name something to be run, and how it is read."""

    path: Path
    kind: str  # `workflow`, `hooks` or `settings`
    read: Callable[[bytes], list[tuple[str, str]]]  # the commands or programs that it names, by artifact or event
    is_program: bool = False  # it names programs, and no commands with words


class Order(Struct):
    """A command that a file names."""

    artifact: str  # or the event of a hook
    command: str  # the literal text
    why_not: str | None = None  # why it never runs, whoever allows it


class Named(Struct):
    """A file of the project that a command names."""

    path: str
    sha256: str
    text: str
    cut: bool  # whether there is more of it


class Brought(Struct):
    """A file that brings something which could run."""

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
    """Whether a command may run: its words, or why not."""

    words: list[str]
    why: str = ""
    hint: str = ""


def grants_of(workspace: Workspace) -> Grants:
    """The user's grants, worth nothing where this repository could have brought them."""
    common = workspace.place.parent
    borders = [workspace.root, common, *([common.parent] if common.name == ".git" else [])]
    return Grants(settings.own_directory() / "trust", borders)


def key(workspace: Workspace, path: Path) -> tuple[str, str]:
    """By what a grant is known: the real paths of the project and of the file."""
    return path_text(real_path(workspace.root)), path_text(real_path(path))


def allowed(workspace: Workspace, file: Executable) -> list[str]:
    """The commands of a file that could run and that the user has allowed."""
    found = look(workspace, file)
    return [] if found is None or found.state != TRUSTED else [order.command for order in found.orders]


def look(workspace: Workspace, file: Executable) -> Brought | None:
    """The commands that a file brings; None where there are none, or it cannot be read."""
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
    """Whether all that could run is what was seen: the same bytes, and no command of which it was said otherwise."""
    # safeguard: ungranted-command
    return grant.digest == found and all(order.command in grant.commands for order in orders if order.why_not is None)


def _never(orders: Iterable[Order]) -> Iterator[bytes]:
    """What was said never to run, and why: that depends on what lies in the project, so it is part of what was seen."""
    for number, order in enumerate(orders):
        if order.why_not:
            yield from (f"\0{number}".encode(), order.why_not.encode())  # no path of a file begins so


def judge(workspace: Workspace, definitions: Iterable[Executable], command: str, values: dict[str, str]) -> Verdict:
    """Whether a command of a workflow may run, as one of these definitions names it and with these values filled in."""
    try:
        words = command_line.split(command)
        filled = command_line.fill(words, values)
        literal, named = (named_paths(each, workspace.root) for each in (words, filled))
    except Unfit as error:
        return Verdict([], f"it {error.why}")
    hint = "`holdfast trust` shows it and asks"
    for file in definitions:
        found = look(workspace, file)
        order = next((order for order in found.orders if order.command == command), None) if found else None
        if found is None or order is None:
            continue
        # safeguard: command-never-runs
        if order.why_not is not None:  # with other values it might run, but whoever allowed the rest was told otherwise
            return Verdict([], f"it {order.why_not}")
        if found.state == CHANGED:
            return Verdict([], "it was changed since you allowed it, or a file that it names was", hint)
        if found.state == TRUSTED:  # safeguard: untrusted-command
            seen = {*literal, *(file.path for file in found.files)}
            # safeguard: unseen-file
            other = [name for name in named if name not in seen]
            return Verdict([], _unseen(other[0])) if other else Verdict(filled)
        if not is_inside(workspace, file.path):
            hint = f"`holdfast trust {shlex.quote(path_text(file.path))}` shows it and asks"
    return Verdict([], "a command that a project names runs only where you have allowed it", hint)


def _unseen(path: str) -> str:
    return f"it would use {one_line(path, 80)}, which you have not seen"


def is_inside(workspace: Workspace, path: Path) -> bool:
    root, real = key(workspace, path)
    return real.startswith(root + os.sep)


def _orders(root: Path, file: Executable, data: bytes) -> tuple[list[Order], list[Named]]:
    """The commands that a file names, and the files that they name, by path, each with its text."""
    orders: list[Order] = []
    found: dict[str, str] = {}
    for id, command in file.read(data):
        why = None
        try:
            named = {} if file.is_program else named_paths(command_line.split(command), root)
            found |= {path: full for path, full in named.items() if os.path.isfile(full)}
        except Unfit as error:
            why = error.why
        orders.append(Order(one_line(sound_text(id), 80), command, why))
    return orders, [_seen(path, full) for path, full in sorted(found.items())]


def _seen(path: str, full: str) -> Named:
    data = _read(full, SCRIPT_LIMIT)
    if data is None:  # too large or unreadable: no byte of it is known, so no grant may ever fit
        return Named(path, os.urandom(32).hex(), "", cut=True)
    text = data[: MOST_TEXT * 4].decode("utf-8", "backslashreplace")
    return Named(path, files.digest(data), text[:MOST_TEXT], len(text) > MOST_TEXT or len(data) > MOST_TEXT * 4)


def _read(path: str, limit: int) -> bytes | None:
    try:
        return files.read(Path(path), limit)
    except HoldfastError:
        return None


class Grant(Struct):
    """That the user has seen a file and allowed what it brings."""

    root: str  # of the project
    path: str
    digest: str  # of the file, of all files that its commands name, and of why others never run
    time: datetime
    commands: list[str] = []  # that may run


class Grants:
    """All grants of this user."""

    def __init__(self, directory: Path, borders: Iterable[Path]) -> None:
        """`borders` are directories that a repository fills: what lies inside of them is nobody's word."""
        self.directory = directory
        self._borders = [real_path(border) for border in borders]

    def find(self, root: str, path: str) -> Grant | None:
        found = self._load(self._place(root, path))
        # safeguard: grant-of-another-file
        return found if found is not None and (found.root, found.path) == (root, path) else None

    def put(self, grant: Grant) -> None:
        if not self._is_safe():
            self._refuse()
        files.make_private_directory(self.directory.parent)
        files.make_private_directory(self.directory)
        files.write(self._place(grant.root, grant.path), msgspec.json.encode(grant), files.PRIVATE_FILE)

    def remove(self, grant: Grant) -> None:
        files.remove(self._place(grant.root, grant.path))

    def every(self) -> list[Grant]:
        """All of them, by path."""
        names = sorted(os.listdir(self.directory)) if self.directory.is_dir() else []
        found = [self._load(self.directory / name) for name in names if not name.startswith(".")]
        return sorted((grant for grant in found if grant is not None), key=lambda grant: (grant.root, grant.path))

    def _place(self, root: str, path: str) -> Path:
        return self.directory / digest([root.encode(), path.encode()])

    def _load(self, path: Path) -> Grant | None:
        with contextlib.suppress(OSError, HoldfastError, *UNREADABLE):
            status = os.lstat(path)
            files.check_private(self.directory)
            # safeguard: grant-mode
            is_ours = status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077
            if is_ours and self._is_safe():  # safeguard: grant-place
                return msgspec.json.decode(files.read(path, FILE_LIMIT) or b"", type=Grant)
        return None

    def _is_safe(self) -> bool:
        """Whether no repository could have brought the directory, by a link or by a variable that moves it."""
        real = real_path(self.directory)
        return not any(real == border or real.startswith(border.rstrip(os.sep) + os.sep) for border in self._borders)

    def _refuse(self) -> None:
        raise Refused(
            "Trust is not kept inside of the project that asks for it",
            [("directory", path_text(self.directory))],
            ["set HOME to your own home directory"],
        )


def digest(parts: Iterable[bytes]) -> str:
    """One number for several parts, which no other division into parts has."""
    found = sha256()
    for part in parts:
        found.update(len(part).to_bytes(8) + part)
    return found.hexdigest()
