"""What a checkpoint and the way back cost beside git itself, and how much room a thousand of them take."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import holdfast
from bench import calls
from bench.ground import command, ground
from bench.report import Measure, Report, ratio, times
from bench.timing import Failed, Sample, Subject, process, take_turns, timed
from holdfast.checkpointing import look, shadow_of
from holdfast.restoring import apply_plan, plan_restore
from holdfast.workspace import Workspace

SMALL, LARGE = 20_000, 100_000
IN_A_DIRECTORY = 50
FILE = 2_048  # bytes of each file
BUSY, CHANGED = 2_000, 1_500  # files of a small project, and how many of them a restore has to write
GROWN, ROOM = 1_000, 6.0  # checkpoints, and the megabytes that they may take
SEEDS = itertools.count(1)  # no two pens write the same
IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0")


class Limits(NamedTuple):
    """The highest ratios allowed at one size."""

    process: float
    library: float
    named: float = 0.1
    writing: float = 0.2
    restore: float = 1.5
    restore_process: float = 2.5


LIMITS = {SMALL: Limits(1.2, 0.55), LARGE: Limits(0.7, 0.45, writing=0.1)}


def measure(quick: bool, say: Callable[[str], None], *, full: bool = False) -> Report:
    rounds = 5 if quick else 20
    report = Report([], [])
    for size in (SMALL, LARGE) if full else (SMALL,):
        with ground() as directory:
            say(f"making a repository of {size:,} files")
            places = make_places(directory, size)
            say(f"measuring checkpoints of {size:,} files")
            _checkpoints(report, places, size, rounds)
            say(f"measuring restores among {size:,} files")
            _restores(report, places, size, rounds)
            if size == SMALL:
                _growth(report, places.ours, 100 if quick else GROWN, say)
    with ground() as directory:
        say("measuring a restore of many files")
        _all_changed(report, make_places(directory, BUSY), rounds)
    return report


class Places(NamedTuple):
    """The same repository three times, so that nobody finds the other's changes and pays for them."""

    ours: Path
    committed: Path
    piped: Path


def make_places(directory: Path, files: int) -> Places:
    places = Places(directory / "ours", directory / "committed", directory / "piped")
    make_repository(places.committed, files)
    for place in (places.ours, places.piped):
        shutil.copytree(places.committed, place)
        git(place, "update-index", "-q", "--refresh")
    with holdfast.open(places.ours) as workspace:
        holdfast.start(workspace, "Measure what checkpoints cost")
        holdfast.checkpoint(workspace)
    return places


def make_repository(directory: Path, files: int) -> None:
    """A repository in which everything is committed and packed."""
    chance = random.Random(files)
    subprocess.run(["git", "init", "-q", str(directory)], check=True)
    for number in range(files):
        path = directory / name(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(calls.text(chance, FILE))
    git(directory, "add", "-A")
    git(directory, *IDENTITY, "commit", "-q", "-m", "first")
    git(directory, "repack", "-a", "-d", "-q")


def name(number: int) -> str:
    outer, inner = divmod(number // IN_A_DIRECTORY, 20)
    return f"part{outer:03}/group{inner:02}/file{number:06}.txt"


def git(directory: Path, *arguments: str, **variables: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        env=os.environ | variables,
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        raise Failed(f"git {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


class Pen:
    """Changes files of a project, each time to something else."""

    def __init__(self, project: Path, files: int) -> None:
        self.project = project
        self.files = files
        self._chance = random.Random(next(SEEDS))

    def change(self, count: int = 1) -> list[str]:
        names = [name(number) for number in self._chance.sample(range(self.files), count)]
        for path in names:
            (self.project / path).write_text(calls.text(self._chance, FILE))
        return names


class Peer:
    """Git with an index of its own: the pipeline that a checkpoint would be without one of ours."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.index = str(project / ".git" / "bench-index")
        shutil.copy2(project / ".git" / "index", self.index)
        self.keep()

    def keep(self) -> str:
        run = partial(git, self.project, GIT_INDEX_FILE=self.index)
        run("add", "-A")
        tree = run("write-tree")
        commit = run(*IDENTITY, "commit-tree", "-m", "kept", tree)
        run("update-ref", "refs/bench/kept", commit)
        return commit

    def restore(self, commit: str) -> None:
        git(self.project, "read-tree", "-u", "--reset", commit, GIT_INDEX_FILE=self.index)


def _checkpoints(report: Report, places: Places, size: int, rounds: int) -> None:
    peer, limits = Peer(places.piped), LIMITS[size]
    pen, committer, piper = (Pen(place, size) for place in places)
    with holdfast.open(places.ours) as workspace, contextlib.chdir(places.ours):
        keep = partial(holdfast.checkpoint, workspace)
        found = take_turns(
            {
                "git commit": _after(committer.change, lambda _: _commit(places.committed)),
                "process": _after(pen.change, lambda _: process(command("checkpoint", "-q"))),
                "git's pipeline": _after(piper.change, lambda _: timed(peer.keep)),
                "from Python": _after(pen.change, lambda _: timed(keep)),
                "file named": _after(pen.change, lambda names: timed(partial(keep, files=tuple(names)))),
            },
            rounds,
        )
        _check_whole(workspace)
    where = f"of {size:,} files, one changed"
    report.measures.extend([
        ratio(f"`holdfast checkpoint` {where}, beside `git add -A && git commit -q`",
              found["process"], found["git commit"], limits.process),
        ratio("… from Python, beside git's pipeline with a private index",
              found["from Python"], found["git's pipeline"], limits.library),
        ratio("… from Python, the file named", found["file named"], found["git's pipeline"], limits.named),
    ])  # fmt: skip
    _tell(report, f"checkpoint {where}", found)


def _after(prepare: Callable[[], list[str]], act: Callable[[list[str]], float]) -> Subject:
    """A subject that is measured after a preparation that is not."""
    return lambda: act(prepare())


def _commit(project: Path) -> float:
    """Both commands as a shell would run them: one after the other."""
    base = [shutil.which("git") or "git", "-C", str(project), *IDENTITY]
    return process([*base, "add", "-A"]) + process([*base, "commit", "-q", "-m", "kept"])


def _check_whole(workspace: Workspace) -> None:
    """What was measured must have been kept: the last full checkpoint equals the worktree."""
    made = holdfast.checkpoint(workspace).checkpoint
    if holdfast.diff(workspace, made.id).code or holdfast.verify(workspace).problems:
        raise Failed("a checkpoint does not equal the worktree")


def _restores(report: Report, places: Places, size: int, rounds: int) -> None:
    pen, piper = Pen(places.ours, size), Pen(places.piped, size)
    peer, limits = Peer(places.piped), LIMITS[size]
    with holdfast.open(places.ours) as workspace, contextlib.chdir(places.ours):
        start, commit = holdfast.checkpoint(workspace).checkpoint.id, peer.keep()
        found = take_turns(
            {
                "git read-tree": _after(piper.change, lambda _: timed(partial(peer.restore, commit))),
                "writing": _after(pen.change, lambda names: _writing(workspace, start, names)),
                "from Python": _after(pen.change, lambda _: timed(partial(holdfast.restore, workspace, start))),
                "process": _after(pen.change, lambda _: process(command("restore", start, "--yes", "-q"))),
            },
            rounds,
        )
        if holdfast.diff(workspace, start).code:
            raise Failed("a restore did not bring everything back")
    where = f"among {size:,} files, one changed"
    report.measures.extend([
        ratio(f"restore {where}: the writing alone, beside `git read-tree -u --reset`",
              found["writing"], found["git read-tree"], limits.writing),
        ratio("… the whole from Python, with the checkpoint before and the proof after",
              found["from Python"], found["git read-tree"], limits.restore),
        ratio("… the whole as a process", found["process"], found["git read-tree"], limits.restore_process),
    ])  # fmt: skip
    _tell(report, f"restore {where}", found)


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
            put = apply_plan(shadow, plan_restore(shadow, now, then), workspace.place / "aside" / "bench")
            if put.written != len(names):
                raise Failed(f"{put.written} files were written, not {len(names)}")

        seconds = timed(write)
    holdfast.checkpoint(workspace, files=tuple(names))
    return seconds


def _all_changed(report: Report, places: Places, rounds: int) -> None:
    pen, other = Pen(places.ours, BUSY), Pen(places.committed, BUSY)
    by_git = [shutil.which("git") or "git", "-C", str(places.committed), "restore", "."]
    with holdfast.open(places.ours) as workspace, contextlib.chdir(places.ours):
        start = holdfast.checkpoint(workspace).checkpoint.id
        found = take_turns(
            {
                "git restore": _after(partial(other.change, CHANGED), lambda _: process(by_git)),
                "process": _after(
                    partial(pen.change, CHANGED), lambda _: process(command("restore", start, "--yes", "-q"))
                ),
            },
            max(3, rounds // 4),
        )
    for place in (places.ours, places.committed):
        if git(place, "status", "--porcelain"):
            raise Failed("a restore did not bring everything back")
    where = f"{CHANGED:,} changed of {BUSY:,} files"
    report.measures.append(
        ratio(f"`holdfast restore`, {where}, beside `git restore .`", found["process"], found["git restore"], 2.0)
    )
    _tell(report, f"restore, {where}", found)


def _growth(report: Report, project: Path, count: int, say: Callable[[str], None]) -> None:
    """Checkpoints with one changed file each: the room that they take, and whether the last are slower."""
    pen = Pen(project, SMALL)
    before = _room(project)
    seconds: list[float] = []
    with holdfast.open(project) as workspace:
        for number in range(count):
            pen.change()
            seconds.append(timed(partial(holdfast.checkpoint, workspace)))
            if number % 250 == 0:
                say(f"making checkpoints: {number:,} of {count:,}")
        _check_whole(workspace)
    grown = (_room(project) - before) / 1e6
    tenth = count // 10
    first, last = Sample(tuple(seconds[:tenth])), Sample(tuple(seconds[-tenth:]))
    report.measures.extend(
        [
            Measure(f"room of {count:,} checkpoints beside {ROOM:g} MB", grown / ROOM, 1.0),
            ratio(f"the last {tenth:,} of {count:,} checkpoints beside the first {tenth:,}", last, first, 1.2),
        ]
    )
    report.figures.extend(
        [
            f"{count:,} checkpoints: {grown:.2f} MB ({', '.join(_parts(project))})",
            times(f"the first {tenth:,} of {count:,} checkpoints", first),
            times(f"the last {tenth:,} of {count:,} checkpoints", last),
        ]
    )


def _room(project: Path) -> int:
    return sum(size for _, size in _sizes(project))


def _parts(project: Path) -> Iterator[str]:
    """Where the room went: the journal, packs, loose objects, the rest."""
    parts: dict[str, int] = {}
    for path, size in _sizes(project):
        kind = "journal" if "journal" in path.name else "ours" if "holdfast" in path.parts else "objects"
        parts[kind] = parts.get(kind, 0) + size
    return (f"{kind} {size / 1e6:.2f} MB" for kind, size in sorted(parts.items()))


def _sizes(project: Path) -> Iterable[tuple[Path, int]]:
    """Every file in the git directory with the room that it takes."""
    for directory, _, names in os.walk(project / ".git"):
        for path in (Path(directory, name) for name in names):
            with contextlib.suppress(FileNotFoundError):
                yield path, path.stat().st_size


def _tell(report: Report, where: str, found: dict[str, Sample]) -> None:
    report.figures.extend(times(f"{where}, {label}", sample) for label, sample in found.items())
