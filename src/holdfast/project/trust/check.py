"""What a repository brings that could run, and whether the user has allowed it.

FABER's workflows name commands, and settings of an agent name the programs of hooks. Until somebody has seen such a
file at a terminal and allowed it, nothing that it names is started. One changed byte of it, or of a file that it names,
and that holds no more.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.text import one_line, path_text, sound_text
from holdfast.project.trust import command_line
from holdfast.project.trust.command_line import Unfit, named_paths
from holdfast.project.trust.grants import Grant, Grants, digest
from holdfast.project.workspace import Workspace
from holdfast.system import files, user_dirs
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
    return Grants(user_dirs.own_directory() / "trust", borders)


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
    found = digest([root.encode(), real.encode(), data, *parts, *_never(orders)])
    grant = grants_of(workspace).find(root, real)
    state = WAITING if grant is None else TRUSTED if holds(grant, found, orders) else CHANGED
    return Brought(path_text(file.path), file.kind, state, found, orders, named)


def holds(grant: Grant, found: str, orders: Iterable[Order]) -> bool:
    """Whether all that could run is what was seen: the same bytes, and no command of which it was said otherwise."""
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
        if order.why_not is not None:  # with other values it might run, but whoever allowed the rest was told otherwise
            return Verdict([], f"it {order.why_not}")
        if found.state == CHANGED:
            return Verdict([], "it was changed since you allowed it, or a file that it names was", hint)
        if found.state == TRUSTED:
            seen = {*literal, *(file.path for file in found.files)}
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
