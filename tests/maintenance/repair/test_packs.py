"""Damaged packs of ours: what can be read of them stays, wherever it is needed, and what cannot is looked for."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.maintenance.repair.repair import Mended
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system.git import command as speaking
from holdfast.system.git.repository import Repository
from holdfast.worktree.packs import prune
from tests.conftest import TickingClock
from tests.packs import drop_all_but_the_last, packs
from tests.sessions import a_worktree
from tests.worktrees import back, commit, git, picture, put, take

WORDS: dict[str, str | bytes] = {
    f"f{n}": b"".join(b"line %d of file %d: %d\n" % (m, n, n * m * 7919 % 10007) for m in range(200)) for n in range(6)
}


def mend(workspace: Workspace) -> Mended:
    found = holdfast.repair(workspace).store
    assert found is not None
    return found


def offsets(root: Path, pack: Path) -> dict[str, int]:
    """Where the objects of a pack begin, in their order; not those to which others are differences."""
    lines = [line.split() for line in git(root, "verify-pack", "-v", str(pack.with_suffix(".idx"))).splitlines()]
    bases = {line[6] for line in lines if len(line) == 7}
    found = {line[0]: int(line[4]) for line in lines if len(line) in (5, 7) and len(line[0]) == 40}
    return {id: found[id] for id in sorted(found, key=found.__getitem__) if id not in bases}


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at : at + 4] = bytes(byte ^ 0xFF for byte in data[at : at + 4])
    path.chmod(0o600)
    path.write_bytes(data)


def readable(root: Path, names: Iterable[str]) -> list[str]:
    def can_read(name: str) -> bool:
        return subprocess.run(["git", "-C", root, "cat-file", "-p", name], capture_output=True).returncode == 0

    return [name for name in names if can_read(name)]


def largest(workspace: Workspace) -> Path:
    return max(packs(workspace), key=lambda path: path.stat().st_size)


def in_small_packs(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    pass


def merged(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one pack, in which most are told as differences to others."""
    put(workspace.root, {name: b"%bmore\n" % (workspace.root / name).read_bytes() for name in WORDS})
    take(workspace)
    monkeypatch.setattr(prune, "MERGED", 2)
    with shadow_of(workspace) as shadow:
        assert prune.merge(shadow)


@pytest.mark.promise(4, 6)
@pytest.mark.parametrize("kept", [in_small_packs, merged])
def test_one_damaged_object_costs_none_that_stands_behind_it(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, kept: Callable[[Workspace, pytest.MonkeyPatch], None]
) -> None:
    put(project.root, WORDS)
    made = take(project)
    before = picture(project.root)
    kept(project, monkeypatch)
    put(project.root, WORDS)
    pack = largest(project)
    places = offsets(project.root, pack)
    ours = {git(project.root, "hash-object", name) for name in WORDS}
    broken = next(id for id in places if id in ours)
    flip(pack, places[broken] + 10)
    sound = readable(project.root, places)
    assert len(sound) == len(places) - 1
    assert mend(project).lost == []  # the file itself still lies in the worktree
    assert readable(project.root, places) == list(places)
    assert not mend(project).changed
    back(project, made)
    assert picture(project.root) == before


@pytest.mark.promise(4, 6, 11)
def test_what_only_commits_need_of_a_damaged_pack_stays_or_is_called_lost(project: Workspace) -> None:
    """Git does not write an object again that a pack of ours holds."""
    put(project.root, WORDS)
    take(project)
    commit(project.root)
    put(project.root, dict.fromkeys(WORDS, "other"))
    commit(project.root)
    take(project)
    drop_all_but_the_last(project)
    pack = largest(project)
    places = offsets(project.root, pack)
    ours = [git(project.root, "rev-parse", f"HEAD~:{name}") for name in WORDS]
    broken = next(id for id in places if id in ours)
    flip(pack, places[broken] + 10)
    assert mend(project).lost == [f"1 object that checkpoints or commits need, such as {broken}"]
    assert readable(project.root, ours) == [id for id in ours if id != broken]
    assert not mend(project).changed


@pytest.mark.promise(4, 6)
@pytest.mark.parametrize("at", [-60, -1, 8, 1100], ids=["a place", "its sum", "its head", "a name"])
def test_a_pack_whose_index_alone_is_damaged_loses_nothing(project: Workspace, at: int) -> None:
    put(project.root, WORDS)
    made = take(project)
    before = picture(project.root)
    put(project.root, dict.fromkeys(WORDS, "other"))
    pack = largest(project)
    names = list(offsets(project.root, pack))
    index = pack.with_suffix(".idx")
    flip(index, at % index.stat().st_size)
    assert mend(project).lost == []
    assert readable(project.root, names) == names
    assert not mend(project).changed
    back(project, made)
    assert picture(project.root) == before


@pytest.mark.promise(4, 6)
def test_a_pack_whose_own_sum_is_damaged_loses_nothing(project: Workspace) -> None:
    """Git then reads nothing of it any more."""
    put(project.root, WORDS)
    made = take(project)
    before = picture(project.root)
    put(project.root, dict.fromkeys(WORDS, "other"))
    pack = largest(project)
    flip(pack, pack.stat().st_size - 10)
    assert mend(project).lost == []
    assert not mend(project).changed
    back(project, made)
    assert picture(project.root) == before


def leave_to_the_pack(workspace: Workspace) -> list[str]:
    """Let a commit need what lies in one pack of ours only; answers with the names of it."""
    root = workspace.root
    (root / "e").mkdir()
    put(root, WORDS)
    take(workspace)
    commit(root)
    (root / "e").rmdir()
    put(root, dict.fromkeys(WORDS, "other"))
    commit(root)
    take(workspace)
    drop_all_but_the_last(workspace)
    return [git(root, "rev-parse", f"HEAD~:{name}") for name in WORDS]


@pytest.mark.promise(5, 6, 11)
@pytest.mark.parametrize("said", ["fatal: fsync error on 'x': Input/output error", "error: unable to write file: x"])
def test_what_git_cannot_write_of_a_pack_is_not_taken_for_damaged(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    """A failed sync was: the pack went, and with it what the user's own commits need."""
    ours = leave_to_the_pack(project)
    flip(largest(project).with_suffix(".idx"), 0)
    finish = speaking.Running.finish

    def fail(self: speaking.Running, *arguments: Any, **options: Any) -> bytes:
        if self.name != "unpack-objects":
            return finish(self, *arguments, **options)
        self.stop()
        self.said = f"{said}\n".encode()
        return b""

    with monkeypatch.context() as patch:
        patch.setattr(speaking.Running, "finish", fail)
        with pytest.raises(holdfast.Trouble, match="cannot write"):
            holdfast.repair(project)
    assert mend(project).lost == []
    assert readable(project.root, ours) == ours


@pytest.mark.promise(6)
def test_what_commits_lose_is_said_also_where_the_index_of_the_pack_cannot_be_read(project: Workspace) -> None:
    ours = leave_to_the_pack(project)
    pack = largest(project)
    places = offsets(project.root, pack)
    tree = git(project.root, "rev-parse", "HEAD~^{tree}")
    flip(pack, places[next(id for id in places if id in ours)] + 10)
    flip(pack.with_suffix(".idx"), 0)
    assert mend(project).lost == [f"1 object that checkpoints or commits need, such as {tree}"]
    assert readable(project.root, ours) == []


@pytest.mark.promise(6, 18)
def test_a_repository_inside_that_nobody_can_read_holds_no_repair_up(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project.root, WORDS)
    (project.root / "sub/.git").mkdir(parents=True)
    os.mkfifo(project.root / "sub/.git/HEAD")
    made = take(project)
    monkeypatch.setattr(speaking, "DEADLINE", 10.0)
    lose(project, git(project.root, "rev-parse", f"{made.tree}:f0"))
    assert mend(project).lost == []


@pytest.mark.promise(4, 6)
def test_checkpoints_are_made_again_after_a_tree_of_the_newest_was_lost(project: Workspace) -> None:
    """What we remember of the worktree named the lost tree, and every checkpoint and restore ended with that."""
    put(project.root, WORDS)
    first = take(project)
    put(project.root, {"f0": "later"})
    made = take(project)
    pack = next(pack for pack in packs(project) if made.tree in offsets(project.root, pack))
    flip(pack, offsets(project.root, pack)[made.tree] + 10)
    assert mend(project).lost
    assert take(project).tree == made.tree
    assert holdfast.verify(project, deep=True).problems == []
    back(project, first)


@pytest.mark.promise(4, 6)
@pytest.mark.parametrize("is_packed", [False, True], ids=["ref", "packed ref"])
def test_checkpoints_are_made_again_after_all_were_lost(project: Workspace, is_packed: bool) -> None:
    put(project.root, WORDS)
    lost = take(project)
    if is_packed:
        git(project.root, "pack-refs", "--all")
    for pack in packs(project):
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
    for name in WORDS:
        (project.root / name).unlink()
    assert mend(project).mended == ["refs/holdfast/main was rebuilt"]
    assert mend(project).mended == []
    put(project.root, {"new": "new"})
    take(project)
    with project.writing() as journal:
        journal.append(journal.ledger(".").id, holdfast.Draft("checkpoint.dropped", {"id": lost.id}))


@pytest.fixture
def linked(project: Workspace, tmp_path: Path, clock: TickingClock) -> Iterator[list[Workspace]]:
    """Two linked worktrees with a checkpoint each, whose packs are damaged; there is none in the main worktree."""
    with a_worktree(project, tmp_path / "one", clock) as one, a_worktree(project, tmp_path / "two", clock) as two:
        for workspace in (one, two):
            put(workspace.root, {"large": random.Random(workspace.root.name).randbytes(3000)})
            take(workspace)
        for pack in packs(project):
            flip(pack, 200)
        yield [one, two]


@pytest.mark.promise(4, 6, 8)
@pytest.mark.parametrize("where", ["main", "one"])
def test_packs_are_mended_from_any_worktree_with_what_lies_in_all_of_them(
    project: Workspace, linked: list[Workspace], where: str
) -> None:
    workspace = project if where == "main" else linked[0]
    found = mend(workspace)
    assert (found.changed, found.lost) == (True, [])
    assert not mend(workspace).changed
    assert holdfast.verify(workspace, deep=True).problems == []


@pytest.mark.promise(6, 20)
def test_a_directory_that_only_claims_to_be_a_worktree_is_not_looked_at(project: Workspace, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path / "other")], check=True)
    forged = project.root / ".git/worktrees/other"
    forged.mkdir(parents=True)
    (forged / "gitdir").write_text(f"{tmp_path}/other/.git\n")
    assert Repository(project.root).roots() == [project.root]


def lose(workspace: Workspace, *ids: str) -> None:
    """Let our packs be loose objects, and these be gone."""
    root = workspace.root
    for pack in packs(workspace):
        data = pack.read_bytes()
        for part in pack.parent.glob(f"{pack.stem}.*"):
            part.unlink()
        subprocess.run(["git", "unpack-objects", "-q"], cwd=root, input=data, check=True)
    for id in ids:
        (root / ".git/objects" / id[:2] / id[2:]).unlink()


@pytest.mark.promise(4, 6)
@pytest.mark.parametrize("is_packed", [False, True], ids=["ref", "packed ref"])
@pytest.mark.parametrize("depth", range(4))
def test_shelves_that_are_lost_are_made_anew(project: Workspace, depth: int, is_packed: bool) -> None:
    """All that they hold is known elsewhere. A repair ended with the words that one was missing."""
    put(project.root, WORDS)
    made = [take(project)]
    put(project.root, {"f0": "later\n"})
    made.append(take(project))
    before = picture(project.root)
    tip = git(project.root, "rev-parse", "refs/holdfast/main").strip()
    if is_packed:
        git(project.root, "pack-refs", "--all")
    listed = [line.split() for line in git(project.root, "ls-tree", "-d", "-r", "-t", tip).splitlines()]
    shelves = [tip, *(id for _, _, id, path in listed if path.count("/") == depth - 1 and depth)]
    lose(project, shelves[min(depth, 1)])
    assert holdfast.verify(project, deep=True).problems
    assert mend(project).lost == []
    assert holdfast.verify(project, deep=True).problems == []
    assert not mend(project).changed
    for checkpoint in reversed(made):
        back(project, checkpoint)
    assert (project.root / "f0").read_bytes() == WORDS["f0"]
    back(project, made[1])
    assert picture(project.root) == before
