"""What a run was told: notes, decisions, tasks, actions, errors, names, tags."""

from __future__ import annotations

from holdfast.core.text import count, one_line
from holdfast.operations.entries import (
    Decided,
    Forgotten,
    Noted,
    Pinned,
    Recorded,
    Renamed,
    Revoked,
    Tagged,
    TaskAdded,
    TaskDone,
    TasksListed,
)
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said


@renders(Noted)
def said_noted(found: Noted, view: View) -> Said:
    return Said(found, [found.entry], [f"Noted on {found.run}"])


@renders(Decided)
def said_decided(found: Decided, view: View) -> Said:
    return Said(found, [found.entry], [f"Decided on {found.run}"])


@renders(Revoked)
def said_revoked(found: Revoked, view: View) -> Said:
    now = f"{found.entry} is revoked" if found.changed else f"{found.entry} was revoked already"
    return Said(found, [found.entry], [now])


@renders(TaskAdded)
def said_added(found: TaskAdded, view: View) -> Said:
    return Said(found, [found.entry], [f"Added to {found.run}"])


@renders(TaskDone)
def said_done(found: TaskDone, view: View) -> Said:
    now = f"{found.entry} is done" if found.changed else f"{found.entry} was done already"
    return Said(found, [found.entry], [now])


@renders(TasksListed)
def said_tasks(found: TasksListed, view: View) -> Said:
    rows = [[task.id, "done" if task.done else "open", task.text, task.outcome or ""] for task in found.tasks]
    if not rows:
        return Said(found, talk=["No task yet."])
    return Said(found, lambda: terminal.table(["task", "state", "what", "outcome"], rows))


@renders(Recorded)
def said_recorded(found: Recorded, view: View) -> Said:
    return Said(found, [str(found.seq)], [f"Recorded on {found.run}"])


@renders(Pinned)
def said_pinned(found: Pinned, view: View) -> Said:
    return Said(found, [found.entry], [f"{found.entry} is {'pinned' if found.pinned else 'not pinned'}"])


@renders(Forgotten)
def said_forgotten(found: Forgotten, view: View) -> Said:
    return Said(found, [str(found.seq)], [f"{found.run} has forgotten event {found.seq}"])


@renders(Renamed)
def said_renamed(found: Renamed, view: View) -> Said:
    return Said(found, [found.run.id], [f"{found.run.id} is called {one_line(found.run.title, 80)}"])


@renders(Tagged)
def said_tagged(found: Tagged, view: View) -> Said:
    return Said(found, found.run.tags, [f"{found.run.id} has {count(len(found.run.tags), 'tag')}"])
