"""Lists and searches among very many runs: beside the same query in bare SQLite, beside Python, beside few runs.

The bare query asks for the same runs through the same indexes, and reads their states as JSON: what a program without
us would have to do for the same answer.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw

import holdfast
from bench.crowded import COMMON, crowd
from bench.ground import command, ground, python
from bench.report import Report, ratio, times
from bench.timing import Sample, Subject, process, take_turns, timed
from holdfast.journal.codec import expand
from holdfast.project.workspace import Workspace

ROWS = 50
AT_ONCE = 20  # calls that are measured as one, because one is over too soon
FEW = 10_000
COLUMNS = "run.id, run.status, run.layout, run.worktree, run.created, run.updated, run.seq, run.fold, run.state"
NEWEST = f"SELECT {COLUMNS} FROM run ORDER BY updated DESC, key DESC LIMIT {ROWS}"
FOUND = (
    f"SELECT {COLUMNS} FROM search JOIN event ON event.position = search.rowid JOIN run ON run.key = event.run"
    f" WHERE search MATCH ? ORDER BY search.rowid DESC LIMIT {ROWS}"
)


class Look(NamedTuple):
    name: str
    search: str | None

    def bare(self, connection: apsw.Connection) -> list[dict[str, object]]:
        select, values = (FOUND, (f'"{self.search}"',)) if self.search else (NEWEST, ())
        return [json.loads(expand(row[8])) for row in connection.execute(select, values)]

    def ours(self, workspace: Workspace) -> object:
        return holdfast.runs(workspace, limit=ROWS, search=self.search)

    @property
    def command(self) -> list[str]:
        return command("runs", "--limit", str(ROWS), *(["--search", self.search] if self.search else []))


SEARCHES = {  # of events
    "a rare word": "ticket77",
    "a common word": COMMON,
    "a rare and a common word": f"ticket77 {COMMON}",
    "most of the words": f"ticket77 ticket78 {COMMON}",
    "a common word and one that is nowhere": f"{COMMON} zzzzzz",
    "a misspelt word": COMMON[::-1],
}
LOOKS = [Look(f"newest {ROWS} runs", None), Look("a rare word", "ticket77"), Look("a common word", COMMON)]


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    many = 100_000 if quick else 1_000_000
    with ground() as directory:
        places = {size: crowd(directory / str(size), size, say) for size in (FEW, many)}
        report = Report([], [])
        _calls(report, places, quick)
        _processes(report, places[many], many, quick)
    return report


def _calls(report: Report, places: dict[int, Path], quick: bool) -> None:
    few, many = places
    with contextlib.ExitStack() as stack:
        spaces = {size: stack.enter_context(holdfast.open(place)) for size, place in places.items()}
        database = places[many] / ".git" / "holdfast" / "journal.db"
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY)
        stack.callback(connection.close)
        for look in LOOKS:
            subjects: dict[str, Subject] = {
                "bare": _repeated(partial(look.bare, connection)),
                "few": _repeated(partial(look.ours, spaces[few])),
                "many": _repeated(partial(look.ours, spaces[many])),
            }
            found = take_turns(subjects, 20 if quick else 100)
            report.measures.append(
                ratio(f"{look.name} of {many:,}, beside bare SQLite", found["many"], found["bare"], 3)
            )
            report.measures.append(ratio(f"… beside {few:,} runs", found["many"], found["few"], 1.5))
            where = {"bare": f"bare SQLite, {many:,} runs", "few": f"{few:,} runs", "many": f"{many:,} runs"}
            report.figures.extend(times(f"{look.name}, {where[who]}", _each(sample)) for who, sample in found.items())
        for name, text in SEARCHES.items():
            searches: dict[str, Subject] = {
                f"{size:,} runs": partial(timed, partial(holdfast.search, space, text, limit=ROWS))
                for size, space in spaces.items()
            }
            found = take_turns(searches, 20 if quick else 100)
            beside = ratio(
                f"`search`, {name}: {many:,} runs beside {few:,}", found[f"{many:,} runs"], found[f"{few:,} runs"], 2
            )
            report.measures.append(beside)
            report.tell(f"`search`, {name}", found)


def _repeated(act: Callable[[], object]) -> Subject:
    return partial(timed, lambda: [act() for _ in range(AT_ONCE)])


def _each(sample: Sample) -> Sample:
    return Sample(tuple(seconds / AT_ONCE for seconds in sample.seconds))


def _processes(report: Report, place: Path, many: int, quick: bool) -> None:
    with contextlib.chdir(place):
        subjects = {look.name: partial(process, look.command) for look in LOOKS}
        found = take_turns({"bare": partial(process, python("-c", "pass")), **subjects}, 15 if quick else 60)
    for look in LOOKS:
        name = f"`holdfast runs`, {look.name} of {many:,}, beside `python -c pass`"
        report.measures.append(ratio(name, found[look.name], found["bare"], 8))
        report.figures.append(times(f"`holdfast runs`, {look.name} of {many:,}", found[look.name]))
