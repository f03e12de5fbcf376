"""Where git's own directory lies among the files of a worktree, under whatever name: it is no part of a checkpoint."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Refused
from holdfast.project.workspace import Workspace
from holdfast.worktree import capture
from holdfast.worktree.metadata import ALWAYS
from tests.conftest import TickingClock
from tests.worktrees import back, commit, git, put, take

pytestmark = pytest.mark.promise(1, 9, 10)


def bare_beside_its_worktrees(root: Path) -> Path:
    seed = root.parent / "seed"
    git(root.parent, "init", "-q", str(seed))
    put(seed, {"a": "one"})
    commit(seed)
    git(root.parent, "clone", "-q", "--bare", str(seed), str(root / ".bare"))
    (root / ".git").write_text("gitdir: ./.bare\n")
    git(root, "worktree", "add", "-q", "-b", "work", "work")
    return root / ".bare"


def separate(root: Path) -> Path:
    git(root.parent, "init", "-q", f"--separate-git-dir={root}/.gitdata", str(root))
    return root / ".gitdata"


def deep_and_tracked(root: Path) -> Path:
    (root / "dir").mkdir()
    git(root.parent, "init", "-q", f"--separate-git-dir={root}/dir/data", str(root))
    git(root, "add", "-f", "dir/data/HEAD", "dir/data/config")
    return root / "dir/data"


LAYOUTS: dict[str, Callable[[Path], Path]] = {
    found.__name__.replace("_", " "): found for found in (bare_beside_its_worktrees, separate, deep_and_tracked)
}


@pytest.fixture(params=LAYOUTS)
def laid_out(request: pytest.FixtureRequest, tmp_path: Path, clock: TickingClock) -> Iterator[tuple[Workspace, Path]]:
    root = tmp_path / "project"
    root.mkdir()
    directory = LAYOUTS[request.param](root)
    put(root, {"a.txt": "one", "dir/b.txt": "two"})
    with holdfast.open(root, clock=clock) as workspace:
        holdfast.init(workspace)
        yield workspace, directory
        assert holdfast.verify(workspace).problems == []


def commit_something(root: Path) -> str:
    """On a branch that is nobody's HEAD, as another worktree would."""
    blob = git(root, "hash-object", "-w", "a.txt")
    (root.parent / "list").write_text(f"100644 blob {blob}\ta\n")
    with open(root.parent / "list") as lines:
        tree = subprocess.run(["git", "-C", root, "mktree"], stdin=lines, capture_output=True, check=True, text=True)
    made = git(root, "commit-tree", "-m", "precious", tree.stdout.strip())
    git(root, "update-ref", "refs/heads/precious", made)
    return made


def state_of(directory: Path) -> dict[str, str]:
    """All that a restore must not change in a git directory: what is neither ours nor an object."""
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_file() and not name.startswith(("holdfast", "objects", "refs/holdfast")):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def test_a_restore_leaves_a_git_directory_among_the_files_as_it_is(laid_out: tuple[Workspace, Path]) -> None:
    workspace, directory = laid_out
    root = workspace.root
    made = take(workspace)
    kept = git(root, "ls-tree", "-r", "--name-only", made.tree).split("\n")
    assert kept == ["a.txt", "dir/b.txt"]
    precious = commit_something(root)
    put(root, {"a.txt": "changed"})
    before = state_of(directory)
    holdfast.start(workspace, "to be remembered")
    restored = back(workspace, made)
    assert (restored.paths, (root / "a.txt").read_text()) == (["a.txt"], "one")
    assert git(root, "rev-parse", "refs/heads/precious") == precious
    assert state_of(directory) == before
    assert [run.goal for run in holdfast.runs(workspace).runs] == ["to be remembered"]
    holdfast.undo(workspace)
    assert (root / "a.txt").read_text() == "changed"
    assert state_of(directory) == before


def test_nobody_can_ask_for_what_is_in_such_a_directory(laid_out: tuple[Workspace, Path]) -> None:
    workspace, directory = laid_out
    name = str((directory / "config").relative_to(workspace.root))
    holdfast.config_set(workspace, "checkpoint.include", f"{name}, **/HEAD")
    del workspace.settings
    take(workspace)
    made = holdfast.checkpoint(workspace, files=(name, "a.txt")).checkpoint
    assert git(workspace.root, "ls-tree", "-r", "--name-only", made.tree).split("\n") == ["a.txt", "dir/b.txt"]


def test_a_checkpoint_that_holds_branches_brings_back_files_alone(
    laid_out: tuple[Workspace, Path], clock: TickingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version made such, and remembered them."""
    workspace, directory = laid_out
    root = workspace.root
    with monkeypatch.context() as earlier, holdfast.open(root, clock=clock) as other:
        earlier.setattr(capture, "find_borders", lambda *_: ALWAYS)
        earlier.setattr(capture, "FORM", 0)
        made = take(other)
        assert any(path.endswith("/HEAD") for path in git(root, "ls-tree", "-r", "--name-only", made.tree).split("\n"))
    commit_something(root)
    put(root, {"a.txt": "changed"})
    before = state_of(directory)
    assert back(workspace, made).paths == ["a.txt"]
    assert state_of(directory) == before
    made = take(workspace)
    assert git(root, "ls-tree", "-r", "--name-only", made.tree).split("\n") == ["a.txt", "dir/b.txt"]


def test_the_directory_of_a_repository_is_no_worktree(tmp_path: Path, clock: TickingClock) -> None:
    root = tmp_path / "some.git"
    git(tmp_path, "init", "-q", "--bare", str(root))
    before = state_of(root)
    with holdfast.open(root, clock=clock) as workspace:
        holdfast.init(workspace)
        with pytest.raises(Refused, match="the directory of a repository and no worktree"):
            take(workspace)
    after = {name: found for name, found in state_of(root).items() if not name.startswith(".holdfast")}
    assert after == before


def test_a_worktree_with_names_that_git_uses_has_checkpoints(project: Workspace) -> None:
    put(project.root, {"HEAD": "a head", "objects/x": "1", "refs/y": "2"})
    made = take(project)
    put(project.root, {"HEAD": "another"})
    back(project, made)
    assert (project.root / "HEAD").read_text() == "a head"
