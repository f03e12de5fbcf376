"""Remove a run: `delete`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.core.text import count, one_line
from holdfast.maintenance.purge.purge import Purged, find_gone, find_pending, is_meant
from holdfast.operations import delete as deleting, look
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import complete_run, confirm, verb, yes_option
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


@verb("holdfast delete run-4x9k2m7pq3 --yes")
@click.argument("run", shell_complete=complete_run)
@click.option("--purge", is_flag=True, help="Its checkpoints too, and leave no byte of it in the store.")
@yes_option
def delete(workspace: Workspace, run: str, purge: bool, yes: bool) -> Said:
    """Remove a run with all its events, for good."""
    if not yes and not (purge and (is_meant(find_pending(workspace.place), run) or find_gone(workspace, run))):
        found_run = look.show(workspace, run).run
        what = "all its checkpoints and every copy of it" if purge else "all its events"
        question = f"Delete {found_run.id} ({one_line(found_run.title, 60)}) with {what}, for good?"
        confirm(question, yes, f"holdfast delete {found_run.id}{' --purge' if purge else ''}")
    found = deleting.delete(workspace, run, purge=purge)
    told = f"Deleted {count(found.events, 'event')}: {one_line(found.goal, 80)}"
    talk: list[Line] = [told if found.events else "Its events were deleted before"]
    return Said(found, [found.run], [*talk, *(_purged(found.run, found.purge) if found.purge else ())])


def _purged(run: str, found: Purged) -> Iterator[Line]:
    yield f"Purged, with {count(found.checkpoints, 'checkpoint')}; gave back {found.freed / 1_000_000:,.1f} MB"
    yield from (
        ("warn", f"Removed a copy of the store that may have held it: {one_line(path)}") for path in found.copies
    )
    yield from (("warn", f"Stays, for it is not ours: {one_line(path)}") for path in found.files)
    if found.set_aside:
        yield (
            "warn",
            f"{count(found.set_aside, 'call')} in inbox/aside could not be read: nobody knows whose they are",
        )
    if found.waiting:
        again = f"`holdfast delete {run} --purge --yes` in an hour finishes it"
        yield ("warn", f"Git has just used {count(found.waiting, 'pack')}, which may hold some of its code; {again}")
