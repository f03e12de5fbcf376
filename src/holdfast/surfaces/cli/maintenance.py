"""Look after it: sweep, verify, repair, tidy."""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.core.errors import Damaged
from holdfast.core.text import count, one_line
from holdfast.operations import (
    repair as repairing,
    sweep as sweeping,
    tidy as tidying,
    verify as verifying,
)
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import complete_run, verb, yes_option
from holdfast.surfaces.cli.render.details import told_troubles
from holdfast.surfaces.cli.render.sizes import megabytes
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


@verb("holdfast sweep")
def sweep(workspace: Workspace) -> Said:
    """Take in what hooks have kept, and mark as interrupted what died."""
    found = sweeping.sweep(workspace)
    talk: list[Line] = [f"Took in {count(found.taken_in, 'call')}"]
    if found.set_aside:
        talk.append(("warn", f"{count(found.set_aside, 'call')} could not be read and went to inbox/aside"))
    talk += told_troubles(found.troubles)
    return Said(found, found.interrupted, [*talk, f"{count(len(found.interrupted), 'run')} found interrupted"])


@verb("holdfast verify --deep")
@click.option(
    "--deep", is_flag=True, help="Also read every byte: database, search index, objects, copies of files, backups."
)
def verify(workspace: Workspace, deep: bool) -> Said:
    """Prove that the store is whole. It changes nothing; exit code 12 says that something is damaged."""
    found = verifying.verify(workspace, deep=deep)
    seen = ", ".join(_seen(found))
    if damaged := [*found.problems, *found.faces]:
        data: list[Line] = [f"{problem.where}: {one_line(problem.what)}" for problem in damaged]
        told: list[Line] = [("bad", f"Damaged: {count(len(damaged), 'problem')} in {seen}")]
        told += ["`holdfast repair` mends what can be mended, and says what is lost"] if found.problems else []
        return Said(found, data, told, Damaged.code)
    talk: list[Line] = []
    if found.set_aside:
        talk.append(f"{count(found.set_aside, 'call')} that could not be read lie in inbox/aside")
    if found.unread:
        talk.append(("warn", f"{count(found.unread, 'call')} in the inbox cannot be read for the moment"))
    if found.promised:
        talk.append(f"{count(found.promised, 'object')} of yours are not fetched yet: this is a partial clone")
    return Said(found, [f"Whole: {seen}"], talk)


@verb("holdfast repair")
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--keep", is_flag=True, help="Take the file as it is, though it was turned back.")
@yes_option
def repair(workspace: Workspace, run: str | None, keep: bool, yes: bool) -> Said:
    """Mend the store from what is left of it and from backups, then a run's damaged files of another system.

    A FABER run's come from their best copy, those of a Go Team run or the orchestrator from the journal. What is
    damaged stays aside; what is lost is said.
    """
    found = repairing.repair(workspace, run, keep=keep)
    talk = list(_mended(found.store)) if found.store else []
    if found.path is None:
        mine = [f"Nothing to repair: {found.run} has no file that `repair` mends"] if found.run else []
        return Said(found, talk=[*talk, *mine])
    if found.source is None:
        talk.append("Taken as it is" if found.changed else "Nothing to repair: it is whole")
        return Said(found, [found.path], talk)
    talk.append(f"Put back from {found.source}")
    for made in found.files:
        talk.append(f"{made.path} is made anew: {one_line(made.why, 120)}. What stood there is now {made.aside}")
    if found.aside:
        talk.append(f"What stood there is now {found.aside}")
    talk += [("warn", f"Lost: {one_line(what, 200)}") for what in found.lost]
    return Said(found, [found.path], talk)


def _mended(store: repairing.Mended) -> Iterator[Line]:
    if not store.changed:
        yield "The store is whole"
    for what in store.mended:
        yield f"Mended: {one_line(what, 200)}"
    for what in store.lost:
        yield "warn", f"Lost: {one_line(what, 200)}"
    if store.aside:
        yield f"The damaged database is kept in {store.aside} of the store"


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
    """Thin out old checkpoints and tool output, and give space back. What is open, named or pinned stays."""
    found = tidying.tidy(workspace, days=days, most=most, megabytes=megabytes, dry_run=dry_run)
    return Said(found, found.dropped, list(_tidied(found)))


def _tidied(found: tidying.Tidied) -> Iterator[Line]:
    word = "Would drop" if found.dry_run else "Dropped"
    yield f"{word} {count(len(found.dropped), 'checkpoint')}, {found.kept:,} stay"
    if found.because:
        reasons = ", ".join(f"{number:,} {why}" for why, number in found.because.items())
        yield f"Stay whatever the numbers say: {reasons}"
    removed = "Would remove" if found.dry_run else "Removed"
    if found.copies:
        yield f"{removed} {count(len(found.copies), 'backup')} that upgrades made"
    yield from (f"{removed} what was put aside: {one_line(name, 120)}" for name in found.aside)
    if found.thinned:
        thinned = "Would thin" if found.dry_run else "Thinned"
        yield f"{thinned} out the tool output of {count(len(found.thinned), 'run')}"
    if found.removed:
        yield f"{removed} {count(len(found.removed), 'run')} that had ended and were exported"
    if found.backups:
        yield f"{word} {count(len(found.backups), 'backup')} of state files whose runs ended long ago"
    if not found.dry_run:
        yield f"Gave back {megabytes(found.given_back)}"
    yield f"Taken: {megabytes(found.room.total)} of {megabytes(found.cap)}"
    if found.waiting:
        yield f"Git has just used {count(found.waiting, 'pack')}; what they hold can go in an hour"
    if found.unknown:
        yield ("warn", f"{count(found.unknown, 'state')} that the journal does not know are kept")
