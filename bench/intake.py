"""What taking in kept calls costs: beside the commits that SQLite itself would need, and as the store grows."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import apsw

import holdfast
from bench import calls
from bench.ground import fill, ground, hook, make_project
from bench.report import Report, ratio, times
from bench.timing import Failed, process, take_turns, timed
from holdfast.ingest.catch_up import ingest_inbox

CALLS = 1000


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    rounds, stored = (5, 100_000) if quick else (21, 1_000_000)
    with ground() as directory:
        full = make_project(directory / "full")
        fill(full, stored, say)
        names = (directory / f"fresh-{number}" for number in itertools.count())
        subjects: dict[str, Callable[[list[bytes]], float]] = {
            "commits": lambda payloads: _bare(next(names), payloads, at_once=False),
            "transaction": lambda payloads: _bare(next(names), payloads, at_once=True),
            "empty": lambda payloads: _take_in(make_project(next(names)), payloads),
            "full": lambda payloads: _take_in(full, payloads),
        }
        found = take_turns({name: partial(_next, subject, _batches()) for name, subject in subjects.items()}, rounds)
    empty = found["empty"]
    return Report(
        [
            ratio(f"taking in {CALLS:,} calls beside as many durable commits of SQLite", empty, found["commits"], 3),
            ratio("… beside one durable transaction of as many rows", empty, found["transaction"]),
            ratio(f"… at {stored:,} stored events beside an empty store", found["full"], empty, 1.3),
        ],
        [
            times(f"taking in {CALLS:,} calls, an empty store", empty),
            times(f"taking in {CALLS:,} calls, {stored:,} stored events", found["full"]),
            times(f"{CALLS:,} commits in bare SQLite", found["commits"]),
            times(f"one transaction of {CALLS:,} rows in bare SQLite", found["transaction"]),
        ],
    )  # fmt: skip


def _batches() -> Iterator[list[bytes]]:
    """New calls for every turn, the same ones for every subject."""
    day = calls.mix(seed=1)
    while True:
        yield [payload.data for payload in itertools.islice(day, CALLS)]


def _next(subject: Callable[[list[bytes]], float], batches: Iterator[list[bytes]]) -> float:
    return subject(next(batches))


def _take_in(project: Path, payloads: list[bytes]) -> float:
    keep(project, payloads)
    with holdfast.open(project) as workspace:
        workspace.store  # noqa: B018 - opening is not what is measured
        taken: list[int] = []
        seconds = timed(lambda: taken.append(ingest_inbox(workspace).taken_in))
    if taken != [len(payloads)]:
        raise Failed(f"{taken} calls were taken in instead of {len(payloads)}")
    return seconds


def keep(project: Path, payloads: list[bytes], agent: str = "robot") -> None:
    """Put kept calls into the inbox: a hook keeps one, the others get its head and a name of their own."""
    inbox = project / ".git" / "holdfast" / "inbox"
    with contextlib.chdir(project):
        process(hook(agent), b"{}")
    (first,) = inbox.iterdir()
    head, end, _ = first.read_bytes().partition(b"\0\0")
    first.unlink()
    moment, boot, pid, _ = first.name.split("-")
    for number, payload in enumerate(payloads):
        name = f"{int(moment) + number:020d}-{boot}-{pid}-{number:08x}"
        (inbox / name).write_bytes(head + end + payload)
    os.sync()


def _bare(path: Path, payloads: list[bytes], *, at_once: bool) -> float:
    """The same bytes into a plain table, as durable as ours."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE call (number INTEGER PRIMARY KEY, data BLOB NOT NULL)")
    os.sync()

    def insert() -> None:
        with connection if at_once else contextlib.nullcontext():
            for payload in payloads:
                connection.execute("INSERT INTO call (data) VALUES (?)", (payload,))

    try:
        return timed(insert)
    finally:
        connection.close()
