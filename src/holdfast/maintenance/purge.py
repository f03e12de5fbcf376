"""Purge a run, so that no byte of it stays in the store: database, log, copies, caches, and objects in packs.

The plan is written to the file `purging` first, so that a killed purge can be detected and finished. The journal
deletes the run in one transaction; everything after that removes unreferenced data. Checkpoints of the run are deleted
too. Objects that other runs, commits or the user's own files share are kept.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import shlex
import shutil
import time
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from holdfast.agents.registry import find_agent
from holdfast.core import ids
from holdfast.core.errors import HoldfastError, NotFound, Refused
from holdfast.core.fold import run as fold
from holdfast.core.fold.run import CONVERSATION
from holdfast.core.model import Body, Draft, Event, Run
from holdfast.core.text import path_text
from holdfast.ingest.open import open_workspace
from holdfast.journal import codec
from holdfast.journal.codec import UNREADABLE
from holdfast.journal.journal import Journal, is_ledger
from holdfast.journal.store import Snapshot, Writer
from holdfast.layouts.registry import find_layout, layouts
from holdfast.maintenance.prune import named_objects
from holdfast.project import context_windows, inbox as intake
from holdfast.project.runs import select, tombstones
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.clock import micros
from holdfast.system.shared_files import Generations
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import LEFTOVER, prune

MAIN = "."  # name of the main worktree
PATIENCE = 120.0  # seconds to wait for a checkpoint in progress
COPIES = ("backups/*", "aside/journal-*", "aside/copies/*")  # of the store, whole or damaged
PACKS = "aside/packs/*"  # damaged packs; their dates mean nothing
ROOMS = ("backing-up", "rebuilding", "restoring")  # working directories of backup and repair
CARRIED = "carried"
STALE = 60.0  # seconds after which a temporary file has been abandoned
CACHES = ("memory", "index", "looked-at", "theirs")  # of a worktree: they name files, and keep objects reachable
SIZE = 1 << 26
CHUNK = 1 << 20
COMPRESSED = b"\x1f\x8b"
OURS = ("run.", "checkpoint.", "restore.")  # prefixes of event kinds that are never calls


class Purge(Struct):
    """Plan of a purge; it holds names alone."""

    run: str
    created: int = 0  # microseconds
    names: list[str] = []  # of its sessions and conversations
    checkpoints: dict[str, tuple[str, int]] = {}  # id -> its worktree and its number there
    restores: list[str] = []
    faces: list[str] = []  # files of another system that show the run; they stay
    shown: list[str] = []  # files in which we show it; they would bring it back
    worktree: str | None = None  # with those files
    directory: str = ""  # of that worktree


class Purged(Struct):
    checkpoints: int  # deleted with it
    freed: int  # bytes of our packs
    copies: list[str]  # deleted backups and damaged originals that may have contained it
    waiting: int  # packs that git has just relied on: their objects can be deleted in an hour
    set_aside: int  # unreadable calls, which may be of any run
    files: list[str] = []  # of the project that show the run; they stay


def find_pending(place: Path) -> Purge | None:
    """Return the purge that was begun and not finished."""
    try:
        data = files.read(place / tombstones.PURGING, SIZE)
        return msgspec.json.decode(data, type=Purge) if data else None
    except (*UNREADABLE, Refused):
        return None


def is_meant(begun: Purge | None, name: str) -> bool:
    """Check whether a name means the run of a purge: the journal may not have the run any more."""
    return begun is not None and name != "" and (begun.run.startswith(name) or begun.run.endswith(name))


def plan_purge(workspace: Workspace, journal: Journal, run: Run) -> Purge:
    """Collect everything by which the run can be found once the journal has deleted it."""
    purge = Purge(run.id, micros(run.created) if run.created else 0, worktree=run.worktree, directory=run.directory)
    sessions = journal.list_sessions(run.id)
    purge.names = sorted({name for found in sessions for name in (found.id, found.agent_session) if name})
    purge.checkpoints = {made.id: (made.worktree, made.number) for made in journal.list_checkpoints(run=run.id)}
    events = (event for ledger in _ledgers(journal) for event in journal.events(ledger))
    purge.restores = sorted({str(event.body["restore"]["id"]) for event in events if _is_restore_of(event, purge)})
    layout = find_layout(run.layout)
    purge.faces = layout.foreign_files(workspace, run)
    home = _home_of(workspace, run.worktree, run.directory)
    purge.shown = list(layout.own_files(home, run)) if home else []
    return purge


def _home_of(workspace: Workspace, worktree: str | None, directory: str) -> Workspace | None:
    """Return the workspace of a worktree of this store; None if it is gone, or its directory is another one now."""
    if worktree is None or worktree == workspace.worktree:
        return workspace
    with contextlib.suppress(HoldfastError, OSError):
        found = open_workspace(directory, clock=workspace.clock, environ=workspace.environ)
        if found.worktree == worktree and os.path.samefile(found.place, workspace.place):
            return found
    return None


def begin(workspace: Workspace, journal: Journal, run: Run) -> Purge:
    """Write the plan down, and delete the run from the journal."""
    purge = plan_purge(workspace, journal, run)
    begin_again(workspace, journal, purge)
    tombstones.note_deleted(workspace.here, run.id, {name for name in purge.names if not name.startswith("ses-")})
    return purge


def _refuse_unfinished(workspace: Workspace, journal: Journal, purge: Purge) -> None:
    """Refuse if a killed restore needs the run: what it overwrote is only in the checkpoint made before it."""
    for ledger in _ledgers(journal):
        ends = [event for event in journal.events(ledger) if event.kind in ("restore.began", "restore.ended")]
        if not ends or ends[-1].kind == "restore.ended" or not _is_restore_of(ends[-1], purge):
            continue
        restore = ends[-1].body["restore"]
        before = journal.find_checkpoint(str(restore["before"]))
        if before and _is_there(workspace, before.worktree):
            there = "" if before.worktree == workspace.worktree else f"cd {shlex.quote(before.directory)} && "
            raise Refused(
                f"A restore was interrupted that needs run {purge.run}",
                [("to", restore.get("target")), ("from", before.id), ("in", before.directory)],
                [
                    f"`{there}holdfast restore --continue` finishes it",
                    f"`{there}holdfast restore --undo` takes it back",
                ],
            )


def _is_there(workspace: Workspace, worktree: str) -> bool:
    """Check whether git knows this worktree; in a removed one, no restore can be continued or undone."""
    if worktree in (MAIN, workspace.worktree):
        return True
    known = workspace.place.parent / "worktrees"
    return known.is_dir() and worktree in map(path_text, os.listdir(known))


def find_gone(workspace: Workspace, name: str) -> Purge | None:
    """Return the plan for a run that was deleted before, by its id or a unique beginning or end of it.

    None if the name means a run that still exists.
    """
    if not workspace.exists:
        return None
    with workspace.reading() as journal, contextlib.suppress(NotFound):
        select.find_by_name(workspace, journal, name)
        return None
    found = []
    for data in tombstones.list_plans(workspace.place):
        with contextlib.suppress(*UNREADABLE):
            found.append(msgspec.json.decode(data, type=Purge))
    meant = [purge for purge in found if purge.run == name] or [purge for purge in found if is_meant(purge, name)]
    return meant[0] if len(meant) == 1 else None


def begin_again(workspace: Workspace, journal: Journal, purge: Purge) -> None:
    """Begin a purge by its plan. Checkpoints of a run that was deleted before may have stayed."""
    made = journal.list_checkpoints(run=purge.run)
    purge.checkpoints |= {one.id: (one.worktree, one.number) for one in made}
    _refuse_unfinished(workspace, journal, purge)
    files.write(workspace.here / tombstones.PURGING, msgspec.json.encode(purge))
    _forget(journal, purge)


def finish(workspace: Workspace, purge: Purge) -> Purged:
    """Remove everything that is not referenced any more."""
    place = workspace.place
    workspace.progress("purging", 1, 4)
    result = Purged(len(purge.checkpoints), 0, [], 0, 0)
    purge_files(workspace, purge)
    _clear_worktrees(workspace, purge)
    if (place / "git").exists():
        shadow = Shadow(place, workspace.root, workspace.worktree)
        pruned = prune(shadow, place, workspace.progress, named_objects(workspace))
        result.freed, result.waiting = max(0, pruned.before - pruned.after), pruned.waiting
    workspace.progress("purging", 2, 4)
    result.copies = [path_text(path) for path in _remove_copies(workspace, purge)]
    result.set_aside = _clear_inbox(workspace.inbox, purge)
    context_windows.forget(workspace.here, purge.names)
    select.forget_listed(workspace, {purge.run, *purge.names, *purge.checkpoints})
    left = (path for layout in layouts() for path in layout.list_left(workspace, purge.run))
    result.files = sorted({*filter(os.path.exists, purge.faces), *left})
    workspace.progress("purging", 3, 4)
    workspace.store.scrub()
    if not result.waiting:
        tombstones.forget_plan(place, purge.run)
        files.remove(place / tombstones.PURGING)
    workspace.progress("purging", 4, 4)
    return result


def purge_files(workspace: Workspace, purge: Purge) -> None:
    """Remove the layout files that show a run in its worktree, and the records of them there and here."""
    home = _home_of(workspace, purge.worktree, purge.directory)
    others = [home] if home is not None and home is not workspace else []
    for place in (*others, workspace):
        for layout in layouts():
            layout.purge(place, purge.run, purge.shown if place is home else [])
        if place is not workspace:
            place.close()


def _forget(journal: Journal, purge: Purge) -> None:
    """Delete the run from the journal, and blank what ledgers say of it, its conversations and its checkpoints."""
    for ledger in _ledgers(journal):
        found = ((event.seq, _left(event, purge)) for event in journal.events(ledger))
        if bodies := {seq: body for seq, body in found if body is not None}:
            _rewrite(journal, ledger, bodies)
    for id in purge.checkpoints:
        if made := journal.find_checkpoint(id):
            journal.append(journal.ledger(made.worktree).id, Draft("checkpoint.dropped", {"id": id}))
    if journal.find_run(purge.run):
        journal.delete(purge.run)


def _clear_worktrees(workspace: Workspace, purge: Purge) -> None:
    """Drop the checkpoints, and delete the caches of every worktree."""
    for worktree in sorted({worktree for worktree, _ in purge.checkpoints.values()}):
        numbers = {number for place, number in purge.checkpoints.values() if place == worktree}
        shadow = Shadow(workspace.place, workspace.root, worktree)
        # safeguard: lock-packs-purged
        with shadow.locked(PATIENCE), workspace.reading() as journal:
            taken = {made.number for made in journal.list_checkpoints(worktree)}  # a number may be reused
            shadow.object_store.drop((shadow.object_store.numbers() & numbers) - taken)
    for directory in (workspace.place / "worktrees").glob("*"):
        with files.lock(directory / "lock", PATIENCE):  # safeguard: lock-worktree-purged
            for name in CACHES:
                files.remove(directory / name)
            shutil.rmtree(directory / "scratch", ignore_errors=True)


def _remove_copies(workspace: Workspace, purge: Purge) -> Iterator[Path]:
    """Remove the copies in the store: generations of files, displaced files, transcripts, backups."""
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
    """Check whether a copy of the store is newer than the run, or mentions it, as the clock may have been set back."""
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


def _clear_inbox(inbox: Path, purge: Purge) -> int:
    """Remove unreadable calls that name the run. Returns the number of the others."""
    wanted = [name.encode() for name in (purge.run, *purge.names)]
    for name in intake.aside(inbox):
        with contextlib.suppress(Refused):  # a link, a pipe, too large: no call of ours
            data = files.read(inbox / "aside" / name, intake.READ_LIMIT) or b""
            if any(word in data for word in wanted):
                files.remove(inbox / "aside" / name)
    return len(intake.aside(inbox))


# Ledgers of worktrees: records of checkpoints and restores, and calls of a conversation from before it had a run


def _ledgers(journal: Journal) -> list[str]:
    return list(filter(is_ledger, journal.view.all_run_ids()))


def _is_restore_of(event: Event, purge: Purge) -> bool:
    """Check for an event of a restore of the run, or from or to one of its checkpoints."""
    restore = event.body.get("restore") if event.kind.startswith("restore.") else None
    if not isinstance(restore, dict) or not isinstance(restore.get("id"), str):
        return False
    checkpoints = {restore.get("before"), restore.get("target")}
    return restore.get("run") == purge.run or not checkpoints.isdisjoint(purge.checkpoints)


def _left(event: Event, purge: Purge) -> Body | None:
    """Return the body that an event keeps: id and number of a checkpoint, else nothing; None if it is unchanged."""
    id = event.body.get("id")
    if event.kind == "checkpoint.made":
        is_told = id in purge.checkpoints and len(event.body) > 2
        return {"id": id, "number": event.body.get("number")} if is_told else None
    return {} if _is_restore_of(event, purge) or _is_call_of(event, purge.names) else None


def _is_call_of(event: Event, names: Collection[str]) -> bool:
    """Check for a call of these conversations, or of an unknown one, as older versions recorded.

    No run shows a call of an unknown conversation, so nothing else could remove it.
    """
    if event.kind.startswith(OURS) or not event.body:
        return False
    agent = find_agent(str(event.body.get("agent") or ""))
    conversation = event.body.get(CONVERSATION) or agent.conversation_in(event.body.get("call"))
    return conversation is None or conversation in names


def _rewrite(journal: Journal, ledger: str, bodies: dict[int, Body]) -> None:
    """Replace bodies of events, and fold the ledger again. It must not be loaded in this transaction yet."""
    writer = cast(Writer, journal.view)
    for seq, body in bodies.items():
        writer.forget_words(ledger, seq)
        writer.replace_body(ledger, seq, codec.pack(body)[0])
    used = {digest for row in writer.events(ledger) for digest in codec.blobs_in(row.body)}
    writer.drop_blob_uses(ledger, writer.blob_uses(ledger) - used)
    milestones = {snapshot.seq for snapshot in writer.snapshots(ledger)}
    state = Run(id=ledger)
    for event in journal.events(ledger):
        journal.apply(state, event)
        if event.seq in milestones:
            writer.put_snapshot(ledger, Snapshot(event.seq, fold.VERSION, codec.encode(state)))
    writer.put_run(codec.row_of_run(state, journal.clock.now()))


# Search in copies


def mentions(path: Path, word: bytes) -> bool:
    """Check whether a file, or any file in a directory, contains a word; True if it cannot be decompressed."""
    if path.is_symlink():
        return False
    if path.is_dir():
        return any(mentions(inner, word) for inner in path.iterdir())
    return path.is_file() and _is_in(path, word)


def _is_in(path: Path, word: bytes) -> bool:
    with path.open("rb") as file:
        source = gzip.open(file) if file.peek(2).startswith(COMPRESSED) else file  # noqa: SIM115 - `file` is closed
        end = b""
        try:
            while data := source.read(CHUNK):
                if word in end + data:
                    return True
                end = data[-len(word) :]
        except (EOFError, zlib.error, gzip.BadGzipFile):
            return True
    return False
