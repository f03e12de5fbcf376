"""Kill, tear and fail `export`, `import` and `delete --purge` at the calls by which they change anything: a file is
whole or not there, a run is taken in or not, and a purge that was begun is known and can be finished."""

from __future__ import annotations

import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import pytest

import holdfast
from holdfast.project.runs.tombstones import PURGING
from tests.canaries import hits
from tests.crash.cases import an_empty_project, opened, verb
from tests.crash.modes import FAILURES, KILLS, each_tier
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome
from tests.worktrees import picture

CANARY = "zqcanary"
FILE = "run.holdfast"

pytestmark = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


class Scene(ABC):
    """Two runs, each with a checkpoint of its own."""

    words: tuple[str, ...]
    run: str
    checkpoint: str
    other: str

    def command(self, directory: Path) -> Sequence[str]:
        return verb(*(self.run if word == "RUN" else word for word in self.words))(directory)

    def prepare(self, directory: Path) -> None:
        an_empty_project(directory)
        root = directory / "project"
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        with opened(directory) as workspace:
            self.run = holdfast.start(workspace, f"{CANARY} goal").run.id
            holdfast.note(workspace, f"{CANARY} note " * 200)
            (root / "secret.txt").write_text(f"{CANARY}\n" * 300)
            (root / "kept").write_text("before\n")
            self.checkpoint = holdfast.checkpoint(workspace, f"{CANARY}-point").checkpoint.id
            holdfast.export(workspace, self.run, directory / FILE, raw=True)
            (root / "secret.txt").unlink()
            (root / "kept").write_text("after\n")
            holdfast.start(workspace, "another")
            self.other = holdfast.checkpoint(workspace, "another").checkpoint.id

    @abstractmethod
    def check(self, outcome: Outcome) -> None: ...

    def is_sound(self, directory: Path) -> None:
        with opened(directory) as workspace:
            assert holdfast.verify(workspace, deep=True).problems == []
            (directory / "project/kept").write_text("changed\n")
            holdfast.restore(workspace, self.other)
        assert (directory / "project/kept").read_text() == "after\n"


class Purging(Scene):
    def check(self, outcome: Outcome) -> None:
        directory = outcome.directory
        place = directory / "project/.git/holdfast"
        with opened(directory) as workspace:
            assert holdfast.verify(workspace).problems == []
            is_begun = (place / PURGING).exists()
            if outcome.acknowledged():
                assert not is_begun
            elif is_begun:
                assert any(self.run in warning for warning in holdfast.status(workspace).warnings)
            known = any(run.id == self.run for run in holdfast.runs(workspace).runs)
            assert known or is_begun or hits(place, CANARY) == []
            if known or is_begun:
                holdfast.delete(workspace, self.run, purge=True)
        assert hits(place, CANARY) == []
        self.is_sound(directory)


class Exporting(Scene):
    def check(self, outcome: Outcome) -> None:
        directory = outcome.directory
        for name in (FILE, "new.holdfast"):
            if (directory / name).exists():
                self.is_whole(directory, name)
        assert (directory / FILE).exists(), "the old one is gone"
        new = Path(outcome.stdout.strip() or FILE).name
        assert (directory / new).exists() or not outcome.acknowledged()
        self.is_sound(directory)

    def is_whole(self, directory: Path, name: str) -> None:
        with opened(directory) as workspace:
            assert holdfast.import_run(workspace, directory / name).outcome == "known"


class Importing(Scene):
    """The run was purged before, so that all of it has to come from the file."""

    def prepare(self, directory: Path) -> None:
        super().prepare(directory)
        with opened(directory) as workspace:
            holdfast.delete(workspace, self.run, purge=True)

    def check(self, outcome: Outcome) -> None:
        directory, root = outcome.directory, outcome.directory / "project"
        with opened(directory) as workspace:
            assert holdfast.verify(workspace, deep=True).problems == []
            done = holdfast.import_run(workspace, directory / FILE)
            assert done.outcome in (("known",) if outcome.acknowledged() else ("known", "new"))
            assert holdfast.show(workspace, self.run).run.goal == f"{CANARY} goal"
            holdfast.restore(workspace, self.checkpoint)
            assert {name for name in picture(root) if name[:4] != b".git"} >= {b"secret.txt", b"kept"}
            assert (root / "secret.txt").read_text() == f"{CANARY}\n" * 300
            holdfast.undo(workspace)
        self.is_sound(directory)


SCENES: dict[str, tuple[type[Scene], tuple[str, ...]]] = {
    "purge": (Purging, ("delete", "RUN", "--purge", "--yes")),
    "export": (Exporting, ("export", "RUN", "../new.holdfast", "--raw")),
    "export-again": (Exporting, ("export", "RUN", f"../{FILE}", "--raw")),
    "import": (Importing, ("import", f"../{FILE}")),
}


def scene_of(name: str) -> Scene:
    kind, words = SCENES[name]
    scene = kind()
    scene.words = words
    return scene


def broken(name: str, modes: tuple[str, ...], points: int | None) -> None:
    scene = scene_of(name)
    explore(
        prepare=scene.prepare, command=scene.command, check=scene.check, modes=modes, points=points, timeout=60
    ).assert_clean()


BY_SCENE = pytest.mark.parametrize("name", SCENES)


@pytest.mark.promise(1, 5, 27)
@BY_SCENE
def test_what_was_broken_off_is_whole_or_can_be_finished(name: str) -> None:
    broken(name, ("kill", "ENOSPC"), points=3)


@each_tier(3)
@pytest.mark.promise(1, 5, 27)
@BY_SCENE
@pytest.mark.parametrize("mode", [*KILLS, *FAILURES])
def test_wherever_it_breaks_off_it_is_whole_or_can_be_finished(name: str, mode: str, points: int | None) -> None:
    broken(name, (mode,), points=points)
