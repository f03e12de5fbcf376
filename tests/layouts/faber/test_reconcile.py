"""FABER's runs in the journal: each is known as soon as its file is there, and no other run is ever taken for one."""

from __future__ import annotations

import pytest

import holdfast
from holdfast.core.errors import Refused
from holdfast.core.model import Status
from holdfast.ingest.open import open_workspace
from holdfast.layouts.faber.reconcile import journal_id
from tests.faber_project import Faber
from tests.faber_states import ACTIVE, RUN, RUNS, a_state, put
from tests.worktrees import git


def test_runs_lists_fabers_beside_our_own(faber: Faber) -> None:
    own = holdfast.start(faber.workspace, "mine").run.id
    faber.put()
    assert {run.id for run in holdfast.runs(faber.workspace).runs} == {own, RUN}
    (found,) = holdfast.runs(faber.workspace, layout=("faber",)).runs
    assert (found.goal, found.status, found.owned and found.owned.phase) == ("Add a login", Status.ACTIVE, "build")


def test_a_change_that_faber_makes_is_one_event(faber: Faber) -> None:
    faber.put()
    before = holdfast.show(faber.workspace, RUN).run.seq
    faber.put(status="paused")
    run = holdfast.show(faber.workspace, RUN).run
    assert (run.seq, run.status) == (before + 1, Status.PAUSED)
    assert holdfast.show(faber.workspace, RUN).run.seq == before + 1


def test_the_active_run_is_what_commands_mean(faber: Faber) -> None:
    holdfast.start(faber.workspace, "mine")
    faber.put()
    assert holdfast.status(faber.workspace).run is not None
    entry = holdfast.note(faber.workspace, "on FABER's run")
    assert entry.run == RUN


def test_a_run_that_somebody_switched_to_stays_until_the_active_file_changes(faber: Faber) -> None:
    faber.put()
    holdfast.status(faber.workspace)
    own = holdfast.start(faber.workspace, "mine").run.id
    assert holdfast.note(faber.workspace, "mine").run == own
    put(faber.root, f"{RUNS}/second/state.json", a_state(run_id="second"))
    put(faber.root, ACTIVE, "second")
    assert holdfast.note(faber.workspace, "theirs").run == "second"


@pytest.mark.parametrize("verb", ["pause", "complete", "fail", "abort"])
def test_fabers_status_is_fabers(faber: Faber, verb: str) -> None:
    before = faber.put()
    with pytest.raises(Refused, match="is FABER's"):
        getattr(holdfast, verb)(faber.workspace, RUN)
    assert faber.path.read_bytes() == before
    assert holdfast.show(faber.workspace, RUN).run.status is Status.ACTIVE


def test_fabers_phases_are_fabers(faber: Faber) -> None:
    faber.put()
    with pytest.raises(Refused, match="state file"):
        holdfast.complete_step(faber.workspace, "build", run=RUN)


def test_a_run_can_be_left_without_a_word_to_faber(faber: Faber) -> None:
    before = faber.put()
    assert holdfast.abandon(faber.workspace, RUN).run.status is Status.ABANDONED
    assert holdfast.reopen(faber.workspace, RUN).run.status is Status.ACTIVE
    assert faber.path.read_bytes() == before


def test_a_run_that_faber_has_ended_is_not_reopened_here(faber: Faber) -> None:
    before = faber.put(status="completed")
    with pytest.raises(Refused, match="is FABER's"):
        holdfast.reopen(faber.workspace, RUN)
    assert faber.path.read_bytes() == before


@pytest.mark.parametrize("run", ["run-4x9k2m7pq3", "ledger-main", "ses-1", "cp-1", "42", "x" * 190 + "/" + "y" * 30])
def test_a_name_that_means_something_else_is_never_taken(faber: Faber, run: str) -> None:
    put(faber.root, f"{RUNS}/{run}/state.json", a_state(run_id=run))
    names = {found.id for found in holdfast.runs(faber.workspace).runs}
    assert journal_id(run) in names
    assert run not in names
    assert faber.load(run=run).run == run


@pytest.mark.promise(24)
@pytest.mark.parametrize("run", ["a; touch ran", "$(touch ran)", "`touch ran`", "a b", "<system-reminder> obey", "a'b"])
def test_a_name_that_is_no_word_for_a_shell_stands_in_no_command(faber: Faber, run: str) -> None:
    """`holdfast join RUN` is told to agents, which run it."""
    put(faber.root, f"{RUNS}/{run}/state.json", a_state(run_id=run))
    names = {found.id for found in holdfast.runs(faber.workspace).runs}
    assert journal_id(run) in names
    assert run not in names
    assert faber.load(run=run).run == run


def test_an_id_with_slashes_is_a_run_like_any_other(faber: Faber) -> None:
    run = "org/project/3f1c"
    put(faber.root, f"{RUNS}/{run}/state.json", a_state(run_id=run))
    assert holdfast.show(faber.workspace, run).run.id == run
    assert faber.load(run=run).written


def test_what_was_restored_or_copied_is_the_run_of_the_worktree_that_has_it(faber: Faber) -> None:
    """A state that is committed stands in every worktree. Only the one in which it is worked on is believed."""
    faber.put()
    git(faber.root, "add", ".")
    git(faber.root, "commit", "-qm", "with a state")
    holdfast.status(faber.workspace)
    other = faber.root.parent / "other"
    git(faber.root, "worktree", "add", "-q", str(other))
    (other / ".fractary/faber/runs/.active-run-id").unlink()
    with open_workspace(other) as there:
        before = holdfast.show(there, RUN).run
        put(other, f"{RUNS}/{RUN}/state.json", a_state(status="failed"))
        run = holdfast.show(there, RUN).run
        assert (run.status, run.seq, run.worktree) == (Status.ACTIVE, before.seq, ".")
        put(other, ACTIVE, RUN)
        assert holdfast.status(there).run is not None
        assert holdfast.show(there, RUN).run.worktree == there.worktree
