"""One checkpoint: shown with all that is known of it, pinned, and proven to be whole."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.model import Checkpoint
from holdfast.operations.show import CheckpointShown, RunShown
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree
from tests.tools import Command
from tests.worktrees import commit, git, insides, put, take


def shown(workspace: Workspace, name: str, *, diff: bool = False) -> CheckpointShown:
    found = holdfast.show(workspace, name, diff=diff)
    assert isinstance(found, CheckpointShown)
    return found


@pytest.fixture
def two(project: Workspace) -> list[Checkpoint]:
    """Two checkpoints of a run, the second with a name."""
    put(project.root, {"a.txt": "one\n"})
    commit(project.root)
    holdfast.start(project, "goal")
    first = take(project)
    put(project.root, {"a.txt": "two\n", "new": "new\n"})
    second = holdfast.checkpoint(project, "ready", message="all green").checkpoint
    return [first, second]


# Showing.


def test_a_checkpoint_is_shown_by_id_beginning_end_name_and_row(project: Workspace, two: list[Checkpoint]) -> None:
    second = two[1]
    for name in (second.id, second.id[:8], second.id[-6:], "ready"):
        assert shown(project, name).checkpoint == second
    holdfast.runs(project)
    assert isinstance(holdfast.show(project, "1"), RunShown)
    holdfast.checkpoints(project)
    assert shown(project, "1").checkpoint == second
    assert shown(project, "2").checkpoint == two[0]
    holdfast.runs(project)
    assert isinstance(holdfast.show(project, "1"), RunShown)


def test_a_name_that_a_run_has_too_means_the_run(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    take(project, run.removeprefix("run-"))
    assert isinstance(holdfast.show(project, run.removeprefix("run-")), RunShown)


def test_what_is_known_of_a_checkpoint_is_shown(project: Workspace, two: list[Checkpoint]) -> None:
    found = shown(project, "ready")
    assert (found.goal, found.before, found.code) == ("goal", two[0].id, None)
    assert found.checkpoint.changed == ["a.txt", "new"]
    done = Command.run("show", "ready", directory=project.root)
    for line in (
        f"{two[1].id}  ready",
        "why        asked: all green",
        f"run        {two[1].run} after event {two[1].seq}  goal",
        f"commit     {two[1].commit} on {two[1].branch}",
        f"changed    2 files since {two[0].id}",
        "  a.txt",
    ):
        assert line in done.out.splitlines()


def test_what_was_skipped_what_is_nested_and_what_is_under_way_is_shown(project: Workspace) -> None:
    put(project.root, {"a.txt": "one\n"})
    head = commit(project.root)
    git(project.root, "init", "-q", "inner")
    put(project.root, {"inner/x": "x"})
    inner = commit(project.root / "inner")
    put(project.root, {"large": b"x" * 1_500_000})
    (project.root / ".git/MERGE_HEAD").write_text(head + "\n")
    holdfast.config_set(project, "checkpoint.file_limit", "1")
    with holdfast.open(project.root, clock=project.clock) as again:
        made = take(again)
    found = shown(project, made.id)
    assert found.nested == {"inner": inner}
    assert found.skipped == {"large": 1_500_000}
    out = Command.run("show", made.id, directory=project.root).out
    assert f"nested     inner at {inner}\n" in out
    assert "skipped    large (1,500,000 bytes)\n" in out
    assert "under way  merge\n" in out


def test_the_difference_to_the_one_before_is_shown_on_demand(project: Workspace, two: list[Checkpoint]) -> None:
    code = shown(project, "ready", diff=True).code
    assert code is not None
    assert "-one\n+two\n" in code
    assert "+new\n" in code
    first = shown(project, two[0].id, diff=True)
    assert first.before is None
    assert "+one\n" in (first.code or "")
    assert "+two" in Command.run("show", "ready", "--diff", directory=project.root).out.splitlines()


def test_the_one_before_is_of_the_same_worktree(project: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    first = take(project)
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        take(linked)
        assert shown(project, take(project).id).before == first.id


def test_showing_a_checkpoint_changes_nothing(project: Workspace, two: list[Checkpoint]) -> None:
    before = insides(project.root)
    shown(project, "ready", diff=True)
    assert insides(project.root) == before


def test_a_checkpoint_that_is_not_there_is_not_shown(project: Workspace) -> None:
    take(project)
    for name in ("cp-nothing", "nothing"):
        with pytest.raises(NotFound):
            holdfast.show(project, name)


def test_a_checkpoint_is_no_run(project: Workspace) -> None:
    made = take(project)
    with pytest.raises(WrongUsage):
        holdfast.show(project, made.id).run.id  # noqa: B018
    done = Command.run("delete", made.id, directory=project.root)
    assert (done.code, done.out) == (2, "")


# Pinning.


def is_pinned(workspace: Workspace, made: Checkpoint) -> bool:
    return shown(workspace, made.id).checkpoint.pinned


def test_one_verb_pins_entries_and_checkpoints(project: Workspace, two: list[Checkpoint]) -> None:
    holdfast.decide(project, "use backoff")
    assert holdfast.pin(project, "1").entry == "d1"
    for name in (two[1].id, two[1].id[:8], "ready"):
        assert holdfast.pin(project, name).entry == two[1].id
        assert is_pinned(project, two[1])
        assert not holdfast.pin(project, name).changed
        assert holdfast.pin(project, name, off=True).changed
        assert not is_pinned(project, two[1])
    assert Command.run("pin", "ready", directory=project.root).out == f"{two[1].id}\n"
    assert "pinned     yes\n" in Command.run("show", "ready", directory=project.root).out


def test_a_checkpoint_is_pinned_without_a_run(project: Workspace) -> None:
    made = take(project, "release")
    assert holdfast.pin(project, "release").run is None
    assert is_pinned(project, made)


def test_what_is_neither_entry_nor_checkpoint_is_not_pinned(project: Workspace, two: list[Checkpoint]) -> None:
    for name in ("cp-nothing", "nothing", "d9"):
        with pytest.raises(NotFound):
            holdfast.pin(project, name)
    with pytest.raises(NotFound):
        holdfast.pin(project, "ready", run=two[1].run)


def test_a_checkpoint_of_another_worktree_is_pinned_in_its_own_ledger(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        made = take(linked)
        holdfast.pin(project, made.id)
        assert is_pinned(linked, made)


# Proving.


@pytest.fixture
def whole(repository: Path, clock: TickingClock) -> Iterator[Workspace]:
    """Checkpoints with objects of the user's and of ours. It is not verified afterwards, since it gets damaged."""
    with holdfast.open(repository, clock=clock) as workspace:
        holdfast.init(workspace)
        put(repository, {"tracked": "tracked\n", "dir/deep": "deep\n"})
        commit(repository)
        put(repository, {"new": "new\n", "other/new": "new too\n"})
        git(repository, "add", "new")
        later = time.time() + 60  # what is as young as the index is read, and kept in a pack of ours
        os.utime(repository / ".git/index", (later, later))
        take(workspace)
        put(repository, {"new": "newer\n"})
        take(workspace)
        yield workspace


def lose_our_packs(root: Path) -> None:
    for path in (root / ".git/objects/pack").glob("pack-*"):
        path.unlink()


def lose_our_ref(root: Path) -> None:
    (root / ".git/refs/holdfast/main").unlink()


def lose_what_was_staged(root: Path) -> None:
    commit(root)
    git(root, "gc", "-q", "--prune=now")
    lose_our_packs(root)


def loose(root: Path, name: str) -> Path:
    id = git(root, "rev-parse", name)
    path = root / ".git/objects" / id[:2] / id[2:]
    path.chmod(0o644)
    return path


def lose_a_file_of_the_users(root: Path) -> None:
    loose(root, "HEAD:dir/deep").unlink()


def lose_a_directory_of_the_users(root: Path) -> None:
    loose(root, "HEAD:dir").unlink()


def change_a_file_of_the_users(root: Path) -> None:
    loose(root, "HEAD:tracked").write_bytes(loose(root, "HEAD:dir/deep").read_bytes())


SEEN_AT_ONCE: list[Callable[[Path], None]] = [lose_our_packs, lose_our_ref, lose_what_was_staged]
SEEN_BY_READING: list[Callable[[Path], None]] = [
    lose_a_file_of_the_users,
    lose_a_directory_of_the_users,
    change_a_file_of_the_users,
]


def test_a_healthy_store_has_no_problems(whole: Workspace) -> None:
    found = holdfast.verify(whole)
    assert (found.problems, found.checkpoints, found.objects) == ([], 2, 0)
    found = holdfast.verify(whole, deep=True)
    assert (found.problems, found.promised) == ([], 0)
    assert found.objects > 10
    done = Command.run("verify", "--deep", directory=whole.root)
    assert (done.code, done.err) == (0, "")
    assert f"2 checkpoints, {found.objects} objects\n" in done.out


def test_proving_changes_nothing(whole: Workspace) -> None:
    before = insides(whole.root)
    holdfast.verify(whole, deep=True)
    assert insides(whole.root) == before


@pytest.mark.promise(8)
@pytest.mark.parametrize("damage", SEEN_AT_ONCE, ids=lambda damage: damage.__name__)
def test_what_a_checkpoint_starts_from_is_looked_for_each_time(
    whole: Workspace, damage: Callable[[Path], None]
) -> None:
    damage(whole.root)
    assert holdfast.verify(whole).problems
    assert Command.run("verify", directory=whole.root).code == 12


@pytest.mark.promise(8)
@pytest.mark.parametrize("damage", SEEN_BY_READING, ids=lambda damage: damage.__name__)
def test_all_that_a_checkpoint_needs_is_read_on_demand(whole: Workspace, damage: Callable[[Path], None]) -> None:
    damage(whole.root)
    found = holdfast.verify(whole, deep=True)
    assert found.problems
    assert all("Traceback" not in problem.what for problem in found.problems)


@pytest.mark.promise(8)
def test_one_changed_byte_anywhere_in_our_packs_is_found(whole: Workspace) -> None:
    seed = random.Random(3)
    packs = sorted((whole.root / ".git/objects/pack").glob("*.pack"))
    for _ in range(40):
        pack = seed.choice(packs)
        data = bytearray(pack.read_bytes())
        at = seed.randrange(len(data))
        pack.chmod(0o644)
        pack.write_bytes(data[:at] + bytes([data[at] ^ 1 << seed.randrange(8)]) + data[at + 1 :])
        assert holdfast.verify(whole, deep=True).problems, (pack.name, at)
        pack.write_bytes(data)
    assert holdfast.verify(whole, deep=True).problems == []


@pytest.mark.promise(8)
def test_what_a_partial_clone_has_not_fetched_is_no_damage(
    whole: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    git(whole.root, "config", "uploadpack.allowFilter", "true")
    url = f"file://{whole.root}"
    git(tmp_path, "clone", "-q", "--filter=blob:none", "--sparse", url, "partial")
    root = tmp_path / "partial"
    with holdfast.open(root, clock=clock) as partial:
        holdfast.init(partial)
        put(root, {"mine": os.urandom(1000)})
        take(partial)
        found = holdfast.verify(partial, deep=True)
        assert (found.problems, found.promised) == ([], 1)
        lose_our_packs(root)
        assert holdfast.verify(partial, deep=True).problems
