"""What a store must do: keep rows, find rows, all or nothing. It understands none of them.

Folding, numbering and checking belong to `journal.py`, so that a second database needs no second copy of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

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


class Reader(Protocol):
    """One consistent view of the store."""

    def find_run(self, id: str) -> RunRow | None: ...
    def list_runs(self, query: RunQuery) -> Page: ...
    def all_run_ids(self) -> list[str]: ...
    def find_ids(self, table: str, fragment: str, limit: int) -> list[str]: ...
    def find_session(self, id: str) -> SessionRow | None: ...
    def list_sessions(
        self, run: str | None = None, *, only_open: bool = False, with_process: bool = False, limit: int | None = None
    ) -> list[SessionRow]: ...
    def sessions_of(self, conversation: str) -> list[SessionRow]: ...
    def has_event(self, id: bytes) -> bool: ...
    def events(
        self, run: str, *, after: int = 0, until: int | None = None, newest: int | None = None
    ) -> Iterator[EventRow]: ...
    def snapshots(self, run: str, until: int | None = None) -> list[Snapshot]: ...
    def blob(self, digest: bytes) -> bytes | None: ...
    def blob_uses(self, run: str) -> set[bytes]: ...
    def pointer(self, worktree: str) -> str | None: ...
    def pointers(self) -> dict[str, str]: ...
    def found_by(self, run: str, search: str) -> bool: ...
    def find_checkpoint(self, id: str) -> CheckpointRow | None: ...
    def list_checkpoints(
        self, worktree: str | None = None, *, run: str | None = None, limit: int | None = None
    ) -> Iterator[CheckpointRow]: ...
    def last_checkpoint_number(self, worktree: str) -> int: ...
    def problems(self) -> list[str]: ...


class Writer(Reader, Protocol):
    """The same, and all changes made through it, or none of them."""

    def add_event(self, row: EventRow, search: str) -> bool: ...
    def forget_words(self, run: str, seq: int) -> None: ...
    def put_blob(self, run: str, digest: bytes, data: bytes) -> None: ...
    def put_run(self, row: RunRow) -> None: ...
    def put_session(self, row: SessionRow) -> None: ...
    def put_snapshot(self, run: str, snapshot: Snapshot) -> None: ...
    def put_checkpoint(self, row: CheckpointRow) -> None: ...
    def delete_checkpoint(self, id: str) -> None: ...
    def point(self, worktree: str, run: str | None) -> None: ...
    def delete_run(self, run: str) -> None: ...


class Store(Protocol):
    def reading(self) -> AbstractContextManager[Reader]: ...
    def writing(self) -> AbstractContextManager[Writer]: ...
    def close(self) -> None: ...
