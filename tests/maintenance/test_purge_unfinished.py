"""A purge, and a restore that was killed: what that has overwritten is only in the checkpoint that it began with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.core import ids
from holdfast.core.errors import Refused
from holdfast.core.model import Draft, Restore
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree
from tests.tools import Command
from tests.worktrees import picture, put, take

pytestmark = [pytest.mark.promise(9), pytest.mark.promise(27)]


def broken_off(project: Workspace, target: str, run: str) -> None:
    """A restore that overwrote the first file, and was killed then; what was there became a checkpoint of a run."""
    before = holdfast.checkpoint(project, run=run).checkpoint
    wanted = Restore(ids.make("res"), project.clock.now(), before.id, target)
    with project.writing() as journal:
        journal.append(journal.ledger(project.worktree).id, Draft("restore.began", {"restore": wanted}))
    put(project.root, {"a.txt": "old\n"})


@pytest.mark.parametrize("deleted", [False, True], ids=["at once", "deleted before"])
def test_a_run_that_an_unfinished_restore_needs_is_not_purged(project: Workspace, deleted: bool) -> None:
    """The purge ended the restore, and took the only copy of what it had overwritten."""
    run = holdfast.start(project, "goal").run.id
    put(project.root, {"a.txt": "old\n"})
    target = take(project)
    put(project.root, {"a.txt": "hours of work\n"})
    before = picture(project.root)
    broken_off(project, target.id, run)
    if deleted:
        holdfast.delete(project, run)
    with pytest.raises(Refused, match="A restore was interrupted") as caught:
        holdfast.delete(project, run, purge=True)
    assert [hint.split("`")[1] for hint in caught.value.hints] == [
        "holdfast restore --continue",
        "holdfast restore --undo",
    ]
    assert "restore --undo" in Command.run("delete", run, "--purge", "--yes", directory=project.root).err
    holdfast.undo_restore(project)
    assert picture(project.root) == before
    assert holdfast.delete(project, run, purge=True).purge is not None


def test_a_run_that_only_the_goal_of_an_unfinished_restore_belongs_to_is_not_purged(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    put(project.root, {"a.txt": "old\n"})
    target = take(project)
    other = holdfast.start(project, "another").run.id
    put(project.root, {"a.txt": "new\n"})
    broken_off(project, target.id, other)
    for needed in (run, other):
        with pytest.raises(Refused, match="A restore was interrupted"):
            holdfast.delete(project, needed, purge=True)
    third = holdfast.start(project, "a third").run.id
    holdfast.delete(project, third, purge=True)
    holdfast.continue_restore(project)
    holdfast.delete(project, run, purge=True)


def test_the_way_out_leads_to_the_worktree_of_the_restore_and_one_that_is_gone_refuses_nothing(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    run = holdfast.start(project, "goal").run.id
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        put(linked.root, {"a.txt": "old\n"})
        target = holdfast.checkpoint(linked, run=run).checkpoint
        put(linked.root, {"a.txt": "new\n"})
        broken_off(linked, target.id, run)
    with pytest.raises(Refused, match="A restore was interrupted") as caught:
        holdfast.delete(project, run, purge=True)
    assert f"`cd {tmp_path / 'linked'} && holdfast restore --undo`" in caught.value.hints[1]
    git = ["git", "-C", str(project.root), "worktree", "remove", "--force", str(tmp_path / "linked")]
    subprocess.run(git, check=True)
    assert holdfast.delete(project, run, purge=True).purge is not None
