"""Backup of the whole store in one file, and its restoration."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import NotFound, Refused
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import count, one_line, path_text
from holdfast.journal import backup_file
from holdfast.maintenance.backup import replace_store, write_backup
from holdfast.operations.parameters import YES, Kind, argument, flag
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.workspace import Workspace
from holdfast.system import files


class BackedUp(Struct):
    path: str
    size: int  # bytes of the file
    runs: int
    events: int
    checkpoints: int
    format: int  # of the store in it
    unread: list[str]  # calls that cannot be read at present: they stay in the inbox, outside the backup


class PutStoreBack(Struct):
    path: str  # of the backup
    runs: int
    events: int
    checkpoints: int
    before: str | None  # a backup of the replaced store; null: that was too damaged or too new, or the backup is gone
    aside: str | None  # the old database, if that backup does not hold all of it


def _ask_to_replace(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    path = given["path"]
    if given.get("replace") or not os.path.isfile(path):
        return None
    hint = f"`holdfast backup {shlex.quote(path)} --yes`"
    return Choose(parameter="replace", prompt=f"Replace {one_line(path, 200)}?", hints=(hint,))


@verb(
    group=Group.CARE,
    example="holdfast backup ~/holdfast.tar.gz",
    about="back the whole store up into one file",
    asks=_ask_to_replace,
    options=(flag("--yes", help="Do not ask.", gives={"replace": True}),),
)
def backup(
    workspace: Workspace, path: Annotated[str, argument(metavar="FILE", kind=Kind.FILE)], *, replace: bool = False
) -> BackedUp:
    """Write the whole store into one file, without stopping others: journal, checkpoints, file copies, waiting calls.

    It is compressed, read back before it gets its name, and readable by you alone. After a kill, the same command
    continues where it was.
    """
    workspace.check_exists()
    target = Path(os.path.abspath(path))
    facts = [("path", path_text(target))]
    if workspace.place in target.parents:
        raise Refused("A backup inside the store would be lost with it", facts, ["give a path outside"])
    if target.is_dir() or (os.path.lexists(target) and not replace):
        hints = ["give another name", "`--yes` replaces a file"]
        raise Refused("There is something with this name already", facts, hints)
    if not target.parent.is_dir():
        place = path_text(target.parent)
        raise NotFound("There is no such directory", [("path", place)], [f"`mkdir -p {shlex.quote(place)}`"])
    with files.os_errors(target):
        kept = write_backup(workspace, target)
    return BackedUp(path_text(target), kept.size, *_counts(kept.contents), kept.contents.format, kept.unread)


def _ask_to_put_back(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    if given.get("yes"):
        return None
    made, runs = inspect_backup(given["path"])
    held = f"{count(runs, 'run')} and {count(made.rows.get('event', 0), 'event')}"
    prompt = f"Restore {held}, as of {one_line(made.made, 40)}?"
    return confirmation(prompt, f"holdfast restore-backup {shlex.quote(given['path'])}")


@verb(
    "restore-backup",
    group=Group.CARE,
    example="holdfast restore-backup ~/holdfast.tar.gz --yes",
    asks=_ask_to_put_back,
    syncs=False,
    options=(YES,),
)
def restore_backup(
    workspace: Workspace, path: Annotated[str, argument(metavar="FILE", kind=Kind.FILE)]
) -> PutStoreBack:
    """Restore the store from a backup. The present store is backed up first, so this can be undone."""
    source = Path(os.path.abspath(path))
    if workspace.exists:
        workspace.check_ours()
    with files.os_errors(source):
        if not workspace.exists:
            backup_file.read_archive(source, lambda _: None)
            workspace.create()
        found = replace_store(workspace, source)
    before = path_text(found.before) if found.before else None
    return PutStoreBack(path_text(source), *_counts(found.contents), before, found.aside)


def inspect_backup(path: str) -> tuple[backup_file.Contents, int]:
    """Read a whole backup; return its table of contents and the number of its runs."""
    with files.os_errors(path):
        found = backup_file.read_archive(Path(os.path.abspath(path)), lambda _: None)
    return found, _counts(found)[0]


def _counts(contents: backup_file.Contents) -> tuple[int, int, int]:
    rows = contents.rows
    return rows.get("run", 0) - contents.ledgers, rows.get("event", 0), rows.get("checkpoint", 0)
