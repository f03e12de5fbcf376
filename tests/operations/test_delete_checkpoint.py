"""Deleting one checkpoint: its space comes back with the next tidying, and nothing that needs it breaks unseen."""

from __future__ import annotations

import json
import os

import pytest

import holdfast
from holdfast.core.errors import Busy, NotFound, Refused
from holdfast.operations import checkpoints
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from tests.tools import Command
from tests.worktrees import commit, picture, put, take

BIG = 300_000


@pytest.fixture
def held(project: Workspace) -> Workspace:
    put(project.root, {"a.txt": "one\n"})
    commit(project.root)
    return project


def ids_of(project: Workspace) -> list[str]:
    return [made.id for made in holdfast.checkpoints(project, safety=True).checkpoints]


@pytest.mark.defect("One checkpoint could not be deleted.")
def test_a_checkpoint_is_deleted_and_its_space_comes_back_with_the_next_tidying(held: Workspace) -> None:
    first = take(held)
    put(held.root, {"big": os.urandom(BIG)})
    second = take(held)
    (held.root / "big").unlink()
    third = take(held)
    assert holdfast.delete_checkpoint(held, second.id).checkpoint.id == second.id
    assert ids_of(held) == [third.id, first.id]
    with pytest.raises(NotFound):
        holdfast.restore(held, second.id)
    assert holdfast.tidy(held).freed > BIG
    for made in (first, third):
        holdfast.restore(held, made.id)
    assert holdfast.verify(held, deep=True).problems == []


def test_after_the_newest_was_deleted_and_pruned_the_next_one_is_whole(held: Workspace) -> None:
    take(held)
    content = os.urandom(BIG)
    put(held.root, {"big": content})
    holdfast.delete_checkpoint(held, take(held).id)
    assert holdfast.tidy(held).freed > BIG
    before = picture(held.root)
    made = take(held)
    assert holdfast.verify(held, deep=True).problems == []
    (held.root / "big").unlink()
    holdfast.restore(held, made.id)
    assert picture(held.root) == before


def test_a_pinned_checkpoint_is_deleted_only_by_force(held: Workspace) -> None:
    made = take(held)
    holdfast.pin(held, made.id)
    with pytest.raises(Refused, match="is pinned") as refused:
        holdfast.delete_checkpoint(held, made.id)
    assert f"`holdfast checkpoints delete {made.id} --force`" in refused.value.hints
    holdfast.delete_checkpoint(held, made.id, force=True)
    assert ids_of(held) == []


def went_back(held: Workspace) -> tuple[str, str, str]:
    """Two restores: the checkpoints to which they went, and the one made before the second."""
    first = take(held)
    put(held.root, {"a.txt": "two\n"})
    second = take(held)
    put(held.root, {"a.txt": "three\n"})
    holdfast.restore(held, first.id)
    done = holdfast.restore(held, second.id).restore
    assert done is not None
    return first.id, second.id, done.before


def test_a_checkpoint_that_undo_or_redo_needs_is_deleted_only_by_force(held: Workspace) -> None:
    first, second, before = went_back(held)
    for id in (first, second, before):
        with pytest.raises(Refused, match="`holdfast undo` or `holdfast redo` needs"):
            holdfast.delete_checkpoint(held, id)
    holdfast.undo(held)
    with pytest.raises(Refused, match="needs this checkpoint"):
        holdfast.delete_checkpoint(held, ids_of(held)[0])
    assert (held.root / "a.txt").read_text() == "one\n"


def test_by_force_the_ways_that_need_it_and_those_behind_them_are_lost_and_that_is_said(held: Workspace) -> None:
    first, _, _ = went_back(held)
    assert holdfast.delete_checkpoint(held, first, force=True).lost_ways == 1
    assert any("1 restore can no longer be undone or redone" in told for told in held.warnings)
    holdfast.undo(held)
    assert (held.root / "a.txt").read_text() == "one\n"
    with pytest.raises(NotFound, match="nothing to undo"):
        holdfast.undo(held)
    holdfast.redo(held)
    assert (held.root / "a.txt").read_text() == "two\n"


def test_a_restore_that_was_interrupted_keeps_what_it_needs_even_by_force(held: Workspace) -> None:
    first = take(held)
    put(held.root, {f"f{number}": "x" for number in range(5)})
    take(held)
    put(held.root, {"a.txt": "two\n"})
    script = "test -e f3 && kill -9 $PPID; true"
    assert Command.run("bisect", "--", "sh", "-c", script, directory=held.root).code == -9
    unfinished = holdfast.checkpoints(held).unfinished
    assert unfinished is not None
    with pytest.raises(Refused, match="interrupted restore"):
        holdfast.delete_checkpoint(held, unfinished.before, force=True)
    assert first.id in ids_of(held)
    holdfast.undo_restore(held)


def test_the_code_of_a_step_is_deleted_only_by_force_and_counts_no_more(held: Workspace) -> None:
    run = holdfast.start(held, "Fix it", layout="go-team").run.id
    holdfast.complete_step(held, "init")
    (made,) = holdfast.checkpoints(held).checkpoints
    with pytest.raises(Refused, match="code of a step"):
        holdfast.delete_checkpoint(held, made.id)
    holdfast.delete_checkpoint(held, made.id, force=True)
    (kept,) = holdfast.show(held, run).run.standing.kept
    assert (kept.is_valid, kept.invalidated_by) == (False, "its checkpoint was deleted")
    (point,) = json.loads((held.root / "checkpoints" / run / "manifest.json").read_bytes())["checkpoints"]
    assert (point["valid"], point["invalidated_by"]) == (False, "its checkpoint was deleted")


def test_nothing_is_deleted_while_somebody_else_looks_at_the_worktree(
    held: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = take(held)
    monkeypatch.setattr(checkpoints, "PATIENCE", 0.0)
    with shadow_of(held), pytest.raises(Busy):
        holdfast.delete_checkpoint(held, made.id)
    assert ids_of(held) == [made.id]


def test_rows_of_the_last_list_keep_their_numbers(held: Workspace) -> None:
    for number in range(3):
        put(held.root, {"a.txt": f"{number}\n"})
        take(held)
    third, _, first = ids_of(held)
    holdfast.delete_checkpoint(held, "2")
    with pytest.raises(NotFound):
        holdfast.delete_checkpoint(held, "2")
    assert holdfast.delete_checkpoint(held, "3").checkpoint.id == first
    assert ids_of(held) == [third]


def test_the_command_asks_first_and_wants_one_checkpoint(held: Workspace) -> None:
    made, other = take(held, "before"), take(held)

    def say(*words: str) -> Command:
        return Command.run("checkpoints", "delete", *words, directory=held.root)

    refused = say("before")
    assert (refused.code, f"`holdfast checkpoints delete {made.id} --yes`" in refused.err) == (1, True)
    assert say().code == say(made.id, other.id, "--yes").code == 2
    assert say("nothing", "--yes").code == 10
    assert len(ids_of(held)) == 2
    done = say("before", "--yes").ok()
    assert done.out == f"{made.id}\n"
    assert done.err.splitlines() == [f"Deleted {made.id}: before", "`holdfast tidy` gives its space back"]
    assert json.loads(say(other.id, "--yes", "--json").ok().out)["checkpoint"]["id"] == other.id
    assert ids_of(held) == []
