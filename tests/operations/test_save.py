"""Saving a run, the two ends of a session, and the archive of runs that have ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import holdfast
from holdfast.core.brief import Brief
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.model import Draft
from holdfast.layouts.save import Saved
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree, run_of
from tests.tools import hook, unfenced
from tests.worktrees import put


def keep(project: Workspace, run: str | None = None) -> Saved:
    """Save a run of our own."""
    found = holdfast.save(project, run=run)
    assert isinstance(found, Saved)
    return found


@pytest.fixture
def begun(project: Workspace) -> Workspace:
    holdfast.start(project, "goal")
    put(project.root, {"a.txt": "one\n"})
    return project


# save


def test_save_keeps_code_and_state_as_a_checkpoint(begun: Workspace) -> None:
    holdfast.decide(begun, "a decision")
    saved = keep(begun)
    made = saved.checkpoint
    assert (made.kind, made.run, made.seq, saved.changed) == ("saved", saved.run, saved.seq, True)
    assert (saved.run, saved.seq) == (run_of(begun).id, run_of(begun).seq)
    put(begun.root, {"a.txt": "two\n"})
    holdfast.restore(begun, made.id)
    assert (begun.root / "a.txt").read_text() == "one\n"


def test_saving_again_makes_no_other_checkpoint(begun: Workspace) -> None:
    first = keep(begun)
    again = keep(begun)
    assert (again.checkpoint.id, again.changed) == (first.checkpoint.id, False)
    assert len(holdfast.checkpoints(begun).checkpoints) == 1


def test_what_the_run_learned_is_worth_saving_too(begun: Workspace) -> None:
    first = keep(begun)
    holdfast.note(begun, "a note")
    assert keep(begun).checkpoint.id != first.checkpoint.id


def test_save_takes_in_what_hooks_kept(begun: Workspace) -> None:
    before = keep(begun).seq
    hook(begun.root, "robot", "Did", json.dumps({"x": 1}).encode())
    saved = keep(begun)
    assert saved.seq > before
    assert saved.changed


def test_save_names_the_run_that_is_asked_for(begun: Workspace) -> None:
    first = run_of(begun).id
    holdfast.start(begun, "another")
    assert keep(begun, run=first).checkpoint.run == first


def test_without_a_run_there_is_nothing_to_save(project: Workspace) -> None:
    with pytest.raises(NotFound):
        holdfast.save(project)


def test_without_a_store_save_makes_none(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        with pytest.raises(NotFound, match="no Holdfast store"):
            holdfast.save(workspace)
        assert not workspace.place.exists()


def test_where_holdfast_is_off_nothing_is_saved(begun: Workspace) -> None:
    holdfast.off(begun)
    with pytest.raises(Refused, match="off"):
        holdfast.save(begun)
    assert not list(begun.place.glob("worktrees/*"))
    holdfast.on(begun)


def test_a_mixture_is_not_saved(begun: Workspace) -> None:
    made = keep(begun).checkpoint
    restore = {"id": "res-1", "time": made.time, "before": made.id, "target": made.id}
    with begun.writing() as journal:
        journal.append(journal.ledger(begun.worktree).id, Draft("restore.began", {"restore": restore}))
    put(begun.root, {"a.txt": "half\n"})
    with pytest.raises(Refused, match="interrupted"):
        holdfast.save(begun)
    holdfast.undo_restore(begun)


# the two ends of a session


def test_loading_is_the_brief_and_saving_is_save(begun: Workspace) -> None:
    holdfast.decide(begun, "Use backoff")
    loaded = holdfast.session_load(begun, budget=5000)
    assert isinstance(loaded, Brief)
    assert unfenced(loaded.text) == unfenced(holdfast.brief(begun, budget=5000).text)
    assert "Use backoff" in loaded.text
    saved = holdfast.session_save(begun)
    assert isinstance(saved, Saved)
    assert saved.checkpoint.kind == "saved"
    assert not holdfast.save(begun).changed


# history


def ended(project: Workspace) -> list[str]:
    """One run of each end, the oldest first."""
    found = []
    for act in (holdfast.complete, holdfast.fail, holdfast.abort, holdfast.abandon):
        run = holdfast.start(project, f"to {act.__name__}").run
        act(project, run.id)
        found.append(run.id)
    return found


def test_history_lists_what_has_ended_newest_first(project: Workspace) -> None:
    runs = ended(project)
    open_one = holdfast.start(project, "still open").run
    found = holdfast.past_runs(project)
    assert [run.id for run in found.runs] == runs[::-1]
    assert [run.status.value for run in found.runs] == ["abandoned", "aborted", "failed", "completed"]
    assert open_one.id not in [run.id for run in found.runs]
    assert not found.more


def test_history_has_as_many_rows_as_asked_for_and_a_row_names_its_run(project: Workspace) -> None:
    runs = ended(project)
    found = holdfast.past_runs(project, 2)
    assert ([run.id for run in found.runs], found.more) == (runs[:1:-1], True)
    assert run_of(project, "2").id == runs[2]
    for number in (0, -1, 10_001):
        with pytest.raises(WrongUsage):
            holdfast.past_runs(project, number)


def test_history_can_be_of_this_worktree_alone(project: Workspace, tmp_path: Path, clock: TickingClock) -> None:
    runs = ended(project)
    with a_worktree(project, tmp_path / "other", clock) as other:
        assert holdfast.past_runs(other, here=True).runs == []
        assert len(holdfast.past_runs(other).runs) == len(runs)


# errors


def test_an_error_is_recorded_and_told_to_the_next_session(begun: Workspace) -> None:
    recorded = holdfast.error(begun, "the build fails with E0433")
    assert recorded.seq == run_of(begun).seq
    assert [met.text for met in run_of(begun).errors] == ["the build fails with E0433"]
    assert "E0433" in holdfast.brief(begun).text
    with pytest.raises(WrongUsage):
        holdfast.error(begun, " ")
