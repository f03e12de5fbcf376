"""Keep the whole store in a file, and put it back: backup, restore-backup."""

from __future__ import annotations

import os
import shlex

import click

from holdfast.core.text import count, one_line
from holdfast.operations import backup as backups
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import confirm, verb, yes_option
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


@verb("holdfast backup ~/holdfast.tar.gz")
@click.argument("file", type=click.Path())
@yes_option
def backup(workspace: Workspace, file: str, yes: bool) -> Said:
    """Write the whole store into one file, while others work: journal, checkpoints, copies of files, waiting calls.

    It is compressed, read back before it gets its name, and readable by you alone. Killed or stopped, it goes on where
    it was when it is called again with the same name.
    """
    if os.path.isfile(file) and not yes:
        confirm(f"Replace {one_line(file, 200)}?", yes, f"holdfast backup {shlex.quote(file)}")
        yes = True
    found = backups.backup(workspace, file, replace=yes)
    held = f"{count(found.runs, 'run')}, {count(found.events, 'event')}, {count(found.checkpoints, 'checkpoint')}"
    talk: list[Line] = [f"Kept and verified: {held}, in {found.size / 1_000_000:,.1f} MB"]
    if found.unread:
        talk.append(("warn", f"Without {count(len(found.unread), 'kept call')} that cannot be read for the moment"))
    return Said(found, [found.path], talk)


@verb("holdfast restore-backup ~/holdfast.tar.gz --yes")
@click.argument("file", type=click.Path())
@yes_option
def restore_backup(workspace: Workspace, file: str, yes: bool) -> Said:
    """Let the store be what a backup says. What is there now becomes a backup first, so this can be undone."""
    if not yes:
        made, runs = backups.look_into_backup(file)
        held = f"{count(runs, 'run')} and {count(made.rows.get('event', 0), 'event')}"
        hint = f"holdfast restore-backup {shlex.quote(file)}"
        confirm(f"Put back {held}, as of {one_line(made.made, 40)}?", yes, hint)
    found = backups.restore_backup(workspace, file)
    held = f"{count(found.runs, 'run')}, {count(found.events, 'event')}, {count(found.checkpoints, 'checkpoint')}"
    talk: list[Line] = [f"Put back: {held}"]
    if found.before:
        talk.append(
            f"What was there before is kept: `holdfast restore-backup {shlex.quote(found.before)}` takes this back"
        )
    if found.aside and found.before:
        talk.append(
            ("warn", f"Somebody wrote after that was kept; the files as they were are in {found.aside} of the store")
        )
    elif found.aside:
        talk.append(
            ("warn", f"No backup can be made of what was there before; its files are in {found.aside} of the store")
        )
    return Said(found, [found.path], talk)
