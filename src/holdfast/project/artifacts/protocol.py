"""The protocol of an artifact's source: a module that finds and loads one kind of artifact. Its text is untrusted.

A path is resolved in the project; a relative one also in the plugin that the workflow came from. Files outside of
these directories are never read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, NoReturn, Protocol, cast

from msgspec import Struct, field

from holdfast.core.text import one_line, path_text
from holdfast.system import safe_paths

LIMIT = 1024 * 1024  # bytes
PATHS, COMMANDS = ("json", "markdown", "directory"), ("work_plugin", "skill")  # kinds; commands need trust
SOURCES = {  # the module of this package that loads each kind
    "json": "files",
    "markdown": "files",
    "directory": "files",
    "work_plugin": "command",
    "skill": "command",
    "git_info": "git_info",
}
KINDS = tuple(SOURCES)
SUMMARY = "summary"  # the strategy that loads only size and beginning


class Wanted(Struct):
    """A requested artifact, with all placeholders replaced."""

    id: str
    kind: str
    root: Path
    path: str | None = None
    command: str | None = None
    strategy: str = "all"
    limit: int = LIMIT
    also: Path | None = None
    words: list[str] = []  # of the command, if it is trusted
    why: str = "nobody has allowed it"  # the reason why it is not run
    hint: str = ""
    deadline: float = 30.0  # seconds that a command may take
    environ: Mapping[str, str] = {}


class Found(Struct):
    """An artifact as a dry run shows it."""

    exists: bool
    size: int | None
    shown: str
    why: str | None = None


class Loaded(Struct):
    """An artifact's raw text, with control characters."""

    text: str
    size: int
    source: str
    ran: bool = True
    whole: bool = True  # false: `text` is the first part of `size` bytes, cut anywhere
    changed: datetime | None = None  # mtime of the file
    notes: list[str] = field(default_factory=list)


class Unloadable(Exception):
    """An artifact that cannot be loaded, with the reason as the predicate of a sentence."""

    def __init__(self, why: str, *, missing: bool = False, size: int | None = None, hint: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.missing = missing
        self.size = size
        self.hint = hint


class Source(Protocol):
    def look(self, wanted: Wanted) -> Found:
        """Find the artifact and its size, and run nothing. Never fails."""

    def load(self, wanted: Wanted) -> Loaded:
        """Load the text. Raises only Unloadable."""


def find_source(kind: str) -> Source | None:
    """Return the source of a kind of artifact; None for an unknown kind."""
    name = SOURCES.get(kind)
    return cast(Source, import_module(f"holdfast.project.artifacts.{name}")) if name else None


class Place(NamedTuple):
    """A resolved path: the directory that it must not leave, its path from there, and its printable form."""

    root: Path
    full: str
    path: str
    shown: str


def locate(wanted: Wanted) -> Place:
    if not wanted.path:
        raise Unloadable("names no path")
    roots = [wanted.root]
    if wanted.also is not None and not os.path.isabs(wanted.path):
        roots.append(wanted.also)
    for root in roots:
        try:
            found = safe_paths.resolve(root, wanted.path)
            if not found.exists:
                os.lstat(found.full)
        except safe_paths.Outside:
            _refuse(wanted.root, wanted.path)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise Unloadable(reason(error)) from error
        except ValueError as error:  # a NUL, or a lone surrogate
            raise Unloadable("is not a path") from error
        return Place(root, found.full, found.path, one_line(path_text(found.path)))
    also = f"exists neither in the project nor in {one_line(path_text(roots[-1]))}"
    raise Unloadable("does not exist" if len(roots) == 1 else also, missing=True)


def reason(error: OSError | ValueError) -> str:
    """Return the reason of an error as the predicate of a sentence."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return "does not exist"
    return f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)


def said(text: str | None) -> str:
    """Return a path or command printable, on one line."""
    return one_line(path_text(text.encode("utf-8", "backslashreplace").decode())) if text else ""


def too_large(size: int, limit: int) -> Unloadable:
    return Unloadable(f"is larger than {limit:,} bytes", size=size)


def _refuse(root: Path, path: str) -> NoReturn:
    """Refuse a path outside the project; for an absolute one of another machine, suggest the file inside it."""
    if not os.path.isabs(path):
        raise Unloadable("does not lead to a file of the project", hint="only files inside the project are read")
    tail = _tail_inside(root, path)
    better = said(tail) if tail else "PATH"
    hint = f"write `{{project_root}}/{better}`" + ("" if tail else " with a path inside the project")
    raise Unloadable("does not lead to a file of the project", hint=hint)


def _tail_inside(root: Path, path: str) -> str | None:
    """Return the longest suffix of an absolute path that exists in the project."""
    parts = [part for part in path.split("/") if part]
    for first in range(1, min(len(parts), 40)):
        tail = "/".join(parts[first:])
        try:
            if os.path.lexists(safe_paths.resolve(root, tail).full):
                return tail
        except ValueError:
            continue
    return None
