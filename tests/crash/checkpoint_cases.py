"""A repository with a checkpoint and work since then; what must be true wherever a checkpoint or way back broke off."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import holdfast
from holdfast.core import ids
from holdfast.core.model import Draft, Restore
from holdfast.project.checkpoints.create import find_unfinished
from holdfast.project.workspace import Workspace
from holdfast.worktree.restore.writer import FEW
from tests.crash.cases import adopt, an_empty_project, environment, in_project, opened
from tests.faults.explorer import copy_tree, remove_tree
from tests.faults.report import Outcome

Tree = dict[str, tuple[int, bytes]]
SOURCE = Path(holdfast.__file__).parent.parent  # the same Holdfast as the one that checks
MARK = b"holdfast\n"  # what the .keep file of a pack of ours holds


def worktree_of(directory: Path) -> Tree:
    """Every file, link and empty directory that is not ignored, with its mode and bytes."""
    root = directory / "project"
    found: Tree = {}
    for parent, names, files in os.walk(root):
        if Path(parent) == root:
            names[:] = [name for name in names if name not in (".git", ".holdfast")]
        links = [name for name in names if os.path.islink(os.path.join(parent, name))]
        for name in (*files, *links):
            path = Path(parent, name)
            found[str(path.relative_to(root))] = look(path)
        if not names and not files:
            found[str(Path(parent).relative_to(root))] = (stat.S_IFDIR, b"")
    return {path: seen for path, seen in found.items() if not path.endswith(".ignored")}


def git_of(directory: Path) -> Tree:
    """What is in .git and not ours. Of a pack that was being written, a temporary file of ours may be left."""
    git = directory / "project/.git"
    found: Tree = {}
    for parent, names, files in os.walk(git):
        here = Path(parent).relative_to(git)
        if here in (Path(), Path("refs")):
            names[:] = [name for name in names if name != "holdfast"]
        ours = {path.stem for path in Path(parent).glob("pack-*.keep") if path.read_bytes() == MARK}
        for name in files:
            if name.partition(".")[0] not in ours and not is_temporary(here, name):
                found[str(here / name)] = look(Path(parent, name))
    return found


def is_temporary(here: Path, name: str) -> bool:
    return here == Path("objects/pack") and name.startswith((".", "tmp_"))


def look(path: Path) -> tuple[int, bytes]:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return stat.S_IFLNK, os.fsencode(os.readlink(path))
    return status.st_mode, path.read_bytes()


def differing(one: Tree, other: Tree) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def first_work(root: Path) -> None:
    (root / ".gitignore").write_text("*.ignored\n")
    (root / "kept").write_text("the same all the time\n")
    (root / "changed").write_bytes(b"before\r\n")
    (root / "tool").write_text("#!/bin/sh\n")
    (root / "tool").chmod(0o750)
    (root / "src").mkdir()
    (root / "src/one").write_text("one\n")
    (root / "src/two").write_bytes(bytes(range(256)) * 40)
    (root / "swapped").write_text("a file\n")
    (root / "link").symlink_to("kept")
    (root / "hollow/inner").mkdir(parents=True)


def later_work(root: Path) -> None:
    (root / "changed").write_bytes(b"after\n" * 50)
    (root / "tool").chmod(0o644)
    (root / "src/one").unlink()
    (root / "src/three").write_text("three\n")
    (root / "swapped").unlink()
    (root / "swapped").mkdir()
    (root / "swapped/inside").write_text("a directory now\n")
    (root / "link").unlink()
    (root / "link").symlink_to("nowhere")
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/file").write_text("new\n")
    (root / "secret.ignored").write_text("not ours to keep\n")
    shutil.rmtree(root / "hollow")


def git(directory: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=b")
    subprocess.run(["git", *who, *arguments], cwd=directory / "project", env=environment(directory), check=True)


def much_work(root: Path) -> None:
    """More files than are synced one by one; each time they are others."""
    for number in range(FEW + 8):
        path = root / "many" / f"{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"twice %d\n" % number if path.exists() else b"once\n")


def grown(root: Path) -> None:
    """A little more work, so that there is something between two checkpoints."""
    (root / "changed").write_bytes(b"before, and more\n")


PATHS = ("changed", "src", "swapped")
WITH_INDEX = "restore index"  # the one verb that writes a file of git's


@dataclass
class Scene:
    """One exploration: what the worktree is before the command, and what it must be after it."""

    verb: str  # one of VERBS
    id: str = ""
    then: Tree = field(default_factory=dict)  # as the first checkpoint has it
    start: Tree = field(default_factory=dict)  # as the command finds it
    goal: Tree = field(default_factory=dict)  # as the command has to leave it
    origin: Tree = field(default_factory=dict)  # what taking back brings back
    ahead: Tree = field(default_factory=dict)  # where an unfinished way back leads to
    git: Tree = field(default_factory=dict)

    def prepare(self, directory: Path) -> None:
        an_empty_project(directory)
        root = directory / "project"
        git(directory, "init", "-q")
        first_work(root)
        if self.verb == "restore many":
            much_work(root)
        git(directory, "add", "-A")
        git(directory, "commit", "-q", "-m", "first")
        with opened(directory) as workspace:
            holdfast.start(workspace, "Keep every byte")
            self.id = holdfast.checkpoint(workspace, "first").checkpoint.id
            self.then = worktree_of(directory)
            grown(root)
            holdfast.checkpoint(workspace)
            later_work(root)
            if self.verb == "restore many":
                much_work(root)
            git(directory, "add", "changed")
            now = worktree_of(directory)
            holdfast.checkpoint(workspace)
            self.start = self.goal = self.origin = self.ahead = now
            if self.verb in PREPARED:
                PREPARED[self.verb](self, workspace, self.then, now)
        self.git = git_of(directory)

    @property
    def words(self) -> tuple[str, ...]:
        return VERBS[self.verb]

    @property
    def paths(self) -> tuple[str, ...]:
        return PATHS if self.verb == "restore paths" else ()

    def command(self, directory: Path) -> Sequence[str]:
        adopt(directory)
        words = [self.id if word == "CHECKPOINT" else word for word in self.words]
        return [*in_project(directory), f"PYTHONPATH={SOURCE}", sys.executable, "-m", "holdfast", *words]

    def check(self, outcome: Outcome) -> None:
        (self.check_way_back if self.verb in WAYS else self.check_kept)(outcome)

    def check_kept(self, outcome: Outcome) -> None:
        """The worktree is untouched; what was acknowledged is exact, older ones still are, the next one can be made."""
        self._check_outside(outcome)
        directory = outcome.directory
        assert differing(worktree_of(directory), self.start) == [], "the worktree was changed"
        with opened(directory) as workspace:
            if outcome.acknowledged() and self.verb != "tidy":
                newest = holdfast.checkpoints(workspace, safety=True).checkpoints[0]
                assert self.verb != "checkpoint" or newest.id == outcome.stdout.strip()
                self._spoil(directory)
                holdfast.restore(workspace, newest.id)
                self._is(directory, self.start, "the acknowledged checkpoint")
            self._check_earlier(directory, workspace)
            made = holdfast.checkpoint(workspace).checkpoint
            self._spoil(directory)
            holdfast.restore(workspace, made.id)
            self._is(directory, self.start, "the next checkpoint")
        self._check_afterwards(directory)

    def _check_earlier(self, directory: Path, workspace: Workspace) -> None:
        """A named checkpoint is there whatever happens, and going to it and back is exact."""
        holdfast.restore(workspace, "first")
        assert (directory / "project/changed").read_bytes() == b"before\r\n"
        holdfast.undo(workspace)
        self._is(directory, self.start, "what was undone")

    def check_way_back(self, outcome: Outcome) -> None:
        """Before it, after it, or an unfinished one that is told of and can be finished and taken back."""
        self._check_outside(outcome)
        directory = outcome.directory
        with opened(directory) as workspace:
            with workspace.reading() as journal:
                unfinished = find_unfinished(journal, workspace)
            if unfinished is not None:
                assert not outcome.acknowledged(), "acknowledged, and yet unfinished"
                assert holdfast.status(workspace).unfinished is not None
                if outcome.mode.startswith("E") and not outcome.killed and self.verb not in FINISHING:
                    assert "restore --continue" in outcome.stderr, f"it broke off without a way out: {outcome.stderr}"
                self._refuses(workspace)
        if unfinished is None:
            self._check_settled(outcome)
        else:
            self._in_a_copy(directory, "continued", self._continue)
            self._in_a_copy(directory, "taken-back", self._take_back)

    def _check_settled(self, outcome: Outcome) -> None:
        directory = outcome.directory
        arrived = differing(worktree_of(directory), self.goal) == []
        if outcome.acknowledged() and self.verb == WITH_INDEX:
            git(directory, "diff", "--cached", "--quiet", "HEAD")  # nothing more was staged then
        if outcome.acknowledged() or self.verb in FINISHING:
            self._is(directory, self.goal, "what nobody calls unfinished")
        elif not arrived:
            self._is(directory, self.start, "a mixture that nobody reports; what was there")
        with opened(directory) as workspace:
            if arrived and self.goal != self.origin:
                (holdfast.redo if self.verb == "undo" else holdfast.undo)(workspace)
                self._is(directory, self.origin, "what was taken back")
                self._check_git(directory, "what was taken back")
            if self.verb in AGAIN:
                AGAIN[self.verb](self, workspace)
                self._is(directory, self.goal, "the same command again")
        self._check_afterwards(directory, put=("index",) if self.verb == WITH_INDEX else ())

    def _refuses(self, workspace: Workspace) -> None:
        with pytest.raises(holdfast.Refused, match=r"A (restore|bisect) was interrupted"):
            holdfast.restore(workspace, self.id)
        with pytest.raises(holdfast.Refused, match=r"A (restore|bisect) was interrupted"):
            holdfast.undo(workspace)

    def _continue(self, directory: Path) -> None:
        with opened(directory) as workspace:
            holdfast.continue_restore(workspace)
            self._is(directory, self.ahead, "restore --continue")
            if self.ahead != self.origin:
                (holdfast.redo if self.verb == "undo" else holdfast.undo)(workspace)
                self._is(directory, self.origin, "taking back what was continued")

    def _take_back(self, directory: Path) -> None:
        with opened(directory) as workspace:
            holdfast.undo_restore(workspace)
            self._is(directory, self.origin, "restore --undo")

    def _in_a_copy(self, directory: Path, name: str, act: Callable[[Path], None]) -> None:
        copy = directory.with_name(f"{directory.name}-{name}")
        copy_tree(directory, copy)
        try:
            adopt(copy)
            act(copy)
            self._check_afterwards(copy)
        finally:
            remove_tree(copy)

    def _check_outside(self, outcome: Outcome) -> None:
        """Git's own files are as they were, the store is whole, and a failure is told in a sentence."""
        if outcome.returncode not in (0, None) and not outcome.killed and outcome.mode not in ("kill", "torn", "one"):
            assert "holdfast:" in outcome.stderr, f"exit {outcome.returncode} without a sentence: {outcome.stderr}"
            assert outcome.returncode != 3, f"a bug was reported: {outcome.stderr[-500:]}"
        self._check_git(outcome.directory, "the command", put=self._may_put(outcome))
        with opened(outcome.directory) as workspace:
            assert holdfast.verify(workspace).problems == []

    def _may_put(self, outcome: Outcome) -> tuple[str, ...]:
        """Git's own files that it was asked to write. Killed, it leaves the index's lock to whoever finishes it."""
        if self.verb != WITH_INDEX:
            return ()
        return ("index", "index.lock") if outcome.killed else ("index",)

    def _check_git(self, directory: Path, what: str, put: Sequence[str] = ()) -> None:
        changed = [path for path in differing(git_of(directory), self.git) if path not in put]
        assert changed == [], f"git's own files changed by {what}: {changed}"

    def _check_afterwards(self, directory: Path, put: Sequence[str] = ()) -> None:
        """What came after the fault did no harm either, and git finds nothing wrong with its objects."""
        self._check_git(directory, "what came afterwards", put)
        env = environment(directory)
        done = subprocess.run(["git", "fsck", "--strict"], cwd=directory / "project", env=env, capture_output=True)
        assert done.returncode == 0, f"git fsck: {done.stderr.decode(errors='replace')}"
        left = [path.name for path in (directory / "project").rglob(".holdfast-restore-*")]
        assert left == [], f"left in the worktree: {left}"
        with opened(directory) as workspace:
            assert holdfast.verify(workspace).problems == []

    def _spoil(self, directory: Path) -> None:
        root = directory / "project"
        (root / "changed").write_text("spoiled")
        (root / "kept").unlink()
        (root / "extra").write_text("extra")

    def _is(self, directory: Path, wanted: Tree, what: str) -> None:
        wrong = differing(worktree_of(directory), wanted)
        assert wrong == [], f"{what} is not exact: {wrong}"


def _before_restore(scene: Scene, workspace: Workspace, then: Tree, now: Tree) -> None:
    inside = {path for path in then.keys() | now.keys() if not scene.paths or path.split("/")[0] in scene.paths}
    kept = {path: seen for path, seen in now.items() if path not in inside}
    scene.goal = scene.ahead = kept | {path: seen for path, seen in then.items() if path in inside}


def _before_undo(scene: Scene, workspace: Workspace, then: Tree, now: Tree) -> None:
    holdfast.restore(workspace, scene.id)
    scene.start, scene.origin, scene.goal, scene.ahead = then, then, now, now


def _before_redo(scene: Scene, workspace: Workspace, then: Tree, now: Tree) -> None:
    holdfast.restore(workspace, scene.id)
    holdfast.undo(workspace)
    scene.goal = scene.ahead = then


def _half_way(scene: Scene, workspace: Workspace, then: Tree, now: Tree) -> None:
    """A restore that was killed after it had written one file and half of another."""
    before = holdfast.checkpoint(workspace).checkpoint.id
    begun = Restore(id=ids.make("res"), time=workspace.clock.now(), before=before, target=scene.id)
    with workspace.writing() as journal:
        journal.append(journal.ledger(workspace.worktree).id, Draft("restore.began", {"restore": begun}))
    (workspace.root / "changed").write_bytes(then["changed"][1])
    (workspace.root / "src/.holdfast-restore-0123456789ab").write_text("half")
    scene.start = worktree_of(workspace.root.parent)
    scene.ahead = then
    scene.goal = then if scene.verb == "continue" else now


PREPARED: dict[str, Callable[[Scene, Workspace, Tree, Tree], None]] = {
    "restore": _before_restore,
    "restore many": _before_restore,
    "restore paths": _before_restore,
    WITH_INDEX: _before_restore,
    "rollback": _before_restore,
    "undo": _before_undo,
    "redo": _before_redo,
    "continue": _half_way,
    "take back": _half_way,
}
WAYS = (*PREPARED, "bisect")
FINISHING = ("continue", "take back")
AGAIN: dict[str, Callable[[Scene, Workspace], object]] = {
    "restore": lambda scene, workspace: holdfast.restore(workspace, scene.id),
    "restore many": lambda scene, workspace: holdfast.restore(workspace, scene.id),
    "restore paths": lambda scene, workspace: holdfast.restore(workspace, scene.id, PATHS),
    WITH_INDEX: lambda scene, workspace: holdfast.restore(workspace, scene.id, index=True),
    "rollback": lambda scene, workspace: holdfast.rollback(workspace, scene.id),
    "undo": lambda scene, workspace: holdfast.undo(workspace),
    "redo": lambda scene, workspace: holdfast.redo(workspace),
}
VERBS: dict[str, tuple[str, ...]] = {
    "checkpoint": ("checkpoint",),
    "save": ("save",),
    "guard": ("guard", "--", "true"),
    "tidy": ("tidy", "--most", "1"),
    "restore": ("restore", "CHECKPOINT"),
    "restore many": ("restore", "CHECKPOINT"),
    "restore paths": ("restore", "CHECKPOINT", *PATHS),
    WITH_INDEX: ("restore", "CHECKPOINT", "--index"),
    "rollback": ("rollback", "CHECKPOINT", "--yes"),
    "continue": ("restore", "--continue"),
    "take back": ("restore", "--undo"),
    "undo": ("undo",),
    "redo": ("redo",),
    "bisect": ("bisect", "--", "grep", "-q", "before", "changed"),
}
