"""Purging what a plain delete or a tidying has left, and the files of a run from another worktree."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Busy, NotFound
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace
from tests.canaries import hits
from tests.conftest import TickingClock
from tests.go_team_project import Team
from tests.maintenance.test_purge import CANARY, planted
from tests.maintenance.test_quota import capped
from tests.sessions import a_worktree
from tests.tools import Command

pytestmark = pytest.mark.promise(27)


def test_a_run_that_was_deleted_plainly_can_still_be_purged(project: Workspace) -> None:
    run = planted(project)
    holdfast.delete(project, run)
    assert hits(project.place, CANARY) != []
    done = holdfast.delete(project, run, purge=True)
    assert (done.run, done.events) == (run, 0)
    assert done.purge is not None
    assert done.purge.checkpoints == 4
    assert hits(project.place, CANARY) == []
    assert [path.name for path in (project.place / "deleted").glob("*.json")] == []
    assert holdfast.checkpoints(project).checkpoints == []
    assert holdfast.verify(project, deep=True).problems == []


def test_a_purge_that_somebody_who_reads_holds_up_says_so_and_the_next_one_finishes_it(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = planted(project)
    monkeypatch.setenv("HOLDFAST_STORE_DEADLINE", "0.1")
    with holdfast.open(project.root) as hasty:
        with project.reading() as journal:
            assert journal.get_run(run).id == run
            with pytest.raises(Busy, match="reads the store"):
                holdfast.delete(hasty, run, purge=True)
        holdfast.delete(hasty, run, purge=True)
    assert hits(project.place, CANARY) == []


def test_a_run_that_tidy_removed_can_still_be_purged(project: Workspace, clock: TickingClock, tmp_path: Path) -> None:
    run = holdfast.start(project, "goal").run.id
    holdfast.note(project, f"{CANARY} " * 50)
    holdfast.complete(project)
    holdfast.export(project, run, tmp_path / "exported", raw=True)
    holdfast.start(project, "what the worktree means now")
    clock.time += timedelta(days=40)
    with capped(project, 100, clock, run__keep_days="30") as later:
        assert holdfast.tidy(later).removed == [run]
        assert holdfast.delete(later, run[-6:], purge=True).run == run
        assert hits(later.place, CANARY) == []


def test_the_command_asks_nothing_about_a_run_of_which_nothing_can_be_shown(project: Workspace) -> None:
    run = holdfast.start(project, CANARY).run.id
    holdfast.delete(project, run)
    told = Command.run("delete", run, "--purge", directory=project.root).ok()
    assert "Its events were deleted before" in told.err
    assert hits(project.place, CANARY) == []


def test_a_run_that_nothing_knows_is_not_found_and_the_way_out_is_told(project: Workspace) -> None:
    holdfast.start(project, "another")
    with pytest.raises(NotFound) as caught:
        holdfast.delete(project, "run-0000000000", purge=True)
    assert "uninit --purge" in caught.value.hints[-1]


def test_a_plan_that_cannot_be_read_means_no_run(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    holdfast.delete(project, run)
    for data in (b"", b"{", b"[]", b'{"run": 7}', b"\xff\xfe"):
        (project.place / tombstones.DELETED / f"{run}.json").write_bytes(data)
        with pytest.raises(NotFound):
            holdfast.delete(project, run, purge=True)


@pytest.mark.parametrize("purge", [True, False], ids=["purge", "delete"])
def test_a_go_team_run_leaves_the_registry_of_its_own_worktree(
    project: Workspace, tmp_path: Path, clock: TickingClock, purge: bool
) -> None:
    """Given from another worktree, the entry stayed, and with it the run's topic."""
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        team = Team(linked)
        mine, run = team.begin("mine").id, team.begin(CANARY).id
        team.work("init")
        assert run in (team.root / "sessions.json").read_text()
        holdfast.delete(project, run, purge=purge)
        assert [entry["id"] for entry in team.registry()["sessions"]] == [mine]
        assert hits(team.root, CANARY) == []
        assert not (team.root / run).exists()
        holdfast.status(linked)
        assert [found.id for found in holdfast.runs(linked).runs] == [mine]


def test_a_directory_that_is_no_worktree_of_this_store_is_left_alone(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        team = Team(linked)
        run = team.begin("mine").id
        (linked.root / ".git").unlink()
        before = (team.root / "sessions.json").read_bytes()
        holdfast.delete(project, run, purge=True)
        assert (team.root / "sessions.json").read_bytes() == before
