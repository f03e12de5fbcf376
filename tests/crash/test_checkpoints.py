"""Kill, tear and fail checkpoints and the ways back at the calls by which they change anything, git's own included.

The tier of every commit tries a few calls; `-m long` tries a spread of them in every mode, `-m hours` all of them.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest

import holdfast
from holdfast.core import ids
from holdfast.core.model import Draft, Restore
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from tests.crash.checkpoint_cases import VERBS, WITH_INDEX, Scene
from tests.crash.modes import ENDS, FAILURES, KILLS, each_tier
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Report
from tests.faults.tracer import Call
from tests.tools import Command

SOME = ("ENOSPC", "EIO", "EMFILE")
BY_NAME = pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.replace(" ", "-"))

pytestmark = [
    pytest.mark.promise(1, 5, 9, 10),
    pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}"),
]


def _explore(
    verb: str, modes: tuple[str, ...], points: int | None, only: Callable[[Call], bool] = lambda call: True
) -> Report:
    scene = Scene(verb)
    report = explore(
        prepare=scene.prepare,
        command=scene.command,
        check=scene.check,
        modes=modes,
        points=points,
        timeout=60,
        only=only,
    )
    report.assert_clean()
    print(f"{verb}: {report.summary()}")
    return report


@BY_NAME
def test_a_killed_verb_leaves_all_as_it_was_or_done_or_tells_of_it(verb: str) -> None:
    _explore(verb, ENDS, points=2)


@pytest.mark.parametrize("verb", ["checkpoint", "restore", "continue", "tidy"])
def test_a_verb_that_the_system_fails_tells_it_in_a_sentence_and_costs_nothing(verb: str) -> None:
    _explore(verb, SOME, points=2)


def test_a_beginning_that_may_be_on_the_disk_is_told_of() -> None:
    """The sync of a commit failed. The process that made it did not see its own event; the next one did."""
    report = _explore("restore", ("ENOSPC",), points=None, only=lambda call: call.name == "fdatasync")
    assert report.runs >= 3, report.summary()


@pytest.mark.parametrize("modes", [ENDS, ("EIO",)], ids=["killed", "failed"])
def test_an_index_that_is_being_put_back_is_the_old_or_the_new_one_and_its_lock_goes(modes: tuple[str, ...]) -> None:
    """A failed rename left the lock of git's index behind, and every `git add` and `git commit` was refused."""
    ours = re.compile(r"/project/\.git/index(\.lock)?$")
    report = _explore(WITH_INDEX, modes, points=None, only=lambda call: bool(ours.search(call.other or call.path)))
    assert report.runs >= 2, report.summary()


def test_a_ref_of_which_the_system_took_a_part_at_first_is_written_whole() -> None:
    """The first part was synced and renamed: every checkpoint of the worktree was unreachable."""
    written = re.compile(r"/worktrees/[^/]+/tmp_holdfast_\w+")  # which is given the lock's name, and then the ref's
    report = _explore("checkpoint", ("short",), points=None, only=lambda call: bool(written.search(call.path)))
    assert report.runs >= 1, report.summary()


@each_tier(8)
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "bisect"])  # it has a test of its own, below
def test_a_verb_killed_at_any_point_leaves_all_as_it_was_or_done_or_tells_of_it(verb: str, points: int | None) -> None:
    _explore(verb, KILLS, points=points)


@each_tier(3)
@BY_NAME
def test_a_verb_that_the_system_fails_at_any_point_tells_it_and_costs_nothing(verb: str, points: int | None) -> None:
    _explore(verb, FAILURES, points=points)


@pytest.mark.hours
def test_the_busiest_verb_of_all_is_broken_at_every_call() -> None:
    """It makes a checkpoint, and goes back to others again and again, each time for a command to be tried."""
    report = _explore("bisect", (*KILLS, "ENOSPC"), points=None)
    assert report.runs >= 1_200, report.summary()


@pytest.mark.parametrize("name", ["theirs.lock", "index.lock"])
def test_a_lock_that_a_killed_git_left_in_our_directory_blocks_nothing(project: Workspace, name: str) -> None:
    (project.root / "one").write_text("then")
    subprocess.run(["git", "add", "one"], cwd=project.root, check=True)
    with shadow_of(project) as shadow:
        shadow.directory.joinpath(name).touch()
    made = holdfast.checkpoint(project).checkpoint
    (project.root / "one").write_text("now")
    holdfast.restore(project, made.id)
    assert (project.root / "one").read_text() == "then"


def _leave_unfinished(workspace: Workspace) -> str:
    """A restore that was killed after it had begun."""
    (workspace.root / "one").write_text("then")
    target = holdfast.checkpoint(workspace).checkpoint.id
    (workspace.root / "one").write_text("now")
    before = holdfast.checkpoint(workspace).checkpoint.id
    begun = Restore(id=ids.make("res"), time=workspace.clock.now(), before=before, target=target)
    with workspace.writing() as journal:
        journal.append(journal.ledger(workspace.worktree).id, Draft("restore.began", {"restore": begun}))
    return target


@pytest.mark.parametrize("words", [("restore", "CHECKPOINT"), ("undo",), ("redo",), ("guard", "--", "true")])
def test_going_back_is_refused_while_a_restore_is_unfinished(
    project: Workspace, cli: Callable[..., Command], words: tuple[str, ...]
) -> None:
    target = _leave_unfinished(project)
    done = cli(*(target if word == "CHECKPOINT" else word for word in words))
    assert done.code == 1
    assert "A restore was interrupted" in done.err
    assert "`holdfast restore --continue`" in done.err
    assert "`holdfast restore --undo`" in done.err


@pytest.mark.parametrize(("option", "text"), [("--continue", "then"), ("--undo", "now")])
def test_an_unfinished_restore_is_finished_or_taken_back_by_the_command(
    project: Workspace, cli: Callable[..., Command], option: str, text: str
) -> None:
    _leave_unfinished(project)
    cli("restore", option).ok()
    assert (project.root / "one").read_text() == text
    assert cli("restore", "--continue").code == 10


@pytest.mark.parametrize("words", [("status",), ("checkpoint",), ("checkpoints",)])
def test_every_look_tells_of_an_unfinished_restore(
    project: Workspace, cli: Callable[..., Command], words: tuple[str, ...]
) -> None:
    _leave_unfinished(project)
    done = cli(*words)
    assert "restore --continue" in done.out + done.err
