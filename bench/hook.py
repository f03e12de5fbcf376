"""What a hook costs the agent: a durable kept call beside a shell and an interpreter that do nothing."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil

import holdfast
from bench import calls, installation
from bench.ground import ENTRY, fill, ground, make_project
from bench.report import Report, milliseconds_at, ratio, ratio_at, times
from bench.timing import Failed, Sample, process, take_turns
from bench.writer import Writer
from holdfast.agents.claude.hooks import block

LIMIT, COMMITTED_LIMIT = 1.2, 2.0
FLOOR = "sh -c 'exec python -I -S -c pass'"  # every client runs a hook through a shell
AT_MOST = {0.95: 150, 0.99: 300}  # milliseconds that so many of all hooks take
PAYLOAD = 2048
WARM_UP = 3
LATER = "holdfast hook later"  # what a process that does the rest is called


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    rounds, stored = (100, 10_000) if quick else (500, 100_000)
    report = Report([], [])
    with ground() as directory:
        project = make_project(directory / "project")
        found = _compare(project, rounds)
        _add(report, "an empty store", found)
        for share, limit in AT_MOST.items():
            report.measures.append(
                milliseconds_at(share, f"… milliseconds at p{share * 100:.0f}", found["hook"], limit)
            )
        _add(
            report,
            "committed and found through PATH",
            _compare(project, rounds, _committed(directory)),
            COMMITTED_LIMIT,
        )
        for event, found in _detaching(project, max(20, rounds // 5)).items():
            _add(report, f"{event}, which leaves work to a process of its own", found)
        fill(project, stored, say)
        _add(report, f"{stored:,} stored events", _compare(project, rounds))
        with _somebody_writing(project):
            _add(report, "another process writing to the store", _compare(project, rounds))
    return report


def _committed(directory: Path) -> list[str]:
    """The call that `init --scope project` writes, as the client runs it: by a shell, which finds us through PATH."""
    program = directory / "bin" / "holdfast-hook"
    program.parent.mkdir()
    program.write_text(f"#!{installation.python()}\nfrom holdfast.surfaces.hooks.command import main\n\nmain()\n")
    program.chmod(0o755)
    os.environ["PATH"] = f"{program.parent}:{os.environ['PATH']}"
    return _as_run(str(block("project", "", "")["PostToolBatch"]["command"]))


def _called(event: str = "PostToolBatch", agent: str = "robot") -> list[str]:
    """The call that `init` writes, as the client runs it: by a shell."""
    return _as_run(str(block("local", sys.executable, str(ENTRY))[event]["command"]), event, agent)


def _as_run(line: str, event: str = "PostToolBatch", agent: str = "robot") -> list[str]:
    return ["/bin/sh", "-c", line.replace(f"claude {event}", f"{agent} {event}")]  # a robot's calls are counted


def _floor() -> list[str]:
    return ["/bin/sh", "-c", f"exec '{sys.executable}' -I -S -c pass"]


def _compare(project: Path, rounds: int, called: list[str] | None = None) -> dict[str, Sample]:
    """Hooks and the floor by turns. Every call must have been kept, or nothing was measured."""
    payload = calls.sized(PAYLOAD)
    before = _kept(project)
    with contextlib.chdir(project):
        found = take_turns(
            {
                "hook": lambda: process(called or _called(), payload),
                "bare": lambda: process(_floor(), payload),
            },
            rounds,
            WARM_UP,
        )
    if _kept(project) != before + rounds + WARM_UP:
        raise Failed("the hook did not keep every call")
    return found


def _detaching(project: Path, rounds: int) -> dict[str, dict[str, Sample]]:
    """Calls of Claude Code after which somebody takes in and makes a checkpoint; nobody may be at that yet or still."""
    os.environ["CLAUDE_PROJECT_DIR"] = str(project)
    told = {"session_id": "c1", "prompt": "go on", "last_assistant_message": "x" * 1500}
    found = {}
    with contextlib.chdir(project):
        for event in ("Stop", "UserPromptSubmit"):
            payload = json.dumps({**told, "hook_event_name": event}).encode()
            takers = {"hook": (_called(event, "claude"), payload), "bare": (_floor(), payload)}
            found[event] = take_turns(
                {name: partial(_alone, *taker) for name, taker in takers.items()}, rounds, WARM_UP
            )
    del os.environ["CLAUDE_PROJECT_DIR"]
    return found


def _alone(command: list[str], payload: bytes) -> float:
    """One call, once nobody is left at the work of an earlier one."""
    while any(LATER in " ".join(found.info["cmdline"] or []) for found in psutil.process_iter(["cmdline"])):
        pass
    return process(command, payload)


def _kept(project: Path) -> int:
    """How many calls the open run has seen, those in the inbox included."""
    with holdfast.open(project) as workspace:
        run = holdfast.status(workspace).run
        return run.calls if run else 0


@contextlib.contextmanager
def _somebody_writing(project: Path) -> Iterator[None]:
    """A process that adds to the store, commit by commit, until the end of the block."""
    writer = Writer(project, "other")
    try:
        writer.wait_until_ready()
        writer.let_go()
        yield
    finally:
        was_writing = writer.stop()
    if not was_writing:
        raise Failed("the other process stopped writing")


def _add(report: Report, where: str, found: dict[str, Sample], limit: float = LIMIT) -> None:
    hook, bare = found["hook"], found["bare"]
    report.measures.append(ratio(f"hook, {where}, beside `{FLOOR}`", hook, bare, limit))
    report.measures.append(ratio_at(0.95, "… at p95", hook, bare))
    report.measures.append(ratio_at(0.99, "… at p99", hook, bare))
    report.figures.append(times(f"hook, {where}", hook))
    report.figures.append(times("… the shell and the bare interpreter beside it", bare))
