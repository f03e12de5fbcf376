"""How much room many saves of one large state take, beside LangGraph's saver of checkpoints in SQLite.

A state is a JSON document of 100 KB of which each save changes one entry in a hundred, anywhere in it. Holdfast is
given it in two ways: as an output of a run, which puts every version into the journal (`holdfast output KEY FILE`); and
as a file of the project, of which a checkpoint is made. Either way, every version can be had again, and some are.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from string import ascii_lowercase

import holdfast
from bench import room
from bench.ground import ground, make_project
from bench.peers import run
from bench.report import Measure, Report
from bench.timing import Failed
from holdfast.core.model import Run

ENTRIES, WORDS, CHANGED, VOCABULARY = 1_000, 12, 10, 3_000
MANY, FEW = 10_000, 1_000
ALLOWED = 30.0  # megabytes that 10,000 saves may take
RECORDED = 94.0  # megabytes that LangGraph needs for 1,000; used where it cannot be installed
BESIDE = 0.15
SAVER = "langgraph-checkpoint-sqlite"
SAVE = """
import json, sys
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
with SqliteSaver.from_conn_string(sys.argv[1]) as saver:
    config = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    for number, line in enumerate(sys.stdin):
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = {"state": json.loads(line)}
        config = saver.put(config, checkpoint, {"source": "loop", "step": number}, {})
"""


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    count = FEW if quick else MANY
    report = Report([], [])
    with ground() as directory:
        taken = _as_outputs(directory / "outputs", count, say, at=FEW)
        report.measures.append(Measure(_name(count, "as outputs"), taken[count] / ALLOWED * MANY / count, 1.0))
        report.figures.append(
            f"{count:,} saves as outputs take {taken[count]:.1f} MB, {FEW:,} take {taken[FEW]:.2f} MB"
        )
        files = _as_files(directory / "files", FEW, say)
        report.figures.append(f"{FEW:,} saves as a file with a checkpoint each take {files:.2f} MB")
        peer, told = _langgraph(directory, say)
        report.figures.append(told)
        for way, size in (("as outputs", taken[FEW]), ("as a file with checkpoints", files)):
            name = f"room of {FEW:,} saves {way}, beside LangGraph's SqliteSaver"
            report.measures.append(Measure(name, size / peer, BESIDE))
    return report


def _name(count: int, way: str) -> str:
    part = "" if count == MANY else f", as a part of {MANY:,}"
    return f"room of {count:,} saves of 100 KB that change by 1 %, {way}, beside {ALLOWED:g} MB{part}"


def states(count: int) -> Iterator[str]:
    """The versions of one state, always the same."""
    chance = random.Random(7)
    words = ["".join(chance.choices(ascii_lowercase, k=chance.randint(3, 9))) for _ in range(VOCABULARY)]
    state = {f"entry{number}": " ".join(chance.choices(words, k=WORDS)) for number in range(ENTRIES)}
    for _ in range(count):
        for key in chance.sample(list(state), CHANGED):
            state[key] = " ".join(chance.choices(words, k=WORDS))
        yield json.dumps(state)


def _as_outputs(project: Path, count: int, say: Callable[[str], None], at: int) -> dict[int, float]:
    """Megabytes of the store after some of the saves and after all."""
    make_project(project)
    taken: dict[int, float] = {}
    kept: dict[int, str] = {}
    with holdfast.open(project) as workspace:
        for number, text in enumerate(states(count), 1):
            given = holdfast.output(workspace, "state", text)
            if number % (count // 10) == 0:
                say(f"saving a state: {number:,} of {count:,}")
                kept[_seq(workspace, given.run)] = text
            if number in (at, count):
                taken[number] = _megabytes(project)
        for seq, text in kept.items():
            shown = holdfast.show(workspace, given.run, at=str(seq)).run
            if shown.standing.outputs["state"] != text:
                raise Failed(f"the state at event {seq:,} is not what was saved")
        if holdfast.verify(workspace).problems:
            raise Failed(f"`holdfast verify` finds problems after {count:,} saves")
    return taken


def _seq(workspace: holdfast.Workspace, name: str) -> int:
    found = holdfast.show(workspace, name).run
    assert isinstance(found, Run)
    return found.seq


def _as_files(project: Path, count: int, say: Callable[[str], None]) -> float:
    make_project(project)
    before = sum(room.parts(project).values())
    with holdfast.open(project) as workspace:
        for number, text in enumerate(states(count), 1):
            (project / "state.json").write_text(text)
            made = holdfast.checkpoint(workspace).checkpoint
            if number % (count // 5) == 0:
                say(f"saving a file: {number:,} of {count:,}")
            if number == count // 2:
                kept = made.id, text
        holdfast.restore(workspace, kept[0])
        if (project / "state.json").read_text() != kept[1]:
            raise Failed("a checkpoint is not what was saved")
    return (sum(room.parts(project).values()) - before) / 1e6


def _megabytes(project: Path) -> float:
    """What the whole store takes, the log of the database included."""
    return sum(path.stat().st_size for path in (project / ".git" / "holdfast").rglob("*") if path.is_file()) / 1e6


def _langgraph(directory: Path, say: Callable[[str], None]) -> tuple[float, str]:
    """What LangGraph's saver takes for the same states, measured where it can be installed."""
    say(f"installing {SAVER}")
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-saver-", ignore_cleanup_errors=True) as place:
        python = str(Path(place, "bin", "python"))
        wrong = run([sys.executable, "-m", "venv", place]) or run([python, "-m", "pip", "install", "-q", SAVER])
        if wrong:
            return RECORDED, f"{SAVER} could not be installed here, {RECORDED:g} MB is a recorded figure: {wrong}"
        say(f"saving with {SAVER}")
        database = directory / "langgraph.db"
        given = "".join(f"{text}\n" for text in states(FEW))
        subprocess.run([python, "-c", SAVE, str(database)], input=given, text=True, check=True, capture_output=True)
        size = sum(path.stat().st_size for path in directory.glob("langgraph.db*")) / 1e6
    return size, f"{FEW:,} saves with {SAVER} take {size:.1f} MB"
