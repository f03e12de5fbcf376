"""A project as the verbs see it: worktree, store, clock and settings, opened together.

It opens nothing before it is needed, and creates a store only when it is told to.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from holdfast import config, files, ids, projects, spool
from holdfast.clock import Clock, SystemClock
from holdfast.errors import NotFound, Refused
from holdfast.journal import Journal
from holdfast.stores.protocol import Store
from holdfast.text import path_text

TROUBLE_SIZE = 64 * spool.SLOT


class Progress(Protocol):
    """Somebody who is told how far a long piece of work has come."""

    def __call__(self, what: str, done: int, total: int) -> None: ...


def silent(what: str, done: int, total: int) -> None:
    """For callers that show nothing."""


class Workspace:
    def __init__(
        self,
        root: Path,
        place: Path,
        *,
        clock: Clock | None = None,
        environ: Mapping[str, str] | None = None,
        progress: Progress = silent,
    ) -> None:
        self.root = root
        self.place = place
        self.clock = clock or SystemClock()
        self.environ = os.environ if environ is None else environ
        self.progress = progress
        self.warnings: list[str] = []
        self._store: Store | None = None

    @property
    def inbox(self) -> Path:
        return self.place / "inbox"

    @property
    def worktree(self) -> str:
        """The worktree's name in the journal."""
        return path_text(self.root)

    @property
    def exists(self) -> bool:
        return (self.place / "id").exists()

    @property
    def is_off(self) -> bool:
        return self.environ.get("HOLDFAST") == "0" or (self.place / "off").exists()

    @property
    def session(self) -> str | None:
        return self.environ.get("HOLDFAST_SESSION") or None

    @functools.cached_property
    def settings(self) -> config.Settings:
        found = config.load(self.user_directory("config") / "config.toml", self.root, self.environ)
        self.warnings += found.warnings
        return found

    def user_directory(self, kind: str) -> Path:
        return config.user_directory(kind, self.environ)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Journal]:
        with self.store.reading() as view:
            yield Journal(view, self.clock)

    @contextlib.contextmanager
    def writing(self, *, for_session: bool = True) -> Iterator[Journal]:
        """All that is appended inside becomes one commit, or nothing does. It is our session's, if we have one."""
        if self.is_off:
            raise Refused("Holdfast is off here, so nothing is recorded", [("store", self.place)], ["`holdfast on`"])
        with self.store.writing() as view:
            journal = Journal(view, self.clock, self.session if for_session else None)
            yield journal
            journal.flush()

    @property
    def store(self) -> Store:
        if self._store is None:
            self._store = self._open_store()
        return self._store

    def _open_store(self) -> Store:
        from holdfast.stores.sqlite import SqliteStore  # a workspace without a store need not load a database

        if not self.exists:
            raise NotFound(
                "There is no Holdfast store here",
                [("looked at", self.place)],
                ['`holdfast start "GOAL"` makes one and begins a run'],
            )
        files.check_private(self.place)
        projects.check(self.user_directory("state") / "stores", self.place, self.root)
        return SqliteStore(self.place / "journal.db", self.settings.number("store.deadline"))

    def create(self, adopt: bool = False) -> bool:
        """Make the store, or finish one that was left half made; False where there was one already."""
        stores = self.user_directory("state") / "stores"
        if self.exists and not adopt:
            self.store  # noqa: B018 - refuses what is not ours
            return False
        if not self.place.parent.exists() and self.place.name != ".holdfast":
            raise Refused("The repository's directory is not there", [("path", self.place.parent)], ["`git status`"])
        files.make_private_directory(stores.parent)
        files.make_private_directory(self.place)
        files.make_private_directory(self.inbox)
        if not (self.place / "trouble").exists():
            files.write(self.place / "trouble", b" " * TROUBLE_SIZE)
        if not self.exists:
            if self.place.name == ".holdfast":
                files.write(self.place / ".gitignore", b"*\n")
            files.write(self.place / "id", ids.make("store").encode() + b"\n")
        projects.claim(stores, self.place, self.root)
        self.store  # noqa: B018 - makes the database
        return True

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_workspace(
    directory: str | os.PathLike[str] = ".",
    *,
    clock: Clock | None = None,
    environ: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Workspace:
    """The workspace of a directory: that of its repository, or of a project without one."""
    try:
        start = os.path.realpath(directory, strict=True)
    except OSError as error:
        raise NotFound("There is no such directory", [("path", directory)]) from error
    root, place = spool.locate(start)
    return Workspace(Path(root), Path(place), clock=clock, environ=environ, progress=progress)
