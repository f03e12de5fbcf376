"""Run a command over checkpoints: keep one where it passes, go back to that where it fails, find the first bad one."""

from __future__ import annotations

import shlex

from msgspec import Struct

from holdfast import choosing, ids, process
from holdfast.checkpointing import make_checkpoint, shadow_of
from holdfast.errors import NotFound, WrongUsage
from holdfast.model import Checkpoint, Restore
from holdfast.returning import Restored, go_back, refuse_unfinished
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Guarded(Struct):
    """How the command ended; where it failed, the last checkpoint at which it passed."""

    command: str
    code: int
    passed: Checkpoint | None
    restored: Restored | None = None


class Bisected(Struct):
    command: str
    first_bad: Checkpoint
    last_good: Checkpoint
    tried: int


@verb
def guard(workspace: Workspace, command: tuple[str, ...], *, auto: bool = False) -> Guarded:
    """Run a command. Where it passes, that state is kept; where it fails, `auto` brings the last such state back."""
    line = _line(command)
    workspace.create()
    code = process.run_foreground(command, workspace.root)
    with workspace.reading() as journal:
        run = choosing.current_run(journal, workspace.worktree)
        refuse_unfinished(journal, workspace)
    if code == 0:
        with shadow_of(workspace) as shadow:
            made, _ = make_checkpoint(workspace, shadow, run=run, kind="passed", message=line)
        return Guarded(line, code, made)
    passed = _last_passed(workspace, line)
    return Guarded(line, code, passed, _back_to(workspace, passed, "guard") if passed and auto else None)


@verb
def bisect(
    workspace: Workspace, command: tuple[str, ...], *, good: str | None = None, bad: str | None = None
) -> Bisected:
    """Find the first checkpoint at which a command fails. The worktree is put back as it was."""
    line = _line(command)
    with workspace.reading() as journal:
        refuse_unfinished(journal, workspace)
        ordered = list(journal.list_checkpoints(workspace.worktree))[::-1]
        low = _position(ordered, choosing.get_checkpoint(workspace, journal, good)) if good else 0
        high = _position(ordered, choosing.get_checkpoint(workspace, journal, bad)) if bad else len(ordered) - 1
    if high - low < 1:
        raise NotFound("There are not two checkpoints to look between", [], ["`holdfast checkpoints`"])
    tried = 0
    start: str | None = None
    try:
        for position, passes in ((low, True), (high, False)):
            tried += 1
            found, start = _passes(workspace, ordered[position], command, start)
            if found is not passes:
                word = "fails at the first" if passes else "passes at the last"
                raise NotFound(f"The command {word} of these checkpoints", [("checkpoint", ordered[position].id)])
        while high - low > 1:
            middle = (low + high) // 2
            tried += 1
            workspace.progress("bisecting", tried, tried + (high - low).bit_length())
            found, start = _passes(workspace, ordered[middle], command, start)
            low, high = (middle, high) if found else (low, middle)
    finally:
        if start is not None:
            go_back(workspace, _way(workspace, start, "bisect"), force=True)
    return Bisected(line, ordered[high], ordered[low], tried)


def _passes(
    workspace: Workspace, checkpoint: Checkpoint, command: tuple[str, ...], start: str | None
) -> tuple[bool, str]:
    """Whether the command passes at a checkpoint, and the checkpoint of how everything was before."""
    done = go_back(workspace, _way(workspace, checkpoint.id, "bisect"), force=start is not None)
    assert done.restore is not None
    return process.run_foreground(command, workspace.root) == 0, start or done.restore.before


def _back_to(workspace: Workspace, checkpoint: Checkpoint, word: str) -> Restored:
    return go_back(workspace, _way(workspace, checkpoint.id, word))


def _way(workspace: Workspace, target: str, word: str) -> Restore:
    return Restore(id=ids.make("res"), time=workspace.clock.now(), before="", target=target, verb=word)


def _last_passed(workspace: Workspace, line: str) -> Checkpoint | None:
    with workspace.reading() as journal:
        for checkpoint in journal.list_checkpoints(workspace.worktree):
            if checkpoint.kind == "passed" and checkpoint.message == line:
                return checkpoint
    return None


def _position(ordered: list[Checkpoint], checkpoint: Checkpoint) -> int:
    for number, found in enumerate(ordered):
        if found.id == checkpoint.id:
            return number
    raise NotFound("This checkpoint belongs to another worktree", [("checkpoint", checkpoint.id)])


def _line(command: tuple[str, ...]) -> str:
    if not command:
        raise WrongUsage("There is no command to run", [], ["`holdfast guard -- pytest`"])
    return shlex.join(command)
