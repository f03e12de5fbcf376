"""Going back in code and in what the run knew, and taking that back."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused
from holdfast.core.model import Checkpoint, Status
from holdfast.project.workspace import Workspace
from tests.sessions import run_of
from tests.worktrees import picture, put, take

pytestmark = pytest.mark.promise(9)


@pytest.fixture
def worked(project: Workspace) -> tuple[Workspace, list[Checkpoint]]:
    """A run with a plan, and three checkpoints: each with a file and a decision more."""
    holdfast.start(project, "goal", steps=("one", "two"))
    made = []
    for number in ("1", "2", "3"):
        put(project.root, {f"{number}.txt": number})
        holdfast.decide(project, f"decision {number}")
        made.append(take(project))
    return project, made


def knows(project: Workspace) -> list[str]:
    return [decision.text for decision in run_of(project).decisions]


def names(project: Workspace) -> set[str]:
    return {path.name for path in project.root.glob("*.txt")}


def test_rollback_goes_back_in_code_and_in_what_the_run_knew(worked: tuple[Workspace, list[Checkpoint]]) -> None:
    project, made = worked
    found = holdfast.rollback(project, made[0].id)
    assert (found.to, found.state, found.event, found.removed) == (made[0].id, True, made[0].seq, 2)
    assert (names(project), knows(project)) == ({"1.txt"}, ["decision 1"])


def test_undo_takes_a_rollback_back_byte_for_byte(worked: tuple[Workspace, list[Checkpoint]]) -> None:
    project, made = worked
    holdfast.complete_step(project, "one")
    (project.root / "3.txt").write_text("not in any checkpoint")
    before, run = picture(project.root), run_of(project)
    done = holdfast.rollback(project, made[0].id)
    assert done.restore
    assert done.restore.verb == "rollback"
    assert [step.status for step in run_of(project).steps] == ["pending", "pending"]
    undone = holdfast.undo(project)
    assert undone.undone
    assert undone.undone.verb == "rollback"
    after = run_of(project)
    assert picture(project.root) == before
    assert (after.decisions, after.steps, after.tasks) == (run.decisions, run.steps, run.tasks)
    holdfast.redo(project)
    assert (names(project), knows(project)) == ({"1.txt"}, ["decision 1"])


def test_a_number_counts_from_the_newest_where_none_were_listed(worked: tuple[Workspace, list[Checkpoint]]) -> None:
    project, made = worked
    assert holdfast.rollback(project, "3", dry_run=True).to == made[0].id
    for number in ("0", "4", "99999"):
        with pytest.raises(NotFound):
            holdfast.rollback(project, number, dry_run=True)


def test_a_number_is_the_row_that_was_listed_also_when_others_were_made_since(
    worked: tuple[Workspace, list[Checkpoint]],
) -> None:
    project, made = worked
    holdfast.checkpoints(project)
    put(project.root, {"4.txt": "4"})
    take(project)
    assert holdfast.rollback(project, "1", dry_run=True).to == made[2].id
    with pytest.raises(NotFound):
        holdfast.rollback(project, "4", dry_run=True)


def test_a_dry_run_changes_nothing(worked: tuple[Workspace, list[Checkpoint]]) -> None:
    project, made = worked
    before = picture(project.root)
    planned = holdfast.rollback(project, made[1].id, dry_run=True)
    assert (planned.acts, planned.later_events) == ({"3.txt": "remove"}, 1)
    assert (picture(project.root), len(knows(project))) == (before, 3)


def test_where_all_is_as_in_the_checkpoint_there_is_nothing_to_do(worked: tuple[Workspace, list[Checkpoint]]) -> None:
    project, made = worked
    assert holdfast.rollback(project, made[2].id).restore is None


def test_rollback_of_a_run_that_ended_opens_it_again(worked: tuple[Workspace, list[Checkpoint]]) -> None:
    project, made = worked
    for name in ("one", "two"):
        holdfast.complete_step(project, name)
    holdfast.rollback(project, made[0].id)
    run = run_of(project)
    assert (run.status, [step.status for step in run.steps]) == (Status.ACTIVE, ["pending", "pending"])


def test_a_checkpoint_of_another_run_is_refused_with_both_ways_out(worked: tuple[Workspace, list[Checkpoint]]) -> None:
    project, made = worked
    earlier = run_of(project).id
    later = holdfast.start(project, "another").run.id
    with pytest.raises(Refused, match="another run") as caught:
        holdfast.rollback(project, made[0].id)
    assert any(f"holdfast rollback {made[0].id} --run {earlier}" in hint for hint in caught.value.hints)
    assert len(names(project)) == 3
    holdfast.rollback(project, made[0].id, run=earlier)
    assert [decision.text for decision in run_of(project, earlier).decisions] == ["decision 1"]
    assert run_of(project, later).decisions == []


def test_a_checkpoint_without_a_run_is_refused(project: Workspace) -> None:
    put(project.root, {"a.txt": "one"})
    made = take(project)
    holdfast.start(project, "goal")
    with pytest.raises(Refused, match="without a run"):
        holdfast.rollback(project, made.id)


def test_a_list_that_a_conversation_was_shown_is_its_own(worked: tuple[Workspace, list[Checkpoint]]) -> None:
    project, made = worked
    conversation = {"CLAUDE_CODE_SESSION_ID": "0d6c"}
    with holdfast.open(Path(project.root), environ={**project.environ, **conversation}) as inside:
        holdfast.checkpoints(inside, limit=2)
        put(project.root, {"4.txt": "4"})
        take(project)
        assert holdfast.rollback(inside, "1", dry_run=True).to == made[2].id
    assert holdfast.rollback(project, "1", dry_run=True).to not in [found.id for found in made]
