"""Ways back: restore, undo, rollback; `guard` saves the state that passes, `bisect` finds the first that fails."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Annotated

from msgspec import Struct, structs

from holdfast.core import ids
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.model import Checkpoint, Reason, Restore, Run
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import escape_path
from holdfast.ingest.catch_up import establish
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.operations.parameters import YES, DryRun, Kind, RunName, argument, flag, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints import describe
from holdfast.project.checkpoints.create import (
    find_unfinished,
    make_checkpoint,
    refuse_unfinished,
    shadow_of,
    telling_when_interrupted,
)
from holdfast.project.checkpoints.restore import Restored as Restored, finish, restore_to, reversed_way, visiting
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import process
from holdfast.system.clock import shown

CHOICES = 500  # checkpoints from which one can be chosen


def _ask_whether(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    """Which checkpoint, and whether to go back; without a terminal it goes back, and `undo` takes that back."""
    if "checkpoint" not in given:
        return _ask_which(workspace)
    if given.get("dry_run") or given.get("yes") or not can_ask:
        return None
    arguments = {name: value for name, value in given.items() if name in ("code", "state", "index", "force")}
    planned = restore(workspace, given["checkpoint"], given.get("paths", ()), **arguments, dry_run=True)
    if not (planned.acts or planned.state or given.get("index")):
        return None
    to = {"checkpoint": planned.to}  # a moment later an age may mean another one
    return confirmation("Go back?", f"holdfast restore {planned.to}", about=planned, arguments=to)


def _ask_which(workspace: Workspace) -> Choose:
    """The newest first."""
    from holdfast.operations.checkpoints import checkpoints

    found = checkpoints(workspace, limit=CHOICES).checkpoints
    if not found:
        raise NotFound("There is no checkpoint yet", [], ["`holdfast checkpoint` makes one"])
    options = tuple((made.id, describe.about(made)) for made in found)
    hints = ("name one of them", "`holdfast checkpoints` lists them")
    return Choose(parameter="checkpoint", prompt="Which checkpoint", options=options, hints=hints)


@verb(
    group=Group.BACK,
    example="holdfast restore 10m src/client.py",
    common=True,
    options=(
        flag("--code", help="The worktree (the default).", gives={"code": True, "state": False}),
        flag("--state", help="What the run knows.", gives={"code": False, "state": True}),
        flag("--both", help="Both.", gives={"code": True, "state": True}),
        YES,
    ),
    asks=_ask_whether,
)
def restore(
    workspace: Workspace,
    checkpoint: Annotated[str, argument(kind=Kind.CHECKPOINT)],
    paths: Annotated[tuple[str, ...], argument(metavar="[PATH…]", kind=Kind.PATH)] = (),
    *,
    code: bool = True,
    state: bool = False,
    index: Annotated[bool, option(help="Also what was staged in git then.")] = False,
    dry_run: DryRun = False,
    force: Annotated[bool, option(help="Over what another living session changed, or from another worktree.")] = False,
) -> Restored:
    """Make the worktree equal to a checkpoint. What is there now is kept first, so `holdfast undo` takes it back.

    A checkpoint is an id, a name, a row of the last list, `@prompt:3` (when the run's third prompt was given), an age
    (`10m`, `2h`), or words of its prompt, of the answer, or of the names of files.
    """
    if paths and not code:
        raise WrongUsage("What a run knows has no paths", [], ["leave out the paths", "or leave out `--state`"])
    inside = [select.inside(workspace, path) for path in paths]

    def choose(journal: Journal) -> Restore:
        target = select.get_checkpoint(workspace, journal, checkpoint)
        if state:
            _refuse_without_state(target)
        return Restore(
            id=ids.make("res"),
            time=workspace.clock.now(),
            before="",
            target=target.id,
            paths=[escape_path(path) for path in inside] if b"" not in inside else [],
            run=target.run if state else None,
            seq_after=target.seq if state else None,
            code=code,
            index=index,
        )

    return restore_to(workspace, choose, dry_run=dry_run, force=force)


@verb("restore --continue")
def continue_restore(workspace: Workspace) -> Restored:
    """Finish a restore that was killed."""
    return finish(workspace)


@verb("restore --undo")
def undo_restore(workspace: Workspace) -> Restored:
    """Take back a restore that was killed: all is again as it was before it began.

    Without one, it is `undo`.
    """
    with workspace.reading() as journal:
        unfinished = find_unfinished(journal, workspace)
    return finish(workspace, take_back=True) if unfinished else undo(workspace)


@verb(group=Group.BACK, about="take the last restore back", common=True, options=(YES,))
def undo(workspace: Workspace) -> Restored:
    """Take back the last restore: every byte and every mode."""

    def choose(journal: Journal) -> Restore:
        ledger = journal.ledger_of(workspace.worktree)
        if ledger is None or not ledger.undoable:
            raise NotFound("There is nothing to undo", [], ["`holdfast checkpoints` lists where one can go back to"])
        return reversed_way(ledger.undoable[-1], "undo", workspace)

    return restore_to(workspace, choose, force=True)


@verb(group=Group.BACK, about="do again what was undone", options=(YES,))
def redo(workspace: Workspace) -> Restored:
    """Do again what `holdfast undo` took back."""

    def choose(journal: Journal) -> Restore:
        ledger = journal.ledger_of(workspace.worktree)
        if ledger is None or not ledger.redoable:
            raise NotFound("There is nothing to redo", [], ["`holdfast undo` comes first"])
        return reversed_way(ledger.redoable[-1], "redo", workspace)

    return restore_to(workspace, choose, force=True)


def _refuse_without_state(target: Checkpoint) -> None:
    if target.run is None or target.seq is None:
        raise Refused(
            "This checkpoint was made without a run, so it knows no state",
            [("checkpoint", target.id)],
            [f"`holdfast restore {target.id} --code`"],
        )


def _ask_to_roll_back(workspace: Workspace, given: Arguments) -> Choose | None:
    run, force = given.get("run"), given.get("force", False)
    planned = rollback(workspace, given["checkpoint"], run=run, dry_run=True, force=force)
    if not (planned.acts or planned.later_events):
        return None
    command = f"holdfast rollback {planned.to}{f' --run {run}' if run else ''}"
    to = {"checkpoint": planned.to}
    return confirmation(f"Go back to {planned.to}?", command, about=planned, arguments=to)


@verb(
    group=Group.BACK,
    example="holdfast rollback 3 --yes",
    about="restore both the code and the run's state",
    confirms=_ask_to_roll_back,
)
def rollback(
    workspace: Workspace,
    checkpoint: Annotated[str, argument(metavar="N|CHECKPOINT", kind=Kind.CHECKPOINT)],
    *,
    run: RunName = None,
    dry_run: DryRun = False,
    force: Annotated[bool, option(help="Even over changes of another live session, or from another worktree.")] = False,
) -> Restored:
    """Restore both the code and the run's state of a checkpoint. `holdfast undo` takes it back.

    N is a row of the last list of checkpoints; without a list, it counts from the newest.
    """

    def choose(journal: Journal) -> Restore:
        found = select.get_run(workspace, journal, run, ended_too=True)
        target = find_layout(found.layout).get_checkpoint(workspace, journal, found, checkpoint)
        _refuse_other_state(target, found)
        id, now = ids.make("res"), workspace.clock.now()
        return Restore(id, now, before="", target=target.id, run=found.id, seq_after=target.seq, verb="rollback")

    meant = select.read_run(workspace, run, ended_too=True)
    layout = find_layout(meant.layout)
    if layout.RULES.has_numbered_steps:
        layout.prepare_return(workspace, meant, checkpoint)
        layout.refuse_return(meant, restore_to(workspace, choose, dry_run=True, force=force))
    return restore_to(workspace, choose, dry_run=dry_run, force=force)


def _refuse_other_state(target: Checkpoint, run: Run) -> None:
    """Refuse a checkpoint that holds no state of this run."""
    if target.run == run.id and target.seq is not None:
        return
    code = f"`holdfast restore {target.id}` restores the code alone"
    if target.run is None or target.seq is None:
        facts = [("checkpoint", target.id)]
        raise Refused("This checkpoint was made without a run, so it holds no state", facts, [code])
    raise Refused(
        "This checkpoint belongs to another run",
        [("checkpoint", target.id), ("its run", target.run), ("this run", run.id)],
        [code, f"`holdfast rollback {target.id} --run {target.run}` rolls that run back"],
    )


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
