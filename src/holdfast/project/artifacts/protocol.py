"""What a source is: a module that looks for one kind of artifact, and loads it. What it loads is a stranger's text.

A path is looked for in the project, and one that is relative also beside it, in the plugin that the workflow came from.
Each must stay where it was found: files outside are never read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol

from msgspec import Struct, field

from holdfast.core.text import one_line, path_text
from holdfast.system import safe_paths

LIMIT = 1024 * 1024  # bytes
PATHS, COMMANDS = ("json", "markdown", "directory"), ("work_plugin", "skill")  # kinds; commands need trust
KINDS = (*PATHS, *COMMANDS, "git_info")
SUMMARY = "summary"  # the strategy that tells only how much there is and what it is about


class Wanted(Struct):
    """An artifact as it was asked for, all placeholders replaced."""

    id: str
    kind: str
    root: Path
    path: str | None = None
    command: str | None = None
    strategy: str = "all"
    limit: int = LIMIT
    also: Path | None = None
    words: list[str] = []  # of the command, where the user has allowed it
    why: str = "nobody has allowed it"  # why it is not run, where they are none
    hint: str = ""
    deadline: float = 30.0  # seconds that a command may take
    environ: Mapping[str, str] = {}


class Found(Struct):
    """What a look at it tells: enough for a dry run."""

    exists: bool
    size: int | None
    shown: str
    why: str | None = None


class Loaded(Struct):
    """An artifact's text, unchanged: whoever shows it makes it visible."""

    text: str
    size: int
    source: str
    ran: bool = True
    whole: bool = True  # false: `text` is the first part of `size` bytes, and ends anywhere in a line
    changed: datetime | None = None  # when the file was
    notes: list[str] = field(default_factory=list)


class Unloadable(Exception):
    """An artifact that cannot be loaded: why, in words that follow its path or command."""

    def __init__(self, why: str, *, missing: bool = False, size: int | None = None, hint: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.missing = missing
        self.size = size
        self.hint = hint


class Source(Protocol):
    def look(self, wanted: Wanted) -> Found:
        """Whether it is there and how large it is, without reading it. Never fails."""
        ...

    def load(self, wanted: Wanted) -> Loaded:
        """Its text. Raises Unloadable, and nothing else."""
        ...


class Place(NamedTuple):
    """Where a path led: the directory that it must not leave, its path from there, and how it is shown."""

    root: Path
    full: str
    path: str
    shown: str


def locate(wanted: Wanted) -> Place:
    """Where a wanted path is."""
    if not wanted.path:
        raise Unloadable("names no path")
    roots = [wanted.root]
    if wanted.also is not None and not os.path.isabs(wanted.path):
        roots.append(wanted.also)
    for root in roots:
        found = _resolve(root, wanted)
        try:
            if not found.exists:
                os.lstat(found.full)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise Unloadable(reason(error)) from error
        return Place(root, found.full, found.path, one_line(path_text(found.path)))
    raise Unloadable(_absent(roots), missing=True)


def reason(error: OSError | ValueError) -> str:
    """Why something could not be read, in words that follow its path."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "does not exist"
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)


def said(text: str | None) -> str:
    """A path or a command as it was given, on one line."""
    return one_line(path_text(text.encode("utf-8", "backslashreplace").decode())) if text else ""


def too_large(size: int, limit: int) -> Unloadable:
    return Unloadable(f"is larger than {limit:,} bytes", size=size)


def _resolve(root: Path, wanted: Wanted) -> safe_paths.Inside:
    path = wanted.path or ""
    try:
        return safe_paths.resolve(root, path)
    except safe_paths.Outside:
        _refuse(wanted.root, path)
    except ValueError as error:  # a NUL, or half a character
        raise Unloadable("is not a path") from error


def _refuse(root: Path, path: str) -> NoReturn:
    """Say that a path leads out, and for an absolute one of another machine which file of the project was meant."""
    if not os.path.isabs(path):
        raise Unloadable("does not lead to a file of the project", hint="only files inside the project are read")
    tail = _tail_inside(root, path)
    better = said(tail) if tail else "PATH"
    hint = f"write `{{project_root}}/{better}`" + ("" if tail else " with a path inside the project")
    raise Unloadable("does not lead to a file of the project", hint=hint)


def _tail_inside(root: Path, path: str) -> str | None:
    """The longest end of an absolute path that exists below the project."""
    parts = [part for part in path.split("/") if part]
    for first in range(1, min(len(parts), 40)):
        tail = "/".join(parts[first:])
        try:
            if os.path.lexists(safe_paths.resolve(root, tail).full):
                return tail
        except ValueError:
            continue
    return None


def _absent(roots: list[Path]) -> str:
    if len(roots) == 1:
        return "does not exist"
    return f"exists neither in the project nor in {one_line(path_text(roots[1]))}"
