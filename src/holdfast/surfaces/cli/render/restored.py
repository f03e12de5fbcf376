"""Ways back: restore, rollback, undo, redo."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.core.text import count, one_line
from holdfast.project.checkpoints.conflicts import describe_clashes
from holdfast.project.checkpoints.restore import Restored
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, previews, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

if TYPE_CHECKING:
    from holdfast.core.model import Restore

SHOWN = 20


@renders(Restored)
def said_restored(found: Restored, view: View) -> Said:
    data = list(planned(found)) if found.dry_run else [found.to]
    return Said(found, data, list(summary(found)))


def planned(found: Restored) -> Iterator[str]:
    """What would happen to each path."""
    return (f"{act.ljust(6)}  {one_line(path)}" for path, act in found.acts.items())


@previews(Restored)
def preview(found: Restored) -> Iterator[Line]:
    """The plan, shown before the question whether to go back."""
    yield from summary(found)
    lines = list(planned(found))
    yield from (f"  {line}" for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"  and {len(lines) - SHOWN:,} more"


def summary(found: Restored) -> Iterator[Line]:
    if found.undone:
        yield _undone(found.undone, found.undone_name, found.restore)
    yield _went(found)
    if found.event is not None and (found.restore or found.dry_run):
        later = f"{count(found.later_events, 'later event')} {'stays' if found.later_events == 1 else 'stay'}"
        yield f"The run {'would be' if found.dry_run else 'is'} back at event {found.event:,}; {later} in the journal"
    for path, place in found.moved_aside.items():
        yield ("warn", f"Was in the way: {one_line(path)}, which is now {one_line(place)}")
    for path in found.brought_back:
        yield f"Is in its place again: {one_line(path)}"
    for path, why in list(found.left.items())[:SHOWN]:
        yield ("warn", f"Not brought back: {one_line(path)} {why}")
    yield from (("warn", line) for line in describe_clashes(found.clashes))


def _undone(undone: Restore, name: str | None, restore: Restore | None) -> str:
    """Which way back is taken back, so that nobody takes back an older one unawares."""
    if restore and restore.verb == "redo":
        return f"Redoing what was undone {terminal.when(undone.time)}"
    return f"Undoing: {undone.verb} to {one_line(name or undone.target, 60)} of {terminal.when(undone.time)}"


def _directories(found: Restored) -> str:
    number = len(found.acts) - len(found.paths)
    return f" and {number:,} empty director{'y' if number == 1 else 'ies'}" if number else ""


def _went(found: Restored) -> str:
    label = f"{found.to} ({one_line(found.name, 60)})" if found.name else found.to
    if found.dry_run:
        return f"Would change {count(len(found.paths), 'file')}{_directories(found)}"
    if found.restore is None:
        what = "the worktree is at" if found.event is None else "all is as in"
        return f"Nothing to do: {what} {label} already"
    done = f"{found.written:,} written, {found.removed:,} removed"
    if found.given_up:
        return f"All is as it was before it began: {done}"
    way = f"; `holdfast {found.taken_back_by}` takes it back" if found.taken_back_by else ""
    return f"Back at {label}: {done}{way}"
