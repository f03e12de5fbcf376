"""The Store protocol: keep rows, find rows, all or nothing, and stay healthy. A store understands none of its rows.

Folding, numbering and checking belong to `journal.py`, so that a second database needs no second copy of them.
`tests/contract` is the suite that every store must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from holdfast.core.model import Event

LEDGER = "worktree"  # the layout of runs that only keep what happened to a worktree; lists leave them out


class RunRow(NamedTuple):
    id: str
    status: str
    layout: str
    worktree: str
    created: int  # microseconds since 1970, as every time in a row
    updated: int
    seq: int
    fold: int  # the version of the fold that made the state
    state: bytes
    labels: frozenset[str] = frozenset()  # `agent:claude`, `tag:urgent`
    key: int = 0  # given by the store; the place of a run in lists


class EventRow(NamedTuple):
    run: str
    seq: int
    id: bytes
    kind: str
    time: int
    session: str | None
    agent: str | None
    body: bytes


class SessionRow(NamedTuple):
    id: str
    run: str
    opened: int
    is_open: bool
    has_process: bool
    agent_session: str | None
    record: bytes


class CheckpointRow(NamedTuple):
    id: str
    worktree: str
    number: int  # counted in its worktree
    run: str | None
    time: int
    named: bool
    pinned: bool
    record: bytes


class Snapshot(NamedTuple):
    seq: int
    fold: int
    state: bytes


class RunSize(NamedTuple):
    """Bytes that are stored for one run alone."""

    run: str
    events: int = 0  # with what they add up to
    values: int = 0  # large ones, that no other run refers to

    @property
    def total(self) -> int:
        return self.events + self.values


class RunQuery(NamedTuple):
    statuses: frozenset[str] = frozenset()
    layouts: frozenset[str] = frozenset()
    labels: frozenset[str] = frozenset()
    worktree: str | None = None
    since: int | None = None
    until: int | None = None
    search: str | None = None
    limit: int = 50
    after: tuple[int, int] | None = None  # the page key of the last row seen


class Page(NamedTuple):
    rows: list[RunRow]
    next: tuple[int, int] | None


class HitQuery(NamedTuple):
    """Which events a search is about: what their words are, and what holds for them and for their runs."""

    search: str
    runs: RunQuery = RunQuery()
    run: str | None = None
    kinds: frozenset[str] = frozenset()
    since: int | None = None
    until: int | None = None
    merits: dict[str, float] | None = None  # by kind, how much more their words count; None: the newest come first
    limit: int = 50


class Hit(NamedTuple):
    run: str
    seq: int


class Reader(Protocol):
    """One consistent view of the store."""

    def find_run(self, id: str) -> RunRow | None: ...
    def list_runs(self, query: RunQuery) -> Page: ...
    def hits(self, query: HitQuery) -> tuple[list[Hit], bool]: ...
    def all_run_ids(self) -> list[str]: ...
    def find_ids(self, table: str, fragment: str, limit: int) -> list[str]: ...
    def find_session(self, id: str) -> SessionRow | None: ...
    def list_sessions(
        self, run: str | None = None, *, only_open: bool = False, with_process: bool = False, limit: int | None = None
    ) -> list[SessionRow]: ...
    def sessions_of(self, conversation: str) -> list[SessionRow]: ...
    def has_event(self, id: bytes) -> bool: ...
    def find_event(self, id: bytes) -> EventRow | None: ...
    def events(
        self, run: str, *, after: int = 0, until: int | None = None, newest: int | None = None
    ) -> Iterator[EventRow]: ...
    def snapshots(self, run: str, until: int | None = None) -> list[Snapshot]: ...
    def blob(self, digest: bytes) -> bytes | None: ...
    def blob_uses(self, run: str) -> set[bytes]: ...
    def runs_with_output(self) -> list[str]: ...
    def run_sizes(self, run: str | None = None) -> list[RunSize]: ...
    def shared_bytes(self) -> int: ...
    def stored_bytes(self, run: str, digests: Collection[bytes]) -> int: ...
    def pointer(self, worktree: str) -> str | None: ...
    def pointers(self) -> dict[str, str]: ...
    def find_checkpoint(self, id: str) -> CheckpointRow | None: ...
    def list_checkpoints(
        self, worktree: str | None = None, *, run: str | None = None, limit: int | None = None
    ) -> Iterator[CheckpointRow]: ...
    def last_checkpoint_number(self, worktree: str) -> int: ...
    def problems(self) -> list[str]: ...
    def unsound_events(self, run: str) -> list[int]: ...
    def schema_problems(self) -> list[str]: ...
    def index_problems(self, words: Callable[[EventRow], str]) -> list[str]: ...


class Writer(Reader, Protocol):
    """The same, and all changes made through it, or none of them."""

    def add_event(self, row: EventRow, search: str) -> bool: ...
    def forget_words(self, run: str, seq: int) -> None: ...
    def put_blob(self, run: str, digest: bytes, data: bytes, like: str | None = None) -> None: ...
    def replace_body(self, run: str, seq: int, body: bytes) -> None: ...
    def note_thinned(self, run: str) -> None: ...
    def drop_blob_uses(self, run: str, digests: Collection[bytes]) -> None: ...
    def put_run(self, row: RunRow) -> None: ...
    def put_session(self, row: SessionRow) -> None: ...
    def put_snapshot(self, run: str, snapshot: Snapshot) -> None: ...
    def put_checkpoint(self, row: CheckpointRow) -> None: ...
    def delete_checkpoint(self, id: str) -> None: ...
    def point(self, worktree: str, run: str | None) -> None: ...
    def delete_run(self, run: str) -> None: ...


class Copied(NamedTuple):
    """A backup's copy of a store."""

    format: int
    rows: dict[str, int]  # of each table


class Rebuilt(NamedTuple):
    """Events that were put together, those that are lost, the backups that some came from, and the damaged original."""

    events: int
    lost: list[str]
    sources: list[str]
    aside: Path | None


class Rebuilding(Protocol):
    """The journal's part in a rebuild: a store does not understand its rows."""

    def now(self) -> datetime: ...
    def add(self, view: Writer, events: list[Event]) -> None: ...
    def prove(self, view: Reader) -> list[str]: ...
    def told(self, done: int, total: int) -> None: ...


class Store(Protocol):
    """A place where a journal lies. It is opened, and made where there is none, by what first reads or writes it."""

    def reading(self) -> AbstractContextManager[Reader]: ...
    def writing(self) -> AbstractContextManager[Writer]: ...
    def locked(self) -> AbstractContextManager[None]: ...
    def close(self) -> None: ...
    def exists(self) -> bool: ...
    def size(self) -> int: ...

    def changes(self) -> int:
        """The number of rows that were changed through this very store since it was opened."""

    def moment(self) -> int:
        """A number that differs once another process has written."""

    def has_processes(self) -> bool:
        """Whether any open session has a process, which may have died."""

    # health and space

    def verify(self, told: Callable[[int, int], None]) -> list[str]:
        """Stored bytes that are not what was written."""

    def shrink(self, told: Callable[[int, int], None]) -> None:
        """Give unused room back."""

    def scrub(self) -> None:
        """Leave no byte of what was deleted."""

    def backup(self, target: Path, told: Callable[[int, int], None]) -> Copied:
        """Copy one moment of the store into a new file, while others write."""

    def check_backup(self, copy: Path, rows: dict[str, int]) -> None:
        """Refuse a copy that is damaged, newer than this program or not of so many rows; bring it to this format."""

    # Replacing. Callers are the only writer. A replacement that was killed is unfinished, and can be finished.

    def replace(self, copy: Path, aside: Path) -> Path | None:
        """Put a checked copy in the place of the store. Returns the place of the old one."""

    def rebuild(self, room: Path, backups: list[Path], aside: Path, journal: Rebuilding) -> Rebuilt:
        """Replace a damaged store by one of the events that are left of it, and of its backups."""

    def is_unfinished(self) -> bool: ...
    def finish_replacing(self, aside: Path) -> Path | None: ...
