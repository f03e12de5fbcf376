"""Worktrees and repositories as checkpoints meet them: made with real git, and looked at byte for byte."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import holdfast
from holdfast.core.model import Checkpoint
from holdfast.project.checkpoints.restore import Restored
from holdfast.project.workspace import Workspace

WHO = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false", "-c", "gc.auto=0")
AS_IT_IS = ("-c", "core.autocrlf=false", "-c", "core.safecrlf=false", "-c", "advice.addEmbeddedRepo=false")
OURS = ("holdfast", "refs/holdfast")

Picture = dict[bytes, tuple[int, bytes]]


def git(root: Path, *arguments: str, env: dict[str, str] | None = None) -> str:
    """Run git as the user would."""
    command = ["git", "-C", str(root), *WHO, *arguments]
    done = subprocess.run(command, env={**os.environ, **(env or {})}, capture_output=True, check=False)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def commit(root: Path, message: str = "more") -> str:
    """Commit all that is there, and answer with the commit."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", message)
    return git(root, "rev-parse", "HEAD")


def put(root: Path, content: dict[str, str | bytes]) -> None:
    """Write files, with the directories above them."""
    for name, data in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


def put_long_ago(root: Path, content: dict[str, str | bytes]) -> None:
    """Write files that git need not read twice, because they are as old as it is."""
    put(root, content)
    for name in content:
        os.utime(root / name, (1, 1))


def let_the_files_be_old(workspace: Workspace) -> None:
    """Older than the index: else each of them is looked at, because git compares whole seconds."""
    later = time.time() + 10
    os.utime(workspace.root / ".git/index", (later, later))


def take(workspace: Workspace, name: str | None = None) -> Checkpoint:
    return holdfast.checkpoint(workspace, name).checkpoint


def back(workspace: Workspace, checkpoint: Checkpoint, *paths: str) -> Restored:
    return holdfast.restore(workspace, checkpoint.id, paths)


def tree_by_git(root: Path) -> str:
    """The tree that `git add -A` and `git write-tree` make with a throw-away index; it writes nothing that stays."""
    directory = Path(git(root, "rev-parse", "--absolute-git-dir"))
    objects = Path(git(root, "rev-parse", "--path-format=absolute", "--git-path", "objects"))
    with tempfile.TemporaryDirectory() as scratch:
        index = Path(scratch) / "index"
        if (directory / "index").exists():
            shutil.copy2(directory / "index", index)
        env = {
            "GIT_INDEX_FILE": str(index),
            "GIT_OBJECT_DIRECTORY": scratch,
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects),
        }
        git(root, *AS_IT_IS, "add", "-A", env=env)
        return git(root, "write-tree", env=env)


def picture(root: Path, *without: str) -> Picture:
    """Every path of a worktree with its kind, mode and content; git's own directory and ours are left out."""
    base = os.fsencode(root)
    found: Picture = {}
    for directory, names, files in os.walk(base):
        if directory == base:
            names[:] = [name for name in names if name not in (b".git", b".holdfast")]
        for name in (*names, *files):
            path = os.path.join(directory, name)
            inside = os.path.relpath(path, base)
            if inside != b".git" and os.fsdecode(inside) not in without:
                found[inside] = _look(path)
    return found


def _look(path: bytes) -> tuple[int, bytes]:
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return status.st_mode, os.readlink(path)
    if stat.S_ISREG(status.st_mode):
        return status.st_mode, Path(os.fsdecode(path)).read_bytes()
    return stat.S_IFMT(status.st_mode), b""  # the bits of a directory are not kept


def wreck(root: Path) -> None:
    """Leave nothing as it was: all is gone but git's directory, and something else is there."""
    for path in list(root.iterdir()):
        if path.name not in (".git", ".holdfast"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    put(root, {"wreck.txt": "wrecked", "wrecked/deep/file": "wrecked"})


def insides(root: Path) -> dict[str, str]:
    """Everything in a repository's directory, except what is ours: path -> mode and hash."""
    directory = root / ".git"
    found = {}
    for path in sorted(directory.rglob("*")):
        name = str(path.relative_to(directory))
        if path.is_file() and not name.startswith(OURS) and not _is_our_pack(path):
            found[name] = f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found


def _is_our_pack(path: Path) -> bool:
    keep = path.with_suffix(".keep")
    return path.parent.name == "pack" and keep.exists() and keep.read_bytes() == b"holdfast\n"


def said_by_git(root: Path) -> dict[str, str]:
    """What a user sees of the repository, asked for without git's own refreshing of the index."""
    quiet = {"GIT_OPTIONAL_LOCKS": "0"}
    questions: tuple[tuple[str, ...], ...] = (
        ("log", "--all", "--oneline", "--graph"),
        ("status", "--porcelain=v2", "--branch", "--ignored"),
        ("stash", "list"),
        ("branch", "-a"),
        ("tag",),
        ("reflog", "--all"),
        ("fsck", "--full", "--no-dangling"),  # trees that our ref has left behind dangle
    )
    return {" ".join(question): git(root, *question, env=quiet) for question in questions}


def locks(root: Path) -> Iterator[Path]:
    return (root / ".git").rglob("*.lock")
