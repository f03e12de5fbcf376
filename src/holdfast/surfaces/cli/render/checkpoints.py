"""What is said about checkpoints and ways back, however the command was read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.core.text import count, one_line
from holdfast.operations.checkpoint import checkpoint
from holdfast.project.checkpoints.conflicts import told_clashes
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.surfaces.cli.terminal import Line

if TYPE_CHECKING:
    from holdfast.core.model import Restore
    from holdfast.project.checkpoints.restore import Restored  # a checkpoint need not load what goes back

SHOWN = 20
FILTERED = "checkpoint.filtered"
PATCH_STYLES = {"+": "good", "-": "bad", "@": "dim"}


def make_checkpoint(workspace: Workspace, name: str | None, message: str | None, run: str | None) -> Said:
    """Make a checkpoint, and say what was kept and what was not."""
    found = checkpoint(workspace, name, message=message, run=run)
    if found.filtered and _asked_to_keep(workspace, found.filtered):
        found = checkpoint(workspace, name, message=message, run=run)
    made = found.checkpoint
    talk: list[Line] = [f"Kept {count(made.changes, 'changed file')} since the last checkpoint"]
    if found.files is not None:
        talk = [f"Kept {count(found.files, 'file')}: the first checkpoint of this worktree"]
    reasons = list(found.left_out.items())
    talk += [("warn", f"Not kept: {one_line(path)} ({why})") for path, why in reasons[:SHOWN]]
    if len(reasons) > SHOWN:
        talk.append(("warn", f"Not kept: {len(reasons) - SHOWN:,} more"))
    if found.filtered:
        talk.append(
            f"{len(found.filtered)} of them are behind a filter: `holdfast config set {FILTERED} keep` keeps them"
        )
    return Said(found, [made.id], talk)


def _asked_to_keep(workspace: Workspace, paths: list[str]) -> bool:
    """Ask once whether what LFS or git-crypt hides from git may be kept as it stands in the worktree."""
    if workspace.settings.values[FILTERED].value != "ask" or not is_terminal():
        return False
    import click

    from holdfast.operations import config

    terminal.emit(
        [f"{count(len(paths), 'file')} pass through a git filter (LFS, git-crypt), such as {paths[0]}."], sys.stderr
    )
    keep = click.confirm("Keep their real content in checkpoints, inside this repository's .git?", err=True)
    config.config_set(workspace, FILTERED, "keep" if keep else "skip")
    del workspace.settings
    return keep


def coloured(patch: str) -> list[Line]:
    """A patch in git's form, as terminals show one."""
    in_file = False  # before the first hunk, a plus or minus is part of a header
    lines: list[Line] = []
    for line in patch.splitlines():
        in_file = line.startswith("@@") or (in_file and not line.startswith("diff --git "))
        style = PATCH_STYLES.get(line[:1]) if in_file else "title"
        lines.append((style, line) if style else line)
    return lines


def said_restored(found: Restored) -> Said:
    if found.dry_run:
        return Said(found, list(planned(found)), list(summary(found)))
    return Said(found, [found.to], list(summary(found)))


def planned(found: Restored) -> Iterator[str]:
    """What would happen to each path."""
    return (f"{act.ljust(6)}  {one_line(path)}" for path, act in found.acts.items())


def preview(found: Restored) -> Iterator[Line]:
    """What somebody sees who is going to be asked."""
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
    yield from (("warn", line) for line in told_clashes(found.clashes))


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
