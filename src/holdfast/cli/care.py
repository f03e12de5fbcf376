"""Look after it: sweep, verify, repair, tidy, delete."""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.cli.command import complete_run, confirm, verb, yes_option
from holdfast.cli.outcome import Said
from holdfast.cli.words import Line
from holdfast.errors import Damaged
from holdfast.operations import (
    delete as deleting,
    look,
    repair as repairing,
    sweep as sweeping,
    tidy as tidying,
    verify as verifying,
)
from holdfast.text import count, one_line
from holdfast.workspace import Workspace


@verb("holdfast sweep")
def sweep(workspace: Workspace) -> Said:
    """Take in what hooks have kept, and mark as interrupted what died."""
    found = sweeping.sweep(workspace)
    talk: list[Line] = [f"Took in {count(found.taken_in, 'call')}"]
    if found.set_aside:
        talk.append(("warn", f"{count(found.set_aside, 'call')} could not be read and went to inbox/aside"))
    talk += [("warn", f"A hook could not keep a call: {one_line(trouble, 120)}") for trouble in found.troubles]
    return Said(found, found.interrupted, [*talk, f"{count(len(found.interrupted), 'run')} found interrupted"])


@verb("holdfast verify --deep")
@click.option("--deep", is_flag=True, help="Also read every object that checkpoints need.")
def verify(workspace: Workspace, deep: bool) -> Said:
    """Prove that the store is whole. It changes nothing; exit code 12 says that something is damaged."""
    found = verifying.verify(workspace, deep=deep)
    seen = ", ".join(_seen(found))
    if damaged := [*found.problems, *found.faces]:
        data: list[Line] = [f"{problem.where}: {one_line(problem.what)}" for problem in damaged]
        told: list[Line] = [("bad", f"Damaged: {count(len(damaged), 'problem')} in {seen}")]
        told += ["`holdfast repair` makes damaged files of a Go Team run anew"] if found.faces else []
        return Said(found, data, told, Damaged.code)
    talk: list[Line] = []
    if found.set_aside:
        talk.append(f"{count(found.set_aside, 'call')} that could not be read lie in inbox/aside")
    if found.promised:
        talk.append(f"{count(found.promised, 'object')} of yours are not fetched yet: this is a partial clone")
    return Said(found, [f"Whole: {seen}"], talk)


@verb("holdfast repair")
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--keep", is_flag=True, help="Take the file as it is, though it was turned back.")
def repair(workspace: Workspace, run: str | None, keep: bool) -> Said:
    """Put back a FABER run's state file that is damaged or was turned back, or make a Go Team run's files anew."""
    found = repairing.repair(workspace, run, keep=keep)
    if found.path is None:
        return Said(found, talk=[f"Nothing to repair: {found.run} has no file of another system"])
    if found.source is None:
        return Said(found, [found.path], ["Taken as it is" if found.changed else "Nothing to repair: it is whole"])
    talk: list[Line] = [f"Put back from {found.source}"]
    for made in found.files:
        talk.append(f"{made.path} is made anew: {one_line(made.why, 120)}. What stood there is now {made.aside}")
    if found.aside:
        talk.append(f"What stood there is now {found.aside}")
    talk += [("warn", f"Lost: {one_line(what, 200)}") for what in found.lost]
    return Said(found, [found.path], talk)


def _seen(found: verifying.Verified) -> Iterator[str]:
    yield count(found.runs, "run")
    yield count(found.events, "event")
    if found.checkpoints:
        yield count(found.checkpoints, "checkpoint")
    if found.objects:
        yield count(found.objects, "object")


@verb("holdfast tidy --dry-run")
@click.option("--days", type=click.IntRange(0, 36_500), metavar="N", help="Drop what is older.")
@click.option("--most", type=click.IntRange(1, 10**9), metavar="N", help="Keep at most N of a worktree.")
@click.option("--bytes", "megabytes", type=click.IntRange(0, 10**8), metavar="MB", help="Keep at most so much.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def tidy(workspace: Workspace, days: int | None, most: int | None, megabytes: int | None, dry_run: bool) -> Said:
    """Thin out checkpoints: all of a day, one an hour of a week, one a day before. Named and pinned ones stay."""
    found = tidying.tidy(workspace, days=days, most=most, megabytes=megabytes, dry_run=dry_run)
    word = "Would drop" if dry_run else "Dropped"
    talk: list[Line] = [f"{word} {count(len(found.dropped), 'checkpoint')}, {found.kept:,} stay"]
    if found.because:
        reasons = ", ".join(f"{number:,} {why}" for why, number in found.because.items())
        talk.append(f"Stay whatever the numbers say: {reasons}")
    if not dry_run:
        talk.append(f"Gave back {_megabytes(found.freed)}, {_megabytes(found.stored)} are taken")
    if found.backups:
        talk.append(f"{word} {count(len(found.backups), 'backup')} of state files whose runs ended long ago")
    if found.waiting:
        talk.append(f"Git has just used {count(found.waiting, 'pack')}; what they hold can go in an hour")
    if found.unknown:
        talk.append(("warn", f"{count(found.unknown, 'state')} that the journal does not know are kept"))
    return Said(found, found.dropped, talk)


def _megabytes(number: int) -> str:
    return f"{number / 1_000_000:,.1f} MB"


@verb("holdfast delete run-4x9k2m7pq3 --yes")
@click.argument("run", shell_complete=complete_run)
@yes_option
def delete(workspace: Workspace, run: str, yes: bool) -> Said:
    """Remove a run with all its events, for good."""
    if not yes:
        found_run = look.show(workspace, run).run
        question = f"Delete {found_run.id} ({one_line(found_run.title, 60)}) for good?"
        confirm(question, yes, f"holdfast delete {found_run.id}")
    found = deleting.delete(workspace, run)
    return Said(found, [found.run], [f"Deleted {count(found.events, 'event')}: {one_line(found.goal, 80)}"])
