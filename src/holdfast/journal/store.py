"""The Store protocol: rows, transactions, health and replacement. A store does not interpret its rows.

Folding, numbering and checking belong to `journal.py`, so that they exist once for all databases. `tests/contract` is
the suite that every store must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Protocol

from holdfast.core.model import Event

LEDGER = "worktree"  # the layout of the runs that record the events of a worktree; lists omit them


class RunRow(NamedTuple):
    id: str
    status: str
    layout: str
    worktree: str
    created: int  # microseconds since 1970, as every time in a row
    updated: int
    seq: int
    fold: int  # the version of the fold that produced the state
    state: bytes
    labels: frozenset[str] = frozenset()  # `agent:claude`, `tag:urgent`
    key: int = 0  # assigned by the store; the position of a run in lists


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
    """The bytes stored for one run alone."""

    run: str
    events: int = 0  # including the states folded from them
    values: int = 0  # large values that no other run refers to

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
    after: tuple[int, int] | None = None  # `Page.next` of the previous page
    merits: dict[str, float] | None = None  # of a search, as in `HitQuery`
    now: int = 0
    most: bool = False


class Page(NamedTuple):
    rows: list[RunRow]
    next: tuple[int, int] | None
    scores: Sequence[float] = ()  # of a search: how well each run fits
    is_partial: bool = False  # no event has all words of the search; these have most of them


class HitQuery(NamedTuple):
    """A search for events: its words, and conditions on the events and their runs."""

    search: str
    runs: RunQuery = RunQuery()
    run: str | None = None
    kinds: frozenset[str] = frozenset()
    since: int | None = None
    until: int | None = None
    merits: dict[str, float] | None = None  # the weight of words by kind of event; None: the newest come first
    now: int = 0  # recent events weigh more
    most: bool = False  # where no event has all words, find those with most of them, rare ones first
    limit: int = 50


class Hit(NamedTuple):
    run: str
    seq: int
    score: float = 0.0  # comparable with those of other stores


class Hits(NamedTuple):
    found: list[Hit]
    is_ranked: bool  # False if the newest come first, on request or because too many match
    is_partial: bool = False  # no event has all words; these have most of them


class Reader(Protocol):
    """A consistent snapshot of the store."""

    def find_run(self, id: str) -> RunRow | None: ...
    def list_runs(self, query: RunQuery) -> Page: ...
    def hits(self, query: HitQuery) -> Hits: ...
    def spellings(self, search: str) -> dict[str, str]:
        """Words of a search that occur nowhere, and the most similar one that does."""

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
        self,
        run: str,
        *,
        after: int = 0,
        until: int | None = None,
        newest: int | None = None,
        kinds: Collection[str] = (),
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
    """A transaction: all changes made through it are committed, or none."""

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
    """A copy of a store for a backup."""

    format: int
    rows: dict[str, int]  # of each table


class Rebuilt(NamedTuple):
    events: int  # in the new store
    lost: list[str]  # descriptions of lost data
    sources: list[str]  # backups that provided events
    aside: Path | None  # the directory of the damaged files


class Rebuilding(Protocol):
    """Callbacks of a rebuild, since a store does not interpret its rows."""

    def now(self) -> datetime: ...
    def add(self, view: Writer, events: list[Event]) -> None: ...
    def prove(self, view: Reader) -> list[str]: ...
    def progress(self, done: int, total: int) -> None: ...


class Store(Protocol):
    """The storage of a journal. The first read or write opens it, and creates it if it does not exist."""

    def reading(self) -> AbstractContextManager[Reader]: ...
    def writing(self) -> AbstractContextManager[Writer]: ...
    def locked(self) -> AbstractContextManager[None]: ...
    def close(self) -> None: ...
    def exists(self) -> bool: ...
    def size(self) -> int: ...

    def changes(self) -> int:
        """The number of rows changed through this object since it was opened."""

    def data_version(self) -> int:
        """A number that changes when another process has written."""

    def has_processes(self) -> bool:
        """True if an open session has a process, which may have died."""

    # health and space

    def verify(self, progress: Callable[[int, int], None]) -> list[str]:
        """Report stored bytes that are not as they were written."""

    def shrink(self, progress: Callable[[int, int], None]) -> None:
        """Release unused space."""

    def scrub(self) -> None:
        """Remove all bytes of deleted data."""

    def backup(self, target: Path, progress: Callable[[int, int], None]) -> Copied:
        """Copy a snapshot of the store into a new file, while other processes write."""

    def check_backup(self, copy: Path, rows: dict[str, int]) -> None:
        """Refuse a copy that is damaged, newer than this program or has other row counts; migrate it to this format."""

    # Replacement: the caller is the only writer. One that was killed is unfinished, and can be finished.

    def replace(self, copy: Path, aside: Path) -> Path | None:
        """Replace the store by a checked copy. Returns the new place of the old one."""

    def rebuild(self, room: Path, backups: list[Path], aside: Path, journal: Rebuilding) -> Rebuilt:
        """Replace a damaged store by one with the events that are left in it and in its backups."""

    def is_unfinished(self) -> bool: ...
    def finish_replacing(self, aside: Path) -> Path | None: ...
