"""Kill, tear and fail checkpoints and the ways back at the calls by which they change anything, git's own included.

The tier of every commit tries a spread of points; `-m long` tries all of them, in every mode.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

import holdfast
from holdfast import ids
from holdfast.checkpointing import shadow_of
from holdfast.model import Draft, Restore
from holdfast.workspace import Workspace
from tests.crash.checkpoint_cases import Scene
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.tools import Command

MODES = ("kill", "torn", "one", "ENOSPC", "EIO")
WAYS_BACK = pytest.mark.parametrize("words", [("restore", "CHECKPOINT"), ("undo",)], ids=["restore", "undo"])
UNWRITTEN = "the tree of a mere look is not on disk, so neither --continue nor --undo can compare it"
LOCKED = "a git that is killed leaves theirs.lock in our directory, and every later command fails on it"

pytestmark = [
    pytest.mark.promise(1, 5, 9, 10),
    pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}"),
]


def _modes(failing: tuple[str, ...], reason: str) -> pytest.MarkDecorator:
    """All modes; some of them show a defect that is known."""
    known = pytest.mark.xfail(strict=True, reason=reason)
    marked = [pytest.param(mode, marks=known) if mode in failing else pytest.param(mode) for mode in MODES]
    return pytest.mark.parametrize("mode", marked)


def _explore(words: tuple[str, ...], mode: str, points: int | None) -> None:
    scene = Scene(words)
    check = scene.check_checkpoint if words == ("checkpoint",) else scene.check_way_back
    explore(
        prepare=scene.prepare, command=scene.command, check=check, modes=(mode,), points=points, timeout=60
    ).assert_clean()


@_modes(("torn",), LOCKED)
def test_an_acknowledged_checkpoint_is_exact_and_nothing_of_git_s_is_touched(mode: str) -> None:
    _explore(("checkpoint",), mode, points=6)


@WAYS_BACK
@_modes(("kill", "one", "ENOSPC", "EIO"), UNWRITTEN)
def test_a_broken_way_back_is_told_of_and_can_be_finished_and_taken_back(words: tuple[str, ...], mode: str) -> None:
    _explore(words, mode, points=6)


@pytest.mark.long
@_modes(("kill", "torn", "one"), LOCKED)
def test_an_acknowledged_checkpoint_is_exact_wherever_it_breaks_off(mode: str) -> None:
    _explore(("checkpoint",), mode, points=None)


@pytest.mark.long
@WAYS_BACK
@_modes(MODES, UNWRITTEN)
def test_a_way_back_is_told_of_wherever_it_breaks_off(words: tuple[str, ...], mode: str) -> None:
    _explore(words, mode, points=None)


@pytest.mark.xfail(strict=True, reason=LOCKED)
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


@pytest.mark.xfail(strict=True, reason="only the ways back look whether a restore is unfinished")
@pytest.mark.parametrize("words", [("status",), ("checkpoint",), ("checkpoints",)])
def test_every_look_tells_of_an_unfinished_restore(
    project: Workspace, cli: Callable[..., Command], words: tuple[str, ...]
) -> None:
    _leave_unfinished(project)
    done = cli(*words)
    assert "restore --continue" in done.out + done.err
