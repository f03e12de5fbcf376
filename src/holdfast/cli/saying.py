"""What is said about checkpoints and ways back, however the command was read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.cli import words
from holdfast.cli.outcome import Said, is_terminal
from holdfast.cli.words import Line
from holdfast.operations.checkpoint import checkpoint
from holdfast.text import count, one_line
from holdfast.workspace import Workspace

if TYPE_CHECKING:
    from holdfast.returning import Restored  # a checkpoint need not load what goes back

SHOWN = 20
FILTERED = "checkpoint.filtered"


def make_checkpoint(workspace: Workspace, name: str | None, message: str | None, run: str | None) -> Said:
    """Make a checkpoint, and say what was kept and what was not."""
    found = checkpoint(workspace, name, message=message, run=run)
    if found.filtered and _asked_to_keep(workspace, found.filtered):
        found = checkpoint(workspace, name, message=message, run=run)
    made = found.checkpoint
    talk: list[Line] = [f"Kept {count(made.changes, 'changed file')} since the last checkpoint"]
    talk += [("warn", f"Not kept: {one_line(path)}") for path in made.skipped[:SHOWN]]
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

    from holdfast.operations import configure

    words.emit(
        [f"{count(len(paths), 'file')} pass through a git filter (LFS, git-crypt), such as {paths[0]}."], sys.stderr
    )
    keep = click.confirm("Keep their real content in checkpoints, inside this repository's .git?", err=True)
    configure.config_set(workspace, FILTERED, "keep" if keep else "skip")
    del workspace.settings
    return keep


def said_restored(found: Restored) -> Said:
    data: list[Line] = [found.to] if not found.dry_run else []
    return Said(found, data, list(changes(found)))


def changes(found: Restored) -> Iterator[Line]:
    if found.dry_run:
        yield f"Would change {count(len(found.paths), 'file')}:"
        for path in found.paths[:SHOWN]:
            yield f"  {one_line(path)}"
        if len(found.paths) > SHOWN:
            yield f"  and {len(found.paths) - SHOWN} more"
        return
    way = "redo" if found.restore and found.restore.verb == "undo" else "undo"
    yield f"Back at {found.to}: {found.written} written, {found.removed} removed; `holdfast {way}` takes it back"
    for path, place in found.moved_aside.items():
        yield ("warn", f"Was in the way: {one_line(path)}, which is now {one_line(place)}")
    for path in found.brought_back:
        yield f"Is in its place again: {one_line(path)}"
