"""Repositories to measure in: as many files as one likes, everything committed, and a pen that changes some of them."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

import holdfast
from bench import calls
from bench.timing import Failed, Subject

IN_A_DIRECTORY = 50
FILE = 2_048  # bytes of each file
SEEDS = itertools.count(1)  # no two pens write the same
GIT = shutil.which("git") or "git"
# No repository may collect garbage while it is measured, neither ours nor anybody else's.
SETTINGS = {"user.name": "bench", "user.email": "bench@example.org", "gc.auto": "0"}


def make_repository(directory: Path, files: int) -> Path:
    """A repository in which everything is committed and packed."""
    chance = random.Random(files)
    subprocess.run([GIT, "init", "-q", str(directory)], check=True)
    for key, value in SETTINGS.items():
        git(directory, "config", key, value)
    for parent in {(directory / name(number)).parent for number in range(files)}:
        parent.mkdir(parents=True)
    for number in range(files):
        (directory / name(number)).write_text(calls.text(chance, FILE))
    git(directory, "-c", "core.bigFileThreshold=1", "add", "-A")  # into a pack at once: no loose object is ever made
    git(directory, "commit", "-q", "-m", "first")
    git(directory, "repack", "-a", "-d", "-q")
    return directory


def copies(project: Path, names: Iterable[str]) -> dict[str, Path]:
    """The same repository for each of these, so that nobody finds another's changes and pays for them."""
    made = {label: project.with_name(label) for label in names}
    for place in made.values():
        subprocess.run(["cp", "-a", str(project), str(place)], check=True)
        git(place, "update-index", "-q", "--refresh")
    return made


def take_up(project: Path) -> str:
    """Give the project a store, a run and a first checkpoint; answers with the checkpoint's id."""
    with holdfast.open(project) as workspace:
        holdfast.start(workspace, "Measure what checkpoints cost")
        return holdfast.checkpoint(workspace).checkpoint.id


def name(number: int) -> str:
    outer, inner = divmod(number // IN_A_DIRECTORY, 20)
    return f"part{outer:03}/group{inner:02}/file{number:06}.txt"


def git(directory: Path, *arguments: str) -> str:
    """A git command that is not measured."""
    done = subprocess.run([GIT, *arguments], cwd=directory, capture_output=True, check=False, text=True)
    if done.returncode:
        raise Failed(f"git {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


class Pen:
    """Changes files of a project, each time to something that was never there before."""

    def __init__(self, project: Path, files: int) -> None:
        self.project = project
        self.files = files
        self._chance = random.Random(next(SEEDS))

    def change(self, count: int = 1) -> list[str]:
        names = [name(number) for number in self._chance.sample(range(self.files), count)]
        for path in names:
            (self.project / path).write_text(self._text())
        return names

    def measured(self, act: Callable[[list[str]], float], count: int = 1) -> Subject:
        """A subject in this project: measured after a change that is not."""

        def subject() -> float:
            names = self.change(count)
            with contextlib.chdir(self.project):
                return act(names)

        return subject

    def _text(self) -> str:
        # Not a piece of one long text: git would store that as a difference, and it would seem to take no room.
        written = ""
        while len(written) < FILE:
            written += f"{calls.sentence(self._chance, 8)} {self._chance.randrange(10**6)}\n"
        return written[:FILE]


class Pipeline:
    """Git with an index of its own: what a checkpoint would be without ours. Four processes, nothing around them."""

    def __init__(self, project: Path) -> None:
        index = project / ".git" / "bench-index"
        shutil.copy2(project / ".git" / "index", index)
        self._environment = os.environ | {"GIT_INDEX_FILE": str(index)}

    def keep(self) -> str:
        """Must be called in the project's directory."""
        self._run("add", "-A")
        tree = self._run("write-tree")
        commit = self._run("commit-tree", "-m", "kept", tree)
        self._run("update-ref", "refs/bench/kept", commit)
        return commit

    def restore(self, commit: str) -> None:
        self._run("read-tree", "-u", "--reset", commit)

    def _run(self, *arguments: str) -> str:
        read_end, write_end = os.pipe()
        out = (os.POSIX_SPAWN_DUP2, write_end, 1)
        pid = os.posix_spawn(GIT, ["git", *arguments], self._environment, file_actions=[out])
        os.close(write_end)
        with open(read_end, "rb", buffering=0) as answer:
            said = answer.readall()
        if status := os.waitpid(pid, 0)[1]:
            raise Failed(f"git {' '.join(arguments)}: exit {os.waitstatus_to_exitcode(status)}")
        return said.decode().strip()
