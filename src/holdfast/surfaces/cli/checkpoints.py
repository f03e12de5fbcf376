"""Go back: checkpoint, checkpoints, diff, restore, rollback, undo, redo, guard, bisect."""

from __future__ import annotations

import os
import sys

import click
from click.core import ParameterSource

from holdfast.core.errors import DONE, Ambiguous, Damaged, NotFound, WrongUsage
from holdfast.core.fold.worktree_log import interrupted
from holdfast.core.model import Checkpoint
from holdfast.core.text import count, one_line
from holdfast.operations import (
    chat_command as commanding,
    checkpoints as looking,
    delete_checkpoint as discarding,
    guard as guarding,
    restore as restoring,
    rollback as rolling,
    team_checkpoints,
)
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.decorators import (
    FEW,
    MANY,
    VerbCommand,
    ask,
    confirm,
    run_filter,
    run_option,
    verb,
    yes_option,
)
from holdfast.surfaces.cli.render.checkpoints import coloured, make_checkpoint, preview, said_restored
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.system.clock import ago

COMMAND = click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND…")
PATHS = "holdfast.paths"
ACTS = ("list", "show", "diff", "delete", "validate", "export")


@verb('holdfast checkpoint before-refactoring -m "all tests pass"')
@click.argument("name", required=False)
@click.option("-m", "--message", metavar="TEXT", help="What is worth remembering about it.")
@run_option
def checkpoint(workspace: Workspace, name: str | None, message: str | None, run: str | None) -> Said:
    """Keep the exact worktree and the run's state. Prints the checkpoint's id; works without a run too."""
    return make_checkpoint(workspace, name, message, run)


@verb("holdfast checkpoints --touching src/client.py")
@click.argument("act", required=False, type=click.Choice(ACTS), default="list")
@click.argument("names", nargs=-1, metavar="[CHECKPOINT…]")
@click.option("--touching", metavar="PATH", help="Only those in which this file or directory changed.")
@click.option("--asked", is_flag=True, help="Only those that somebody asked for.")
@click.option("--all", "every", is_flag=True, help="Of all worktrees of the repository, also of removed ones.")
@run_filter("Only of this run; else of this worktree. For `validate` and `export`: the run; else the current one.")
@click.option("--limit", type=click.IntRange(1, 100_000), metavar="N", help="At most N rows.")
@click.option("--force", is_flag=True, help="Delete one though it is pinned, or `undo`, `redo` or a step needs it.")
@yes_option
def checkpoints(
    workspace: Workspace,
    act: str,
    names: tuple[str, ...],
    touching: str | None,
    asked: bool,
    every: bool,
    run: str | None,
    limit: int | None,
    force: bool,
    yes: bool,
) -> Said:
    """Checkpoints of this worktree, newest first; or show one, compare two, delete one, validate or export them."""
    if act == "delete":
        return _delete(workspace, names, force, yes)
    if act != "list":
        return _about_points(workspace, act, names, run)
    here = os.path.abspath(touching) if touching else None
    found = looking.checkpoints(workspace, touching=here, asked=asked, every=every, run=run, limit=limit)
    if found.unfinished:
        workspace.warnings.append(interrupted(found.unfinished))
    if not found.checkpoints:
        return Said(found, talk=[_none(touching, asked or bool(run))])
    worktree = ["worktree"] if every else []
    rows = [
        [
            str(number),
            made.id,
            *([made.worktree] if every else []),
            made.kind,
            ago(made.time),
            f"{made.changes:,}",
            about,
        ]
        for number, made in enumerate(found.checkpoints, 1)
        for about in [made.name or made.message or ""]
    ]
    talk = [f"There are more: `holdfast checkpoints --limit {10 * len(rows)}`"] if found.more else []
    return Said(
        found, lambda: terminal.table(["#", "checkpoint", *worktree, "kind", "made", "files", "what"], rows), talk
    )


def _delete(workspace: Workspace, names: tuple[str, ...], force: bool, yes: bool) -> Said:
    if len(names) != 1:
        raise WrongUsage("Which checkpoint? One at a time is deleted", [], ["`holdfast checkpoints` lists them"])
    with workspace.reading() as journal:
        made = select.get_checkpoint(workspace, journal, names[0])
    about = one_line(made.name or made.message or made.kind, 60)
    hint = f"holdfast checkpoints delete {made.id}{' --force' if force else ''}"
    confirm(f"Delete checkpoint {made.id} ({about}, {ago(made.time)}), for good?", yes, hint)
    found = discarding.delete_checkpoint(workspace, made.id, force=force)
    return Said(found, [made.id], [f"Deleted {made.id}: {about}", "`holdfast tidy` gives its space back"])


def _about_points(workspace: Workspace, act: str, names: tuple[str, ...], run: str | None) -> Said:
    if act == "validate":
        proven = team_checkpoints.validate_checkpoints(workspace, run=run)
        rows = [f"{one.id}  {one_line('; '.join(one.problems)) or 'whole'}" for one in proven.checkpoints]
        return Said(proven, rows, code=DONE if proven.whole else Damaged.code)
    if act == "export":
        found = team_checkpoints.export_checkpoints(workspace, run=run)
        return Said(found, [found.path], [f"sha256 {found.sha256}"])
    if not names:
        raise WrongUsage("Which checkpoint?", [], ["`holdfast checkpoints` lists them"])
    if run is not None:  # a number would be a step of another run than this one
        hints = [f"`holdfast checkpoints --run {run}` lists its ids", f"`holdfast {act} cp-…`"]
        raise WrongUsage(f"`checkpoints {act}` means the run that one is on", [("run", run)], hints)
    shown = commanding.command(workspace, f"*cp-{act}:{':'.join(names)}")
    return Said(shown, [shown.text])


def _none(touching: str | None, filtered: bool) -> str:
    if touching:
        return f"None of the checkpoints touched {one_line(touching)}"
    return "No checkpoint fits" if filtered else "No checkpoint yet: `holdfast checkpoint` makes one"


class Diff(VerbCommand):
    """Knows where `--` stood: what comes after it are paths."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        at = args.index("--") if "--" in args else len(args)
        ctx.meta[PATHS] = tuple(args[at + 1 :])
        return super().parse_args(ctx, args[:at])


@verb("holdfast diff cp-4x9k2m7pq3 src/client.py", cls=Diff)
@click.argument("a", metavar="CHECKPOINT")
@click.argument("rest", nargs=-1, metavar="[OTHER] [PATH…]")
def diff(workspace: Workspace, a: str, rest: tuple[str, ...]) -> Said:
    """What differs between two checkpoints, or between one and the worktree: the code, and what the run learned.

    After `--` there are only paths.
    """
    b = None
    if rest and select.names_checkpoint(workspace, rest[0], is_path=os.path.lexists(rest[0])):
        b, rest = rest[0], rest[1:]
    paths = (*rest, *click.get_current_context().meta[PATHS])
    found = looking.diff(workspace, a, b, tuple(map(os.path.abspath, paths)))
    talk = [f"run: {line}" for line in found.state]
    return Said(found, coloured(found.code), [*talk, *(f"{one_line(path)} {how}" for path, how in found.left.items())])


@verb("holdfast restore cp-4x9k2m7pq3 src/client.py")
@click.argument("checkpoint", required=False)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--code", "what", flag_value="code", default="code", help="The worktree (the default).")
@click.option("--state", "what", flag_value="state", help="What the run knows.")
@click.option("--both", "what", flag_value="both", help="Both.")
@click.option("--index", is_flag=True, help="Also what was staged in git then.")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@click.option("--force", is_flag=True, help="Over what another living session changed, or from another worktree.")
@click.option("--continue", "go_on", is_flag=True, help="Finish a restore that was killed.")
@click.option("--undo", "take_back", is_flag=True, help="Take back a restore that was killed.")
@yes_option
def restore(
    workspace: Workspace,
    checkpoint: str | None,
    paths: tuple[str, ...],
    what: str,
    index: bool,
    dry_run: bool,
    force: bool,
    go_on: bool,
    take_back: bool,
    yes: bool,
) -> Said:
    """Make the worktree equal to a checkpoint. What is there now is kept first, so `holdfast undo` takes it back."""
    _refuse_contradiction(go_on, take_back, bool(checkpoint or what != "code" or index or dry_run or force))
    if go_on or take_back:
        act = restoring.continue_restore if go_on else restoring.undo_restore
        return said_restored(act(workspace))
    if checkpoint is None:
        raise _which(workspace)
    here = tuple(map(os.path.abspath, paths))
    options = {"code": what != "state", "state": what != "code", "index": index, "force": force}
    if not dry_run and not yes and sys.stdin.isatty():
        planned = restoring.restore(workspace, checkpoint, here, **options, dry_run=True)
        if planned.acts or planned.state or index:
            terminal.emit(preview(planned), sys.stderr)
            confirm("Go back?", yes, f"holdfast restore {checkpoint}")
    return said_restored(restoring.restore(workspace, checkpoint, here, **options, dry_run=dry_run))


def _which(workspace: Workspace) -> Ambiguous:
    """The question which checkpoint is meant; the newest first."""
    found = looking.checkpoints(workspace, limit=MANY if is_terminal() else FEW).checkpoints
    if not found:
        raise NotFound("There is no checkpoint yet", [], ["`holdfast checkpoint` makes one"])
    facts = [(made.id, _about(made)) for made in found]
    return Ambiguous("Which checkpoint", facts, ["name one of them", "`holdfast checkpoints` lists them"])


def _about(made: Checkpoint) -> str:
    what = one_line(made.name or made.message or "", 80)
    return f"{ago(made.time)}, {made.kind}, {count(made.changes, 'file')}  {what}".rstrip()


def _refuse_contradiction(go_on: bool, take_back: bool, more: bool) -> None:
    if go_on and take_back:
        raise WrongUsage("Options `--continue` and `--undo` contradict each other", [], ["give one of them"])
    if (go_on or take_back) and more:
        option = "--continue" if go_on else "--undo"
        raise WrongUsage(
            f"Option `{option}` stands alone: it goes on with what was interrupted",
            [],
            [f"`holdfast restore {option}`"],
        )


@verb("holdfast rollback 3 --yes")
@click.argument("checkpoint", metavar="N|CHECKPOINT")
@run_option
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@click.option("--force", is_flag=True, help="Over what another living session changed, or from another worktree.")
@yes_option
def rollback(workspace: Workspace, checkpoint: str, run: str | None, dry_run: bool, force: bool, yes: bool) -> Said:
    """Go back to a checkpoint in code and in what the run knew. `holdfast undo` takes it back.

    N is a row of the last list of checkpoints; where none were listed, it counts from the newest.
    """
    planned = rolling.rollback(workspace, checkpoint, run=run, dry_run=True, force=force)
    if dry_run:
        return said_restored(planned)
    if not yes and (planned.acts or planned.later_events):
        if is_terminal():
            terminal.emit(preview(planned), sys.stderr)
        of_run = f" --run {run}" if run else ""
        confirm(f"Go back to {planned.to}?", yes, f"holdfast rollback {planned.to}{of_run}")
    return said_restored(rolling.rollback(workspace, planned.to, run=run, force=force))


@verb("holdfast undo")
@yes_option
def undo(workspace: Workspace, yes: bool) -> Said:
    """Take back the last restore: every byte and every mode."""
    return said_restored(restoring.undo(workspace))


@verb("holdfast redo")
@yes_option
def redo(workspace: Workspace, yes: bool) -> Said:
    """Do again what `holdfast undo` took back."""
    return said_restored(restoring.redo(workspace))


@verb("holdfast guard --auto -- pytest -q", context_settings={"ignore_unknown_options": True})
@click.option("--auto", is_flag=True, help="Where it fails, go back without asking.")
@COMMAND
def guard(workspace: Workspace, auto: bool, command: tuple[str, ...]) -> Said:
    """Run a command. Where it passes, keep that state; where it fails, offer the way back to it. Exits as it does.

    Standard output is the command's own; with --json it goes to standard error.
    """
    as_json = click.get_current_context().get_parameter_source("as_json") is ParameterSource.COMMANDLINE
    found = guarding.guard(workspace, command, auto=auto, to_stderr=as_json)
    if found.code == 0 and found.passed:
        return Said(found, talk=[f"It passes; this state is kept as {found.passed.id}"])
    if found.restored:
        return Said(
            found, talk=[f"It fails; back at {found.restored.to}. `holdfast undo` takes that back."], code=found.code
        )
    if found.passed is None:
        return Said(found, talk=["It fails, and no checkpoint is known at which it passed."], code=found.code)
    way = f"holdfast restore {found.passed.id}"
    if sys.stdin.isatty() and ask(f"It fails. Go back to {found.passed.id}, where it passed?"):
        found.restored = restoring.restore(workspace, found.passed.id)
        return Said(found, talk=["Back. `holdfast undo` takes that back."], code=found.code)
    return Said(
        found, talk=[f"It fails. It passed at {found.passed.id}, {ago(found.passed.time)}: `{way}`"], code=found.code
    )


@verb("holdfast bisect -- pytest -q tests/test_client.py", context_settings={"ignore_unknown_options": True})
@click.option("--good", metavar="CHECKPOINT", help="Where it passed; else the oldest.")
@click.option("--bad", metavar="CHECKPOINT", help="Where it failed; else the newest.")
@COMMAND
def bisect(workspace: Workspace, good: str | None, bad: str | None, command: tuple[str, ...]) -> Said:
    """Find the first checkpoint at which a command fails. The worktree is put back as it was.

    Prints the checkpoint's id; what the command prints goes to standard error.
    """
    found = guarding.bisect(workspace, command, good=good, bad=bad)
    bad_one = found.first_bad
    label = one_line(bad_one.name or bad_one.message or bad_one.kind, 80)
    talk = [f"First bad of {found.tried} tried: {bad_one.id} ({label})"]
    return Said(found, [bad_one.id], [*talk, f"See what it changed: `holdfast diff {found.last_good.id} {bad_one.id}`"])
