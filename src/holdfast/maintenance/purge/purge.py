"""Removing a run so that no byte of it is left in the store: database, log, copies, caches, and the packs' objects.

What shall go is written down first, in `purging`, so that a purge that was killed is known and can be finished. The
journal forgets the run in one commit; everything after that only removes what nothing names any more. Checkpoints of
the run go with it. What other runs, commits or the user's own files hold as well is theirs, and stays.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import shlex
import shutil
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, NotFound, Refused
from holdfast.core.model import Draft, Run
from holdfast.core.text import path_text
from holdfast.ingest.open import open_workspace
from holdfast.journal.codec import UNREADABLE
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout, layouts
from holdfast.maintenance.prune.checkpoints import named_objects
from holdfast.maintenance.purge import worktree_log
from holdfast.project import context_windows, inbox as intake
from holdfast.project.runs import select, tombstones
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.clock import micros
from holdfast.system.shared_files import Generations
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import LEFTOVER, prune

MAIN = "."  # the name of the main worktree
PATIENCE = 120.0  # seconds to wait for a checkpoint that is being made
COPIES = ("backups/*", "aside/journal-*", "aside/copies/*")  # of the store, whole or damaged
PACKS = "aside/packs/*"  # of ours, damaged; their dates say nothing
ROOMS = ("backing-up", "rebuilding", "restoring")  # where a backup or repair works, and what a kill left there
CARRIED = "carried"
STALE = 60.0  # seconds after which such a file is nobody's any more
CACHES = ("memory", "index", "looked-at", "theirs")  # of a worktree; they name files, and keep their objects alive
SIZE = 1 << 26
CHUNK = 1 << 20
COMPRESSED = b"\x1f\x8b"


class Purge(Struct):
    """What shall go; it holds names alone."""

    run: str
    created: int = 0  # when the run began
    names: list[str] = []  # of its sessions and conversations
    checkpoints: dict[str, tuple[str, int]] = {}  # id -> its worktree and its number there
    restores: list[str] = []
    faces: list[str] = []  # files of another system that show the run and stay
    shown: list[str] = []  # files of the project in which we show it: they would bring it back
    worktree: str | None = None  # that has those files
    directory: str = ""  # of that worktree


class Purged(Struct):
    checkpoints: int  # that went with it
    freed: int  # bytes of our packs
    copies: list[str]  # backups and damaged originals in the store that may have held it, and are gone
    waiting: int  # packs that git has just used: until an hour from now, what they hold cannot go
    set_aside: int  # kept calls that could not be read: nobody knows whose they are
    files: list[str] = []  # of the project, that show the run and stay


def find_pending(place: Path) -> Purge | None:
    """The purge that was begun and not finished."""
    try:
        data = files.read(place / tombstones.PURGING, SIZE)
        return msgspec.json.decode(data, type=Purge) if data else None
    except (*UNREADABLE, Refused):
        return None


def is_meant(begun: Purge | None, name: str) -> bool:
    """Whether a name means the run of a purge that was begun: the journal may not know it any more."""
    return begun is not None and name != "" and (begun.run.startswith(name) or begun.run.endswith(name))


def plan_purge(workspace: Workspace, journal: Journal, run: Run) -> Purge:
    """Everything by which the run can be found again once the journal has forgotten it."""
    sessions = journal.list_sessions(run.id)
    made = list(journal.list_checkpoints(run=run.id))
    names = {name for session in sessions for name in (session.id, session.agent_session) if name}
    gone = {one.id: (one.worktree, one.number) for one in made}
    restores = {
        str(event.body["restore"]["id"])
        for ledger in worktree_log.ledgers(journal)
        for event in journal.events(ledger)
        if worktree_log.is_way(event, run.id, gone.keys())
    }
    created = micros(run.created) if run.created else 0
    layout = find_layout(run.layout)
    faces = layout.foreign_files(workspace, run)
    home = home_of(workspace, run.worktree, run.directory)
    shown = list(layout.own_files(home, run)) if home else []
    return Purge(run.id, created, sorted(names), gone, sorted(restores), faces, shown, run.worktree, run.directory)


def home_of(workspace: Workspace, worktree: str | None, directory: str) -> Workspace | None:
    """The workspace of a worktree of this store; None where it is gone, or the directory is not what it was."""
    if worktree is None or worktree == workspace.worktree:
        return workspace
    with contextlib.suppress(HoldfastError, OSError):
        found = open_workspace(directory, clock=workspace.clock, environ=workspace.environ)
        if found.worktree == worktree and os.path.samefile(found.place, workspace.place):
            return found
    return None


def begin(workspace: Workspace, journal: Journal, run: Run) -> Purge:
    """Write down what shall go, and let the journal forget the run."""
    purge = plan_purge(workspace, journal, run)
    _refuse_unfinished(workspace, journal, purge)
    files.write(workspace.here / tombstones.PURGING, msgspec.json.encode(purge))
    tombstones.note_deleted(workspace.here, run.id, {name for name in purge.names if not name.startswith("ses-")})
    _forget(journal, purge)
    return purge


def _refuse_unfinished(workspace: Workspace, journal: Journal, purge: Purge) -> None:
    """What a restore that was killed has overwritten is nowhere but in the checkpoint that it began with."""
    for ledger in worktree_log.ledgers(journal):
        restore = worktree_log.find_unfinished(journal, ledger, purge.run, purge.checkpoints.keys())
        before = journal.find_checkpoint(str(restore["before"])) if restore else None
        if restore and before and _is_there(workspace, before.worktree):
            there = "" if before.worktree == workspace.worktree else f"cd {shlex.quote(before.directory)} && "
            raise Refused(
                f"A restore was interrupted that needs what run {purge.run} has",
                [("to", restore.get("target")), ("from", before.id), ("in", before.directory)],
                [
                    f"`{there}holdfast restore --continue` finishes it",
                    f"`{there}holdfast restore --undo` takes it back",
                ],
            )


def _is_there(workspace: Workspace, worktree: str) -> bool:
    """Whether git knows this worktree; of one that is removed, no restore can be finished or taken back."""
    if worktree in (MAIN, workspace.worktree):
        return True
    known = workspace.place.parent / "worktrees"
    return known.is_dir() and worktree in map(path_text, os.listdir(known))


def find_gone(workspace: Workspace, name: str) -> Purge | None:
    """How to purge a run that was deleted before, if no run that is there is meant."""
    if not workspace.exists:
        return None
    with workspace.reading() as journal, contextlib.suppress(NotFound):
        select.find_by_name(workspace, journal, name)
        return None
    return _find_deleted(workspace.place, name)


def _find_deleted(place: Path, name: str) -> Purge | None:
    """How to purge a run that was deleted before: the one of this id, or the only one whose id begins or ends so."""
    found = []
    for data in tombstones.list_plans(place):
        with contextlib.suppress(*UNREADABLE):
            found.append(msgspec.json.decode(data, type=Purge))
    exact = [purge for purge in found if purge.run == name]
    meant = exact or [purge for purge in found if is_meant(purge, name)]
    return meant[0] if len(meant) == 1 else None


def begin_again(workspace: Workspace, journal: Journal, purge: Purge) -> None:
    """Begin to purge a run that the journal has forgotten; its checkpoints may have stayed."""
    made = journal.list_checkpoints(run=purge.run)
    purge.checkpoints |= {one.id: (one.worktree, one.number) for one in made}
    _refuse_unfinished(workspace, journal, purge)
    files.write(workspace.here / tombstones.PURGING, msgspec.json.encode(purge))
    _forget(journal, purge)


def finish(workspace: Workspace, purge: Purge) -> Purged:
    """Remove all that nothing names any more."""
    place = workspace.place
    workspace.progress("purging", 1, 4)
    result = Purged(len(purge.checkpoints), 0, [], 0, 0)
    hide(workspace, home_of(workspace, purge.worktree, purge.directory), purge.run, purge.shown)
    _clear_worktrees(workspace, purge)
    if (place / "git").exists():
        shadow = Shadow(place, workspace.root, workspace.worktree)
        pruned = prune(shadow, place, workspace.progress, named_objects(workspace))
        result.freed, result.waiting = max(0, pruned.before - pruned.after), pruned.waiting
    workspace.progress("purging", 2, 4)
    result.copies = [path_text(path) for path in _remove_copies(workspace, purge)]
    result.set_aside = _clear_inbox(workspace.inbox, purge)
    _forget_names(workspace, purge)
    stay = [path for path in purge.faces if os.path.exists(path)] + [
        path for layout in layouts() for path in layout.list_left(workspace, purge.run)
    ]
    result.files = sorted(set(stay))
    workspace.progress("purging", 3, 4)
    workspace.store.scrub()
    if not result.waiting:
        tombstones.forget_plan(place, purge.run)
        files.remove(place / tombstones.PURGING)
    workspace.progress("purging", 4, 4)
    return result


def hide(workspace: Workspace, home: Workspace | None, run: str, shown: list[str]) -> None:
    """Remove the files that show a run in its worktree, and what is remembered of them here or there."""
    if home is not None:
        _purge_files(home, run, shown)
    if home is not workspace:
        if home is not None:
            home.close()
        _purge_files(workspace, run, [])


def _purge_files(workspace: Workspace, run: str, shown: list[str]) -> None:
    for layout in layouts():
        layout.purge(workspace, run, shown)


def _forget(journal: Journal, purge: Purge) -> None:
    """Take the run out of the journal, and what the ledgers of worktrees say of it."""
    worktree_log.strike(journal, purge.run, purge.names, purge.checkpoints.keys())
    for id in purge.checkpoints:
        if made := journal.find_checkpoint(id):
            journal.append(journal.ledger(made.worktree).id, Draft("checkpoint.dropped", {"id": id}))
    if journal.find_run(purge.run):
        journal.delete(purge.run)


def _clear_worktrees(workspace: Workspace, purge: Purge) -> None:
    """Take the checkpoints off their shelves, and forget what is remembered of every worktree."""
    for worktree in sorted({worktree for worktree, _ in purge.checkpoints.values()}):
        numbers = {number for place, number in purge.checkpoints.values() if place == worktree}
        shadow = Shadow(workspace.place, workspace.root, worktree)
        files.make_private_directory(shadow.directory)
        # safeguard: lock-packs-purged
        with files.lock(shadow.directory / "lock", PATIENCE), shadow, workspace.reading() as journal:
            taken = {made.number for made in journal.list_checkpoints(worktree)}  # a later one may have the number
            shadow.vault.drop((shadow.vault.numbers() & numbers) - taken)
    for directory in (workspace.place / "worktrees").glob("*"):
        with files.lock(directory / "lock", PATIENCE):  # safeguard: lock-worktree-purged
            _clear_worktree(directory)


def _clear_worktree(directory: Path) -> None:
    for name in CACHES:
        files.remove(directory / name)
    shutil.rmtree(directory / "scratch", ignore_errors=True)


def _remove_copies(workspace: Workspace, purge: Purge) -> Iterator[Path]:
    """Remove what the store holds besides: generations of files, what a restore moved aside, transcripts, backups."""
    place = workspace.place
    generations = Generations(place / "faces")
    trees = [generations.place_of(Path(path)) for path in purge.faces] + [place / CARRIED / ids.file_name(purge.run)]
    trees += [path for id in purge.restores for path in (place / "aside").glob(f"{id}*") if ids.is_safe(id)]
    for tree in trees:
        _remove_tree(tree)
    for directory in [place, place / "inbox", *(place / "worktrees").glob("*"), *(place / "faces").glob("*")]:
        _clear_leftovers(directory)
    copies = [path for pattern in COPIES for path in sorted(place.glob(pattern)) if _may_hold(path, purge)]
    for path in [*copies, *sorted(place.glob(PACKS))]:
        _remove_tree(path)
        yield path
    patience = workspace.settings.number("store.deadline")
    # safeguard: lock-backup-in-purge, lock-repair-in-purge
    with files.lock(place / "backup.lock", patience), files.lock(place / "repair.lock", patience):
        for name in ROOMS:
            shutil.rmtree(place / name, ignore_errors=True)


def _may_hold(path: Path, purge: Purge) -> bool:
    """Whether a copy of the store was made since the run began, or speaks of it: the clock may have been set back."""
    return path.lstat().st_mtime * 1e6 >= purge.created or mentions(path, purge.run.encode())


def _remove_tree(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        files.remove(path)


def _clear_leftovers(directory: Path) -> None:
    now = time.time()
    for path in directory.glob("*") if directory.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):
            if LEFTOVER.match(path.name) and path.is_file() and now - path.lstat().st_mtime >= STALE:
                files.remove(path)


def _forget_names(workspace: Workspace, purge: Purge) -> None:
    """Take the run's names out of what is remembered for the next command."""
    context_windows.forget(workspace.here, purge.names)
    select.forget_listed(workspace, {purge.run, *purge.names, *purge.checkpoints})


def _clear_inbox(inbox: Path, purge: Purge) -> int:
    """Remove unreadable calls that name the run; answers with how many others there are."""
    wanted = [name.encode() for name in (purge.run, *purge.names)]
    for name in intake.aside(inbox):
        with contextlib.suppress(Refused):  # a link, a pipe, a giant: nothing that was kept here
            data = files.read(inbox / "aside" / name, intake.READ_LIMIT) or b""
            if any(word in data for word in wanted):
                files.remove(inbox / "aside" / name)
    return len(intake.aside(inbox))


# Search in copies


def mentions(path: Path, word: bytes) -> bool:
    """Whether a file, or any file in a directory, holds these bytes. One that cannot be unpacked to its end may."""
    if path.is_symlink():
        return False
    if path.is_dir():
        return any(mentions(inner, word) for inner in path.iterdir())
    return path.is_file() and _is_in(path, word)


def _is_in(path: Path, word: bytes) -> bool:
    with path.open("rb") as file:
        is_compressed = file.read(len(COMPRESSED)) == COMPRESSED
        file.seek(0)
        if not is_compressed:
            return _holds(file, word)
        try:
            with gzip.open(file) as unpacked:
                return _holds(unpacked, word)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return True


def _holds(source: IO[bytes] | gzip.GzipFile, word: bytes) -> bool:
    end = b""
    while data := source.read(CHUNK):
        if word in end + data:
            return True
        end = data[-len(word) :]
    return False
