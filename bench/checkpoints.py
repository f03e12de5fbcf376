"""What a checkpoint and the way back cost beside git itself and beside peers, and how much room many of them take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import holdfast
from bench import exactness, restores, room
from bench.ground import command, ground
from bench.peers import Peer, installed
from bench.report import Report, ratio
from bench.repositories import GIT, Pen, Pipeline, copies, git, make_repository, take_up
from bench.timing import Failed, Sample, Subject, process, take_turns, timed
from holdfast.project.workspace import Workspace

SMALL, LARGE = 20_000, 100_000
FEW, MANY, MOST = 100, 1_000, 10_000  # checkpoints of a quick, a usual and a full run


class Limits(NamedTuple):
    """The highest ratios allowed at one size."""

    process: float
    library: float
    committed: float
    named: float = 0.1


LIMITS = {SMALL: Limits(1.2, 0.55, 1.3), LARGE: Limits(0.7, 0.45, 0.8)}


def measure(quick: bool, say: Callable[[str], None], *, full: bool = False) -> Report:
    rounds = 5 if quick else 20
    report = Report([], [])
    with installed(say) as (peers, missing):
        with ground() as directory:
            places = _places(directory, SMALL, peers, say)
            _both(report, places, SMALL, peers, rounds, say)
            for place in (places["committed"], places["piped"]):
                git(place, "add", "-A")
                git(place, "commit", "-q", "--allow-empty", "-m", "all of it")
            count = MOST if full else FEW if quick else MANY
            room.measure(report, places["committed"], places["piped"], SMALL, count, say)
        if full:
            with ground() as directory:
                _both(report, _places(directory, LARGE, [], say), LARGE, [], rounds, say)
        with ground() as directory:
            say("measuring restores of many files")
            restores.measure_many(report, directory, peers, max(3, rounds // 2))
            say("looking at what a restore brings back")
            exactness.measure(report, directory / "exactness", peers)
    report.figures.extend(missing)
    return report


def _places(directory: Path, size: int, peers: list[Peer], say: Callable[[str], None]) -> dict[str, Path]:
    say(f"making repositories of {size:,} files")
    first = make_repository(directory / "committed", size)
    places = {"committed": first} | copies(first, ["ours", "piped", *(peer.name for peer in peers)])
    take_up(places["ours"])
    return places


def _both(
    report: Report, places: Mapping[str, Path], size: int, peers: list[Peer], rounds: int, say: Callable[[str], None]
) -> None:
    say(f"measuring checkpoints of {size:,} files")
    _checkpoints(report, places, size, peers, rounds)
    say(f"measuring restores among {size:,} files")
    restores.measure_one(report, places["ours"], places["piped"], size, 0.1 if size == LARGE else 0.2, rounds)
    say(f"measuring checkpoints after commits of {size:,} files")
    _after_commits(report, places["ours"], size, rounds)


def _checkpoints(report: Report, places: Mapping[str, Path], size: int, peers: list[Peer], rounds: int) -> None:
    ours, piped = places["ours"], places["piped"]
    pen, pipeline, limits = Pen(ours, size), Pipeline(piped), LIMITS[size]
    with holdfast.open(ours) as workspace:
        keep = partial(holdfast.checkpoint, workspace)
        subjects: dict[str, Subject] = {
            "git commit": Pen(places["committed"], size).measured(lambda _: _commit()),
            "process": pen.measured(lambda _: process(command("checkpoint", "-q"))),
            "git's pipeline": Pen(piped, size).measured(lambda _: timed(pipeline.keep)),
            "from Python": pen.measured(lambda _: timed(keep)),
            "file named": pen.measured(lambda names: timed(partial(keep, files=tuple(names)))),
        }
        for peer in peers:
            subjects[peer.name] = Pen(places[peer.name], size).measured(_running(peer.checkpoint))
        found = take_turns(subjects, rounds)
        _check_whole(workspace)
    where = f"of {size:,} files, one changed"
    report.measures.extend([
        ratio(f"`holdfast checkpoint` {where}, beside `git add -A && git commit -q`",
              found["process"], found["git commit"], limits.process),
        *(ratio(f"… {peer.name} instead", found[peer.name], found["git commit"]) for peer in peers),
        ratio("… from Python, beside git's pipeline with a private index",
              found["from Python"], found["git's pipeline"], limits.library),
        ratio("… from Python, the file named", found["file named"], found["git's pipeline"], limits.named),
    ])  # fmt: skip
    report.tell(f"checkpoint {where}", found)


def _after_commits(report: Report, project: Path, size: int, rounds: int) -> None:
    """A commit and a checkpoint in turns in one repository, one file changed before each: the index is always new."""
    pen = Pen(project, size)
    commit = pen.measured(lambda _: _commit())
    keep = pen.measured(lambda _: process(command("checkpoint", "-q")))
    turns = [(commit(), keep()) for _ in range(rounds + 1)][1:]
    committed, kept = (Sample(tuple(seconds)) for seconds in zip(*turns, strict=True))
    where = f"of {size:,} files right after a commit"
    name = f"`holdfast checkpoint` {where}, beside that `git add -A && git commit -q`"
    report.measures.append(ratio(name, kept, committed, LIMITS[size].committed))
    report.tell(f"checkpoint {where}", {"git commit": committed, "process": kept})
    with holdfast.open(project) as workspace:
        _check_whole(workspace)


def _running(way: list[str]) -> Callable[[list[str]], float]:
    return lambda _: process(way)


def _commit() -> float:
    """Both commands as a shell would run them, one after the other, without the cost of a shell."""
    return process([GIT, "add", "-A"]) + process([GIT, "commit", "-q", "-m", "kept"])


def _check_whole(workspace: Workspace) -> None:
    """What was measured must have been kept: the last full checkpoint equals the worktree."""
    made = holdfast.checkpoint(workspace).checkpoint
    if holdfast.diff(workspace, made.id).code or holdfast.verify(workspace).problems:
        raise Failed("a checkpoint does not equal the worktree")
