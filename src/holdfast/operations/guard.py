"""Commands run against checkpoints: `guard` saves the state that passes, `bisect` finds the first one that fails."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Annotated

from msgspec import Struct, structs

from holdfast.core import ids
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.model import Checkpoint, Reason, Restore
from holdfast.core.question import Choose
from holdfast.ingest.catch_up import establish
from holdfast.journal.journal import Journal
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.restore import restore
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.create import make_checkpoint, refuse_unfinished, shadow_of, telling_when_interrupted
from holdfast.project.checkpoints.restore import Restored, restore_to, visiting
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import process
from holdfast.system.clock import shown


class Guarded(Struct):
    """The exit code of a command; if it failed, the last checkpoint at which it passed."""

    command: str
    code: int
    passed: Checkpoint | None
    restored: Restored | None = None


class Bisected(Struct):
    command: str
    first_bad: Checkpoint
    last_good: Checkpoint
    tried: int


def _offer_way_back(workspace: Workspace, given: Arguments, found: Guarded) -> Choose | None:
    if found.code == 0 or found.restored or found.passed is None or "back" in given:
        return None
    target = found.passed.id

    def act(answer: bool) -> Guarded:
        return structs.replace(found, restored=restore(workspace, target)) if answer else found

    prompt = f"It fails. Go back to {target}, where it passed?"
    return Choose(parameter="back", prompt=prompt, no=False, required=False, act=act)


@verb(
    group=Group.BACK,
    example="holdfast guard --auto -- pytest -q",
    about="run a command; if it fails, offer to go back",
    follows=_offer_way_back,
)
def guard(
    workspace: Workspace,
    command: Annotated[tuple[str, ...], argument(metavar="-- COMMAND…", kind=Kind.COMMAND)] = (),
    *,
    auto: Annotated[bool, option(help="If it fails, go back without asking.")] = False,
    to_stderr: Annotated[bool, argument(kind=Kind.AS_JSON)] = False,
) -> Guarded:
    """Run a command. If it passes, save the state; if it fails, offer to restore that state. Exits as it does.

    Standard output is the command's own; with --json it goes to standard error.
    """
    line = _line(command, "guard")
    establish(workspace)
    with workspace.reading() as journal:
        refuse_unfinished(journal, workspace)
    code = process.run_foreground(command, workspace.root, to_stderr=to_stderr)
    if code == 0:
        return Guarded(line, code, _save_passed(workspace, line))
    passed = _last_passed(workspace, line)
    return Guarded(line, code, passed, _back_to(workspace, passed) if passed and auto else None)


@verb(group=Group.BACK, example="holdfast bisect -- pytest -q tests/test_client.py")
def bisect(
    workspace: Workspace,
    command: Annotated[tuple[str, ...], argument(metavar="-- COMMAND…", kind=Kind.COMMAND)] = (),
    *,
    good: Annotated[str | None, option(metavar="CHECKPOINT", help="One that passes; else the oldest.")] = None,
    bad: Annotated[str | None, option(metavar="CHECKPOINT", help="One that fails; else the newest.")] = None,
) -> Bisected:
    """Find the first checkpoint at which a command fails. Afterwards the worktree is as before.

    Prints the checkpoint's id; the command's output goes to standard error.
    """
    line = _line(command, "bisect")
    with workspace.reading() as journal:
        refuse_unfinished(journal, workspace)
        between = _between(workspace, journal, good, bad)
    with telling_when_interrupted(workspace), visiting(workspace) as visit:

        def passes(checkpoint: Checkpoint) -> bool:
            visit(checkpoint)
            return process.run_foreground(command, workspace.root, to_stderr=True) == 0

        good_at, tried = _search(workspace, between, passes)
    return Bisected(line, between[good_at + 1], between[good_at], tried)


def _search(workspace: Workspace, between: list[Checkpoint], passes: Callable[[Checkpoint], bool]) -> tuple[int, int]:
    """Search for the last checkpoint that passes, by halves, once the first passes and the last fails.

    Returns its position and the number of checkpoints that were tried.
    """
    low, high, tried = 0, len(between) - 1, 0
    total = 2 + (len(between) - 2).bit_length()

    def try_at(position: int) -> bool:
        nonlocal tried
        tried += 1
        workspace.progress("trying checkpoints", tried, max(tried, total))
        return passes(between[position])

    if not try_at(low):
        raise _no_end("The command already fails at the oldest of these checkpoints", between[low], "--good")
    if try_at(high):
        raise _no_end("The command still passes at the newest of these checkpoints", between[high], "--bad")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if try_at(middle) else (low, middle)
    return low, tried


def _no_end(message: str, checkpoint: Checkpoint, option: str) -> NotFound:
    word = "passes" if option == "--good" else "fails"
    return NotFound(
        message,
        [("checkpoint", checkpoint.id), ("made", shown(checkpoint.time))],
        [f"name one at which it {word}: `holdfast bisect {option} CHECKPOINT -- COMMAND`", "`holdfast checkpoints`"],
    )


def _between(workspace: Workspace, journal: Journal, good: str | None, bad: str | None) -> list[Checkpoint]:
    """Return the checkpoints to search, oldest first. Those made by a restore are left out unless they are named."""
    ends = [select.get_checkpoint(workspace, journal, name) if name else None for name in (good, bad)]
    named = {end.id for end in ends if end}
    found = [
        made for made in journal.list_checkpoints(workspace.worktree) if not made.reason.is_way_back or made.id in named
    ][::-1]
    low = _position(found, ends[0]) if ends[0] else 0
    high = _position(found, ends[1]) if ends[1] else len(found) - 1
    if high - low < 1:
        raise NotFound(
            "The search needs two checkpoints, a good one before a bad one",
            [(word, end.id) for word, end in zip(("good", "bad"), ends, strict=True) if end],
            ["`holdfast checkpoints` lists them, newest first"],
        )
    return found[low : high + 1]


def _save_passed(workspace: Workspace, line: str) -> Checkpoint:
    with workspace.reading() as journal:
        refuse_unfinished(journal, workspace)
        run = select.current_run(journal, workspace.worktree)
    with shadow_of(workspace) as shadow:
        return make_checkpoint(workspace, shadow, run=run, reason=Reason.PASSED, message=line)[0]


def _back_to(workspace: Workspace, checkpoint: Checkpoint) -> Restored:
    wanted = Restore(ids.make("res"), workspace.clock.now(), before="", target=checkpoint.id, verb="guard")
    return restore_to(workspace, lambda journal: wanted)


def _last_passed(workspace: Workspace, line: str) -> Checkpoint | None:
    with workspace.reading() as journal:
        made = journal.list_checkpoints(workspace.worktree)
        return next((found for found in made if found.reason is Reason.PASSED and found.message == line), None)


def _position(ordered: list[Checkpoint], checkpoint: Checkpoint) -> int:
    known = [found.id for found in ordered]
    if checkpoint.id in known:
        return known.index(checkpoint.id)
    raise NotFound(
        "This checkpoint belongs to another worktree",
        [("checkpoint", checkpoint.id), ("made in", checkpoint.directory)],
        ["`holdfast checkpoints` lists those of this one"],
    )


def _line(command: tuple[str, ...], verb: str) -> str:
    if not command:
        raise WrongUsage("There is no command to run", [], [f"`holdfast {verb} -- pytest`"])
    return shlex.join(command)
