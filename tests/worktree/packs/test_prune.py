"""Giving space back: what nobody needs goes, and never what the user's own repository rests on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Trouble
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system.git.repository import MARKED
from holdfast.worktree.packs.prune import AWAY, merge
from tests.conftest import TickingClock
from tests.packs import drop_all_but_the_last, grow_old, packs, pruned
from tests.sessions import a_worktree
from tests.worktrees import back, commit, git, put, take

ONLY = "the only copy\n"


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, {"a.txt": "one\n", "dir/b.txt": "two\n"})
    commit(project.root)
    return project


# What the user's own work can rest on. Each gets a file `x` that a checkpoint holds, and answers how to read it.


def committed(root: Path) -> str:
    commit(root)
    return "HEAD:x"


def staged(root: Path) -> str:
    git(root, "add", "x")
    return ":x"


def stashed(root: Path) -> str:
    git(root, "stash", "push", "-u", "-q")
    return "stash@{0}^3:x"


def in_a_commit_that_was_dropped(root: Path) -> str:
    dropped = commit(root)
    git(root, "reset", "-q", "--hard", "HEAD^")
    git(root, "reflog", "expire", "--expire=now", "--all")
    return f"{dropped}:x"


def tagged_as_a_blob(root: Path) -> str:
    git(root, "tag", "-a", "-m", "kept", "precious", git(root, "hash-object", "-w", "x"))
    return "precious^{}"


def named_by_a_ref(root: Path) -> str:
    git(root, "update-ref", "refs/precious", git(root, "hash-object", "-w", "x"))
    return "refs/precious"


def in_a_tree_that_was_just_written(root: Path) -> str:
    git(root, "add", "x")
    tree = git(root, "write-tree")
    git(root, "reset", "-q")
    return f"{tree}:x"


def in_an_index_with_conflicts(root: Path) -> str:
    id = git(root, "hash-object", "-w", "x")
    lines = root.parent / "lines"
    lines.write_text("".join(f"100644 {id} {stage}\tconflicting\n" for stage in (1, 2, 3)))
    with lines.open() as file:
        subprocess.run(["git", "-C", str(root), "update-index", "--index-info"], stdin=file, check=True)
    return ":2:conflicting"


def in_a_split_index(root: Path) -> str:
    git(root, "add", "x")
    git(root, "update-index", "--split-index")
    return ":x"


def committed_and_then_collected(root: Path) -> str:
    """Git's housekeeping removes its own copy of what a pack with a `.keep` holds."""
    git(root, "add", "x")
    git(root, "commit", "-qm", "x")
    git(root, "gc", "-q", "--prune=now")
    git(root, "repack", "-adq")
    return "HEAD:x"


RESTS: list[Callable[[Path], str]] = [
    committed,
    staged,
    stashed,
    in_a_commit_that_was_dropped,
    tagged_as_a_blob,
    named_by_a_ref,
    in_a_tree_that_was_just_written,
    in_an_index_with_conflicts,
    in_a_split_index,
    committed_and_then_collected,
]


@pytest.mark.promise(11)
@pytest.mark.parametrize("rest", RESTS, ids=lambda rest: rest.__name__)
def test_what_the_user_rests_on_stays(held: Workspace, rest: Callable[[Path], str]) -> None:
    put(held.root, {"x": ONLY, "garbage": os.urandom(50_000)})
    take(held)
    (held.root / "garbage").unlink()
    how = rest(held.root)
    put(held.root, {"x": "changed\n"})
    take(held)
    grow_old(held)
    done = holdfast.tidy(held, most=1)
    assert len(done.dropped) == 1
    assert done.freed > 40_000
    assert git(held.root, "cat-file", "-p", how) == ONLY.strip()
    git(held.root, "fsck", "--full")


@pytest.mark.promise(11)
def test_what_another_worktree_has_staged_stays(held: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    with a_worktree(held, tmp_path / "linked", clock) as linked:
        put(held.root, {"x": ONLY, "garbage": os.urandom(50_000)})
        take(held)
        put(linked.root, {"x": ONLY})
        git(linked.root, "add", "x")
        put(held.root, {"x": "changed\n", "garbage": "none"})
        take(held)
        grow_old(held)
        assert holdfast.tidy(held, most=1).freed > 40_000
        assert git(linked.root, "show", ":x") == ONLY.strip()
        git(linked.root, "fsck", "--full")


@pytest.mark.promise(11)
def test_a_pack_that_git_has_just_relied_on_waits_an_hour(held: Workspace) -> None:
    put(held.root, {"x": os.urandom(50_000)})
    take(held)
    git(held.root, "hash-object", "-w", "x")  # nothing names it yet: git only renews the pack's date
    put(held.root, {"x": "changed\n"})
    take(held)
    done = holdfast.tidy(held, most=1)
    assert (len(done.dropped), done.waiting) == (1, 1)
    assert done.freed < 10_000
    grow_old(held)
    done = holdfast.tidy(held, most=1)
    assert (done.dropped, done.waiting) == ([], 0)
    assert done.freed > 40_000


@pytest.mark.promise(11)
def test_a_pack_that_git_relies_on_at_the_same_moment_is_put_back(held: Workspace) -> None:
    put(held.root, {"x": ONLY})
    take(held)
    x = git(held.root, "hash-object", "x")
    put(held.root, {"x": "changed\n"})
    take(held)
    drop_all_but_the_last(held)
    put(held.root, {"y": ONLY})
    pruned(held, lambda: git(held.root, "hash-object", "-w", "y"))
    assert git(held.root, "cat-file", "-p", x) == ONLY.strip()
    assert list((held.root / ".git/objects/pack").glob(f"*{AWAY}")) == []


@pytest.mark.promise(11)
def test_a_new_worktree_whose_first_checkpoint_needs_what_was_to_go(
    held: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(held, tmp_path / "linked", clock) as linked:
        put(held.root, {"x": ONLY})
        take(held)
        put(held.root, {"x": "changed\n"})
        take(held)
        drop_all_but_the_last(held)
        put(linked.root, {"x": ONLY})
        assert pruned(held, lambda: take(linked)).rewritten == 0
        (linked.root / "x").unlink()
        with linked.reading() as journal:
            (made,) = journal.list_checkpoints(linked.worktree)
        back(linked, made)
        assert (linked.root / "x").read_text() == ONLY


def test_merging_does_not_forget_that_git_relied_on_a_pack(held: Workspace) -> None:
    put(held.root, {"x": ONLY})
    take(held)
    git(held.root, "hash-object", "-w", "x")
    with shadow_of(held) as shadow:
        object_store = shadow.object_store
        for number in range(2, 45):
            object_store.keep(number, {b"beside": object_store.blob(b"%d\n" % number)})
        assert merge(shadow) > 40
        assert any(path.with_suffix(".pack").stat().st_mtime != MARKED for path in object_store.packs())
        object_store.drop(range(2, 45))


def test_packs_that_gits_own_index_over_packs_names_are_left_to_it(held: Workspace) -> None:
    put(held.root, {"x": os.urandom(50_000)})
    take(held)
    git(held.root, "multi-pack-index", "write")
    put(held.root, {"x": "changed\n"})
    take(held)
    assert holdfast.tidy(held, most=1).freed < 10_000
    git(held.root, "fsck", "--full")
    (held.root / ".git/objects/pack/multi-pack-index").unlink()
    assert holdfast.tidy(held, most=1).freed > 40_000


@pytest.mark.promise(11)
def test_a_user_who_commits_all_the_time_loses_nothing(held: Workspace) -> None:
    """He commits what checkpoints hold already, while they are dropped and their packs removed."""
    script = 'for n in $(seq 40); do echo "$n" > x; git add x; git commit -qm "$n" || exit 1; done'
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    for number in range(1, 41):
        put(held.root, {"x": f"{number}\n"})
        holdfast.checkpoint(held, files=("x",))
    with subprocess.Popen(["sh", "-c", script], cwd=held.root, env={**os.environ, **who}) as user:
        most = 40
        while user.poll() is None:
            most = max(1, most - 2)
            holdfast.tidy(held, most=most)
            take(held)
    assert user.returncode == 0
    grow_old(held)
    holdfast.tidy(held, most=1)
    git(held.root, "fsck", "--full")
    history = git(held.root, "log", "--format=%H", "-40").splitlines()
    assert [git(held.root, "show", f"{found}:x") for found in reversed(history)] == [str(n) for n in range(1, 41)]


@pytest.mark.promise(23)
def test_nothing_that_a_repository_configures_is_run(held: Workspace, tmp_path: Path) -> None:
    pwned = tmp_path / "pwned"
    act = f"touch {pwned}; cat"
    for key in ("core.fsmonitor", "core.sshCommand", "core.alternateRefsCommand", "diff.external", "core.pager",
                "diff.x.textconv", "diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.x.process",
                "uploadpack.packObjectsHook", "credential.helper", "gpg.program"):  # fmt: skip
        git(held.root, "config", key, act)
    git(held.root, "config", "core.worktree", str(tmp_path))
    git(held.root, "config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for name in ("reference-transaction", "post-index-change", "pre-auto-gc", "post-checkout"):
        (tmp_path / "hooks" / name).write_text(f"#!/bin/sh\n{act}\n")
        (tmp_path / "hooks" / name).chmod(0o755)
    put(held.root, {"x": os.urandom(50_000), ".gitattributes": "* diff=x filter=x\n"})
    holdfast.config_set(held, "checkpoint.filtered", "keep")
    with holdfast.open(held.root, clock=held.clock) as hostile:
        take(hostile)
        put(held.root, {"x": "changed\n"})
        last = take(hostile)
        holdfast.show(hostile, last.id, diff=True)
        assert holdfast.tidy(hostile, most=1).freed > 40_000
        assert holdfast.verify(hostile, deep=True).problems == []
    assert not pwned.exists()
    git(held.root, "config", "--unset", "core.worktree")


# Killed in between.


@pytest.mark.promise(1, 11)
@pytest.mark.parametrize("suffixes", [(".idx",), (".idx", ".pack")])
def test_a_pack_that_was_moved_away_when_the_process_died_comes_back(
    held: Workspace, suffixes: tuple[str, ...]
) -> None:
    put(held.root, {"x": ONLY})
    made = take(held)
    for pack in packs(held):
        for suffix in suffixes:
            path = pack.with_suffix(suffix)
            path.rename(path.with_name(f".{path.name}{AWAY}"))
    assert subprocess.run(["git", "-C", str(held.root), "cat-file", "-e", made.tree], check=False).returncode != 0
    pruned(held)
    (held.root / "x").unlink()
    back(held, made)
    assert (held.root / "x").read_text() == ONLY
    assert list((held.root / ".git/objects/pack").glob(f"*{AWAY}")) == []


def test_half_a_pack_is_cleared_once_it_is_old(held: Workspace) -> None:
    take(held)
    directory = held.root / ".git/objects/pack"
    keep = directory / f"pack-{'0' * 40}.keep"
    keep.write_bytes(b"holdfast\n")
    keep.with_suffix(".pack").write_bytes(b"PACK")
    theirs = directory / f"pack-{'1' * 40}.keep"
    theirs.write_bytes(b"somebody else's\n")
    pruned(held)
    assert keep.exists()
    os.utime(keep, (0, 0))
    pruned(held)
    assert not keep.exists()
    assert not keep.with_suffix(".pack").exists()
    assert theirs.exists()
    theirs.unlink()


def test_nothing_goes_where_the_users_history_cannot_be_read(held: Workspace) -> None:
    put(held.root, {"more": "more\n"})
    commit(held.root)
    put(held.root, {"x": ONLY})
    take(held)
    put(held.root, {"x": "changed\n"})
    take(held)
    tree = git(held.root, "rev-parse", "HEAD~1^{tree}")  # that of HEAD is in a pack of ours as well
    damaged = held.root / ".git/objects" / tree[:2] / tree[2:]
    whole = damaged.read_bytes()
    damaged.chmod(0o644)
    damaged.write_bytes(b"nonsense")
    before = {path: path.read_bytes() for path in packs(held)}
    with pytest.raises(Trouble) as failure:
        holdfast.tidy(held, most=1)
    assert "`git fsck`" in failure.value.hints
    assert before.items() <= {path: path.read_bytes() for path in packs(held)}.items()
    damaged.write_bytes(whole)
    assert holdfast.tidy(held, most=1).dropped == []
    assert not any(path in packs(held) for path in before)
