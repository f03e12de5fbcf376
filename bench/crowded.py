"""Stores with more runs than anybody has, made in bulk: the rows that the program itself would write."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw

import holdfast
from bench import calls
from bench.ground import make_project
from holdfast.core import event_text
from holdfast.core.fold import run as fold
from holdfast.core.model import Event
from holdfast.journal import codec
from holdfast.journal.sqlite import page_checksums
from holdfast.journal.sqlite.connection import event_sum
from holdfast.system.clock import micros

BEGUN = datetime(2020, 1, 1, tzinfo=UTC)
MARK = "{mark}"  # stands in the template where every run has a word of its own
BATCH = 50_000
SECONDS = 1_000_000  # microseconds
MINUTE = "%Y-%m-%dT%H:%M:"  # runs are a minute apart
COMMON = "cart"  # a word that every run has


class Template:
    """One run as the program writes it. All others differ from it in id, number and time."""

    def __init__(self, worktree: str, directory: str) -> None:
        goal = {"goal": f"{MARK} {COMMON}", "layout": "native", "worktree": worktree, "directory": directory}
        told = [("run.started", goal), ("prompt.given", {"text": MARK}), ("run.completed", {})]
        self.events = [
            Event(MARK, seq, "", kind, BEGUN + timedelta(seconds=seq), None, None, body)
            for seq, (kind, body) in enumerate(told, 1)
        ]
        self.run = codec.row_of_run(fold.fold(MARK, self.events), BEGUN)
        self.state = self.run.state.decode()
        self.bodies = [codec.encode(event.body).decode() for event in self.events]

    def run_row(self, number: int, text: str) -> tuple[object, ...]:
        state = self.state.replace(f'"id":"{MARK}"', f'"id":"{name(number)}"').replace(MARK, text)
        state = state.replace(f"{BEGUN:{MINUTE}}", f"{BEGUN + timedelta(minutes=number):{MINUTE}}")
        moved = number * 60 * SECONDS
        return (
            name(number), self.run.status, self.run.layout, self.run.worktree, self.run.created + moved,
            self.run.updated + moved, self.run.seq, self.run.fold, codec.squeeze(state.encode()),
        )  # fmt: skip

    def event_rows(self, number: int, key: int, text: str) -> Iterator[tuple[object, ...]]:
        for event, body in zip(self.events, self.bodies, strict=True):
            place = key * len(self.events) + event.seq
            data = codec.squeeze(body.replace(MARK, text).encode())
            time = micros(event.time) + number * 60 * SECONDS
            row = (key, event.seq, place.to_bytes(16, "big"), event.kind, time, None, None, data)
            yield place, *row, event_sum(*row)

    def words(self, key: int, text: str) -> Iterator[tuple[int, str]]:
        for event in self.events:
            if found := event_text.searchable(event):
                yield key * len(self.events) + event.seq, found.replace(MARK, text)


def name(number: int) -> str:
    return f"run-{number:010d}"


def crowd(directory: Path, runs: int, say: Callable[[str], None]) -> Path:
    """A project whose store holds this many runs, each found by a word that no other has."""
    make_project(directory)
    with holdfast.open(directory) as workspace:
        template = Template(workspace.worktree, str(directory))
    path = directory / ".git" / "holdfast" / "journal.db"
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; PRAGMA wal_autocheckpoint = 100000")
    chance = random.Random(runs)
    first = connection.execute("SELECT max(key) FROM run").get + 1000
    for numbers in (range(begin, min(begin + BATCH, runs)) for begin in range(0, runs, BATCH)):
        if numbers[0] % (BATCH * 4) == 0:
            say(f"making {runs:,} runs: {numbers[0]:,}")
        texts = [f"ticket{number} {calls.sentence(chance, 10)}" for number in numbers]
        with connection:
            _add(connection, template, list(zip(numbers, texts, strict=True)), first)
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    page_checksums.record_all(path)
    return directory


def _add(connection: apsw.Connection, template: Template, made: list[tuple[int, str]], first: int) -> None:
    connection.executemany(
        "INSERT INTO run (key, id, status, layout, worktree, created, updated, seq, fold, state)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((first + number, *template.run_row(number, text)) for number, text in made),
    )
    connection.executemany(
        "INSERT INTO event (position, run, seq, id, kind, time, session, agent, body, sum)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (row for number, text in made for row in template.event_rows(number, first + number, text)),
    )
    connection.executemany(
        "INSERT INTO search (rowid, words) VALUES (?, ?)",
        (row for number, text in made for row in template.words(first + number, text)),
    )
