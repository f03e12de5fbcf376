"""Run a command over checkpoints: keep one where it passes, go back to that where it fails, find the first bad one."""

from __future__ import annotations

import shlex
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
    about="run a command; where it fails, the way back",
    follows=_offer_way_back,
)
def guard(
    workspace: Workspace,
    command: Annotated[tuple[str, ...], argument(metavar="-- COMMAND…", kind=Kind.COMMAND)] = (),
    *,
    auto: Annotated[bool, option(help="Where it fails, go back without asking.")] = False,
    to_stderr: Annotated[bool, argument(kind=Kind.AS_JSON)] = False,
) -> Guarded:
    """Run a command. Where it passes, keep that state; where it fails, offer the way back to it. Exits as it does.

    Standard output is the command's own; with --json it goes to standard error.
    """
    line = _line(command, "guard")
    establish(workspace)
    with workspace.reading() as journal:
        refuse_unfinished(journal, workspace)
    code = process.run_foreground(command, workspace.root, to_stderr=to_stderr)
    if code == 0:
        return Guarded(line, code, _keep_passed(workspace, line))
    passed = _last_passed(workspace, line)
    return Guarded(line, code, passed, _back_to(workspace, passed) if passed and auto else None)


@verb(
    group=Group.BACK,
    example="holdfast bisect -- pytest -q tests/test_client.py",
    about="find the first checkpoint at which a command fails",
)
def bisect(
    workspace: Workspace,
    command: Annotated[tuple[str, ...], argument(metavar="-- COMMAND…", kind=Kind.COMMAND)] = (),
    *,
    good: Annotated[str | None, option(metavar="CHECKPOINT", help="Where it passed; else the oldest.")] = None,
    bad: Annotated[str | None, option(metavar="CHECKPOINT", help="Where it failed; else the newest.")] = None,
) -> Bisected:
    """Find the first checkpoint at which a command fails. The worktree is put back as it was.

    Prints the checkpoint's id; what the command prints goes to standard error.
    """
    line = _line(command, "bisect")
    with workspace.reading() as journal:
        refuse_unfinished(journal, workspace)
        between = _between(workspace, journal, good, bad)
    with telling_when_interrupted(workspace), visiting(workspace) as visit:
        search = Search(workspace, between)
        for checkpoint in search:
            visit(checkpoint)
            search.passes = process.run_foreground(command, workspace.root, to_stderr=True) == 0
    return Bisected(line, between[search.high], between[search.low], search.tried)


class Search:
    """Which checkpoint to try next: first the two ends, which must pass and fail, then always the middle."""

    def __init__(self, workspace: Workspace, between: list[Checkpoint]) -> None:
        self.workspace = workspace
        self.between = between
        self.low, self.high = -1, len(between)
        self.tried = 0
        self.passes = False  # whether the one that was tried last passes

    def __iter__(self) -> Search:
        return self

    def __next__(self) -> Checkpoint:
        if self.tried:
            self._learn()
        if self.low >= 0 and self.high - self.low == 1:
            raise StopIteration
        self.tried += 1
        left = max(self.high - self.low - 1, 1).bit_length() if self.tried > 2 else len(self.between).bit_length()
        self.workspace.progress("trying checkpoints", self.tried, self.tried + left)
        return self.between[self._position()]

    def _position(self) -> int:
        last = len(self.between) - 1
        return {1: 0, 2: last}.get(self.tried, (self.low + self.high) // 2)

    def _learn(self) -> None:
        position = self._position()
        if self.tried == 1 and not self.passes:
            raise _no_end("The command already fails at the oldest of these checkpoints", self.between[0], "--good")
        if self.tried == 2 and self.passes:
            raise _no_end("The command still passes at the newest of these checkpoints", self.between[-1], "--bad")
        self.low, self.high = (position, self.high) if self.passes else (self.low, position)


def _no_end(message: str, checkpoint: Checkpoint, option: str) -> NotFound:
    word = "passes" if option == "--good" else "fails"
    return NotFound(
        message,
        [("checkpoint", checkpoint.id), ("made", shown(checkpoint.time))],
        [f"name one at which it {word}: `holdfast bisect {option} CHECKPOINT -- COMMAND`", "`holdfast checkpoints`"],
    )


def _between(workspace: Workspace, journal: Journal, good: str | None, bad: str | None) -> list[Checkpoint]:
    """The checkpoints to search, oldest first. Those that a way back made are searched only where they are named."""
    ends = [select.get_checkpoint(workspace, journal, name) if name else None for name in (good, bad)]
    named = {end.id for end in ends if end}
    found = [
        made for made in journal.list_checkpoints(workspace.worktree) if not made.reason.is_way_back or made.id in named
    ][::-1]
    low = _position(found, ends[0]) if ends[0] else 0
    high = _position(found, ends[1]) if ends[1] else len(found) - 1
    if high - low < 1:
        raise NotFound(
            "There are not two checkpoints to look between, a good one before a bad one",
            [(word, end.id) for word, end in zip(("good", "bad"), ends, strict=True) if end],
            ["`holdfast checkpoints` lists them, newest first"],
        )
    return found[low : high + 1]


def _keep_passed(workspace: Workspace, line: str) -> Checkpoint:
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
        for checkpoint in journal.list_checkpoints(workspace.worktree):
            if checkpoint.reason is Reason.PASSED and checkpoint.message == line:
                return checkpoint
    return None


def _position(ordered: list[Checkpoint], checkpoint: Checkpoint) -> int:
    for number, found in enumerate(ordered):
        if found.id == checkpoint.id:
            return number
    raise NotFound(
        "This checkpoint belongs to another worktree",
        [("checkpoint", checkpoint.id), ("made in", checkpoint.directory)],
        ["`holdfast checkpoints` lists those of this one"],
    )


def _line(command: tuple[str, ...], verb: str) -> str:
    if not command:
        raise WrongUsage("There is no command to run", [], [f"`holdfast {verb} -- pytest`"])
    return shlex.join(command)
