"""What the way back costs: one changed file among many, and most files of a small project."""

from __future__ import annotations

import contextlib
import os
from functools import partial
from pathlib import Path

import holdfast
from bench.ground import command
from bench.peers import Peer
from bench.report import Report, ratio
from bench.repositories import GIT, Pen, Pipeline, copies, git, make_repository, name, take_up
from bench.timing import Failed, Sample, Subject, process, take_turns, timed
from holdfast.project.checkpoints.create import look, shadow_of
from holdfast.project.workspace import Workspace
from holdfast.worktree.restore.plan import apply_plan, plan_restore

BUSY, CHANGED = 2_000, 1_500  # files of a small project, and how many of them a restore has to write


def measure_one(report: Report, ours: Path, piped: Path, size: int, writing: float, rounds: int) -> None:
    """One changed file among many, beside git's way with an index of its own."""
    pen, pipeline = Pen(ours, size), Pipeline(piped)
    with holdfast.open(ours) as workspace:
        start = holdfast.checkpoint(workspace).checkpoint.id
        with contextlib.chdir(piped):
            commit = pipeline.keep()
        found = take_turns(
            {
                "git read-tree": Pen(piped, size).measured(lambda _: timed(partial(pipeline.restore, commit))),
                "writing": pen.measured(partial(_writing, workspace, start)),
                "from Python": pen.measured(lambda _: timed(partial(holdfast.restore, workspace, start))),
                "process": pen.measured(lambda _: process(command("restore", start, "--yes", "-q"))),
            },
            rounds,
        )
        if holdfast.diff(workspace, start).code or git(piped, "diff", "--name-only", commit):
            raise Failed("a restore did not bring everything back")
    _report_one(report, found, f"among {size:,} files, one changed", writing)


def _report_one(report: Report, found: dict[str, Sample], where: str, writing: float) -> None:
    base = found["git read-tree"]
    report.measures.extend([
        ratio(f"restore {where}: the writing alone, beside `git read-tree -u --reset`",
              found["writing"], base, writing),
        ratio("… the whole from Python, with the checkpoint before and the proof after",
              found["from Python"], base, 1.5),
        ratio("… the whole as a process", found["process"], base, 2.5),
    ])  # fmt: skip
    report.tell(f"restore {where}", found)


def _writing(workspace: Workspace, start: str, names: list[str]) -> float:
    """What is left of a restore once both trees are known: finding what differs, and writing it."""
    with workspace.reading() as journal:
        target = journal.find_checkpoint(start)
    assert target is not None
    before = holdfast.checkpoint(workspace, files=tuple(names)).checkpoint
    with shadow_of(workspace) as shadow:
        scan = look(workspace, shadow, [os.fsencode(path) for path in names])
        if scan.tree != before.tree:
            raise Failed("the worktree changed while it was measured")
        now, then = (scan.tree, scan.beside), (target.tree, scan.beside)

        def write() -> None:
            plan = plan_restore(shadow, now, then, limit=0)
            put = apply_plan(shadow, plan, workspace.place / "aside" / "bench")
            if put.written != len(names):
                raise Failed(f"{put.written} files were written, not {len(names)}")

        seconds = timed(write)
    holdfast.checkpoint(workspace, files=tuple(names))
    return seconds


def measure_many(report: Report, directory: Path, peers: list[Peer], rounds: int) -> None:
    """Most files of a small project, as processes: git, ours and the peers."""
    by_git = make_repository(directory / "git", BUSY)
    places = copies(by_git, ["ours", *(peer.name for peer in peers)])
    ways = {"ours": command("restore", take_up(places["ours"]), "--yes", "-q")}
    for peer in peers:
        with contextlib.chdir(places[peer.name]):
            process(peer.checkpoint)
        ways[peer.name] = peer.restore
    wrong: dict[str, int] = dict.fromkeys(["git", *ways], 0)
    subjects = {"git": _checked(by_git, [GIT, "restore", "."], "git", wrong)}
    for label, way in ways.items():
        subjects[label] = _checked(places[label], way, label, wrong)
    found = take_turns(subjects, rounds)
    _report_many(report, found, peers, wrong)


def _report_many(report: Report, found: dict[str, Sample], peers: list[Peer], wrong: dict[str, int]) -> None:
    if wrong["git"] or wrong["ours"]:
        raise Failed("a restore did not bring everything back")
    where = f"{CHANGED:,} changed of {BUSY:,} files"
    base = found["git"]
    report.measures.append(ratio(f"`holdfast restore`, {where}, beside `git restore .`", found["ours"], base, 2.0))
    for peer in peers:
        note = f" (**wrong {wrong[peer.name]} times**: files differ afterwards)" if wrong[peer.name] else ""
        report.measures.append(ratio(f"… {peer.name} instead{note}", found[peer.name], base))
    report.tell(f"restore, {where}", found)


def _checked(project: Path, way: list[str], label: str, wrong: dict[str, int]) -> Subject:
    """A restore that is measured, and counted where a file does not have its bytes again."""
    paths = [project / name(number) for number in range(BUSY)]
    before = [path.read_bytes() for path in paths]

    def act(_: list[str]) -> float:
        seconds = process(way)
        wrong[label] += [path.read_bytes() if path.exists() else None for path in paths] != before
        return seconds

    return Pen(project, BUSY).measured(act, CHANGED)
