"""What is forgotten, and what never is."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound
from holdfast.core.model import Checkpoint, Draft
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree
from tests.worktrees import back, commit, git, insides, picture, put, take


def some(project: Workspace, count: int) -> list[Checkpoint]:
    made = []
    for number in range(count):
        put(project.root, {"a.txt": f"{number}\n", "data": f"{number}" * 1000})
        made.append(take(project))
    return made


@pytest.mark.promise(11)
def test_what_is_kept_can_still_be_gone_back_to_and_what_is_dropped_cannot(project: Workspace) -> None:
    made = some(project, 6)
    done = holdfast.tidy(project, most=2)
    assert (set(done.dropped), done.kept) == ({found.id for found in made[:4]}, 2)
    for number in (4, 5):
        back(project, made[number])
        assert (project.root / "a.txt").read_text() == f"{number}\n"
    with pytest.raises(NotFound):
        back(project, made[0])
    git(project.root, "fsck", "--full")


@pytest.mark.promise(11)
def test_what_checkpoints_need_stays_though_the_ref_that_names_them_was_lost(project: Workspace) -> None:
    made = some(project, 3)
    (project.root / ".git/refs/holdfast/main").unlink()
    holdfast.tidy(project, most=2)
    holdfast.repair(project)
    for number in (1, 2):
        back(project, made[number])
        assert (project.root / "a.txt").read_text() == f"{number}\n"


def test_a_dry_run_drops_nothing(project: Workspace) -> None:
    made = some(project, 4)
    before = insides(project.root)
    done = holdfast.tidy(project, most=1, dry_run=True)
    assert (len(done.dropped), done.kept, done.dry_run) == (3, 1, True)
    assert insides(project.root) == before
    back(project, made[0])


@pytest.mark.promise(9, 11)
def test_what_undo_and_redo_need_stays(project: Workspace) -> None:
    made = some(project, 4)
    put(project.root, {"a.txt": "never kept by hand\n"})
    before = picture(project.root)
    back(project, made[0])
    after = picture(project.root)
    some(project, 3)
    holdfast.tidy(project, most=1, days=0)
    holdfast.undo(project)
    assert picture(project.root) == before
    holdfast.tidy(project, most=1, days=0)
    holdfast.redo(project)
    assert (project.root / "a.txt").read_text() == "2\n"
    assert after != before


@pytest.mark.promise(11)
def test_named_ones_and_the_last_of_an_open_run_stay(project: Workspace) -> None:
    put(project.root, {"a.txt": "named\n"})
    named = take(project, "release")
    holdfast.start(project, "goal")
    of_run = some(project, 2)
    holdfast.start(project, "another")
    some(project, 2)
    dropped = holdfast.tidy(project, most=1, days=0).dropped
    assert named.id not in dropped
    assert of_run[1].id not in dropped
    assert of_run[0].id in dropped
    back(project, named)
    assert (project.root / "a.txt").read_text() == "named\n"


@pytest.mark.promise(11)
def test_tidying_one_worktree_leaves_the_checkpoints_of_another(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        theirs = some(linked, 3)
        some(project, 3)
        holdfast.tidy(project, most=1)
        for number, made in enumerate(theirs):
            back(linked, made)
            assert (linked.root / "a.txt").read_text() == f"{number}\n"


@pytest.mark.promise(10, 11)
def test_an_object_that_the_user_needs_too_is_never_taken_away(project: Workspace) -> None:
    """What a checkpoint has stored, git does not store again: the user's commit then lives on our copy alone."""
    put(project.root, {"precious": "the only copy\n", "dir/deep": "another\n"})
    take(project)
    commit(project.root)
    git(project.root, "stash", "list")
    put(project.root, {"staged": "staged after a checkpoint\n"})
    take(project)
    git(project.root, "add", "staged")
    put(project.root, {"precious": "changed\n", "dir/deep": "changed\n", "staged": "changed\n"})
    take(project)
    holdfast.tidy(project, most=1)
    git(project.root, "fsck", "--full")
    assert git(project.root, "show", "HEAD:precious") == "the only copy"
    assert git(project.root, "show", ":staged") == "staged after a checkpoint"


def test_dropped_checkpoints_give_their_space_back(project: Workspace) -> None:
    for number in range(5):
        put(project.root, {"noise": os.urandom(200_000), "number": f"{number}"})
        take(project)
    before = size_of(project.root)
    holdfast.tidy(project, most=1)
    assert size_of(project.root) < before - 700_000


def size_of(root: Path) -> int:
    return sum(path.stat().st_size for path in (root / ".git/objects").rglob("*") if path.is_file())


def test_checkpoints_that_take_much_room_are_told_of(project: Workspace) -> None:
    holdfast.config_set(project, "store.cap", "1")
    del project.settings
    put(project.root, {"large": os.urandom(1_100_000)})
    assert project.warnings == []
    take(project)
    assert project.warnings == ["checkpoints take more than 1 MB; `holdfast tidy` frees space"]


def test_numbers_are_not_used_again_after_tidying(project: Workspace) -> None:
    last = some(project, 4)[-1]
    holdfast.tidy(project, most=1)
    assert take(project).number == last.number + 1


@pytest.mark.promise(11)
def test_a_pinned_one_stays_until_it_is_let_go(project: Workspace) -> None:
    made = some(project, 4)
    assert holdfast.pin(project, made[1].id).changed
    assert made[1].id not in holdfast.tidy(project, most=1).dropped
    back(project, made[1])
    assert (project.root / "a.txt").read_text() == "1\n"
    holdfast.undo(project)
    holdfast.pin(project, made[1].id, off=True)
    some(project, 1)
    with project.reading() as journal:
        assert not any(found.pinned for found in journal.list_checkpoints())


def test_the_oldest_go_until_the_rest_fits_into_so_many_bytes(project: Workspace) -> None:
    made = []
    for number in range(6):
        put(project.root, {"noise": os.urandom(600_000), "number": f"{number}"})
        made.append(take(project))
    assert holdfast.tidy(project, megabytes=10).dropped == []
    done = holdfast.tidy(project, megabytes=2)
    assert done.dropped == [found.id for found in reversed(made[:3])]
    assert 1_800_000 < done.stored < 2_000_000
    back(project, made[3])
    assert (project.root / "number").read_text() == "3"


@pytest.mark.promise(11)
def test_a_repository_cannot_make_tidying_forget_more(project: Workspace, clock: TickingClock) -> None:
    some(project, 5)
    (project.root / ".holdfast.toml").write_text("[store]\ncap = 1\n[checkpoint]\nmost = 1\nkeep_days = 1\n")
    with holdfast.open(project.root, clock=clock) as again:
        assert holdfast.tidy(again, dry_run=True).dropped == []
        assert all("cannot be set by a project" in warning for warning in again.warnings)
        assert len(again.warnings) == 3


def test_what_was_never_asked_for_is_bounded_by_the_settings(project: Workspace, clock: TickingClock) -> None:
    made = some(project, 5)
    assert holdfast.tidy(project).dropped == []
    holdfast.config_set(project, "checkpoint.most", "3")
    with holdfast.open(project.root, clock=clock) as again:
        assert holdfast.tidy(again, most=4).dropped == [made[0].id]
        assert holdfast.tidy(again).dropped == [made[1].id]
    holdfast.config_set(project, "checkpoint.keep_days", "1")
    clock.time += 2 * timedelta(days=1)
    with holdfast.open(project.root, clock=clock) as again:
        assert set(holdfast.tidy(again).dropped) == {found.id for found in made[2:4]}
    holdfast.config_set(project, "store.cap", "1")
    with holdfast.open(project.root, clock=clock) as again:
        for _ in range(3):
            put(project.root, {"noise": os.urandom(600_000)})
            take(again)
        done = holdfast.tidy(again)
        assert (len(done.dropped), done.kept) == (3, 1)
        assert done.room.total < done.cap == 1_000_000


@pytest.mark.promise(11)
def test_a_worktree_that_was_removed_keeps_its_last_checkpoint_until_it_is_too_old(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        theirs = some(linked, 3)
    git(project.root, "worktree", "remove", "--force", str(tmp_path / "linked"))
    some(project, 2)
    assert set(holdfast.tidy(project, most=1).dropped) >= {found.id for found in theirs[:2]}
    holdfast.restore(project, theirs[2].id, force=True)
    assert (project.root / "a.txt").read_text() == "2\n"
    clock.time += timedelta(days=40)
    assert theirs[2].id not in holdfast.tidy(project, days=30).dropped, "undo still needs it"
    holdfast.undo(project)
    assert theirs[2].id in holdfast.tidy(project, days=30).dropped
    assert (project.root / "a.txt").read_text() == "1\n"
    git(project.root, "fsck", "--full")


@pytest.mark.promise(11)
def test_what_the_journal_does_not_know_is_kept_and_counted(project: Workspace) -> None:
    some(project, 2)
    with shadow_of(project) as shadow:
        object_store = shadow.object_store
        object_store.keep(700, {b"beside": object_store.blob(b"from somewhere else")})
    assert holdfast.tidy(project, most=1).unknown == 1
    with shadow_of(project) as shadow:
        assert 700 in shadow.object_store.numbers()


def test_a_tidying_that_was_killed_is_finished_by_the_next_one(project: Workspace) -> None:
    made = some(project, 3)
    with project.writing() as journal:
        ledger = journal.ledger(project.worktree)
        journal.append(ledger.id, *(Draft("checkpoint.dropped", {"id": found.id}) for found in made[:2]))
    assert holdfast.tidy(project).unknown == 0
    with shadow_of(project) as shadow:
        assert shadow.object_store.numbers() == {made[2].number}


@pytest.mark.promise(11)
def test_a_worktree_with_a_name_that_is_no_text_is_not_taken_for_removed(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff"))
    with a_worktree(project, odd, clock) as linked:
        theirs = some(linked, 2)
        some(project, 2)
        assert not set(holdfast.tidy(project, most=1).dropped) & {found.id for found in theirs}


def test_tidying_makes_no_store_where_there_is_none(repository: Path) -> None:
    with holdfast.open(repository) as workspace, pytest.raises(NotFound):
        holdfast.tidy(workspace)
    assert not (repository / ".git/holdfast").exists()


def test_tidying_says_how_far_it_has_come(project: Workspace) -> None:
    some(project, 3)
    said: list[str] = []
    project.progress = lambda what, done, total: said.append(what)
    holdfast.tidy(project, most=1)
    assert list(dict.fromkeys(said)) == ["reading checkpoints", "reading commits", "rewriting packs"]


# What git's own commands do to checkpoints, and what they show of them.


def all_come_back(project: Workspace, made: list[Checkpoint]) -> None:
    for number, found in enumerate(made):
        back(project, found)
        assert (project.root / "a.txt").read_text() == f"{number}\n"
    assert holdfast.verify(project, deep=True).problems == []


GIT_COMMANDS: dict[str, list[tuple[str, ...]]] = {
    "git gc --prune=now": [("gc", "-q", "--prune=now")],
    "git repack -a -d": [("repack", "-q", "-a", "-d")],
    "git repack -A -d and git prune": [("repack", "-q", "-A", "-d"), ("prune", "--expire=now")],
    "git pack-refs and git fsck": [("pack-refs", "--all"), ("fsck", "--full", "--strict")],
    "git reset --hard and git clean": [("reset", "-q", "--hard"), ("clean", "-qfdx")],
    "git stash -u": [("stash", "push", "-q", "-u")],
}


@pytest.mark.promise(11)
@pytest.mark.parametrize("case", GIT_COMMANDS)
def test_every_checkpoint_comes_back_exactly_after_what_git_does(project: Workspace, case: str) -> None:
    put(project.root, {"tracked": "1\n"})
    commit(project.root)
    made = some(project, 4)
    for arguments in GIT_COMMANDS[case]:
        git(project.root, *arguments)
    all_come_back(project, made)
    said = git(project.root, "fsck", "--full").splitlines()
    assert all(line.startswith("dangling tree ") for line in said), "lists of checkpoints that our ref has left behind"


def test_checkpoints_go_along_with_no_clone_and_no_push(project: Workspace, tmp_path: Path) -> None:
    put(project.root, {"tracked": "1\n"})
    commit(project.root)
    made = some(project, 2)
    git(project.root, "clone", "-q", f"file://{project.root}", str(tmp_path / "clone"))
    git(tmp_path, "init", "-q", "--bare", "other")
    for arguments in (("push", "-q"), ("push", "-q", "--all"), ("push", "-q", "--tags")):
        git(project.root, *arguments, str(tmp_path / "other"), *(["HEAD:refs/heads/x"] if len(arguments) == 2 else []))
    for elsewhere in (tmp_path / "clone", tmp_path / "other"):
        assert "refs/holdfast" not in git(elsewhere, "for-each-ref")
        assert git(elsewhere, "cat-file", "--batch-all-objects", "--batch-check").count("\n") == 2
    all_come_back(project, made)


def test_only_a_mirror_and_the_list_of_all_refs_show_checkpoints(project: Workspace, tmp_path: Path) -> None:
    put(project.root, {"tracked": "1\n"})
    commit(project.root)
    made = some(project, 2)
    for arguments in (("log", "--all", "--format=%D"), ("branch", "-a"), ("stash", "list"), ("status",), ("tag",)):
        assert "holdfast" not in git(project.root, *arguments)
    assert git(project.root, "for-each-ref", "--format=%(refname) %(objecttype)", "refs/holdfast") == (
        "refs/holdfast/main tree"
    )
    git(tmp_path, "init", "-q", "--bare", "mirror")
    git(project.root, "push", "-q", "--mirror", str(tmp_path / "mirror"))
    assert "refs/holdfast/main" in git(tmp_path / "mirror", "for-each-ref")
    all_come_back(project, made)
