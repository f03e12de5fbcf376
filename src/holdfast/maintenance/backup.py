"""Back up a whole store into one file, and restore it, while other processes work.

A backup is one moment of the journal. Waiting calls are collected before it and packs after it: a call that is
ingested meanwhile is in both, which makes one event of it, and a checkpoint's objects are on disk before its event.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import Damaged, HoldfastError, Refused
from holdfast.core.text import path_text
from holdfast.journal import backup_file
from holdfast.journal.backup_file import DATABASE, REFS, REPLACED, Contents, Part
from holdfast.journal.codec import UNREADABLE
from holdfast.journal.journal import is_ledger
from holdfast.journal.store import Store
from holdfast.maintenance.verify import TIP
from holdfast.project import inbox
from holdfast.project.checkpoints.create import PATIENCE, never_kept_any, shadow_of
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import KEEP, MARKED
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import hold_packs
from holdfast.worktree.packs.reachability import tips

STAGING, RESTORING = "backing-up", "restoring"
PLAIN = ("faces/*/*", "inbox/aside/*", "exported/*", "deleted/*", "carried/*/*")  # files that are copied as they are
MEGABYTE = 1_000_000


class Kept(Struct):
    """Contents of a backup."""

    contents: Contents
    size: int  # of the file
    unread: list[str]  # unreadable calls, which stay in the inbox and are not in the backup


def write_backup(workspace: Workspace, target: Path) -> Kept:
    """Write a backup of the store. It is verified before it gets its final name."""
    patience = workspace.settings.number("store.deadline")
    # safeguard: lock-backup
    with (
        files.lock(workspace.place / "backup.lock", patience, "the backup"),
        files.working_directory(workspace.place / STAGING) as room,
    ):
        unread = inbox.unread(workspace.inbox)
        calls = list(_gather_calls(workspace, room, unread))
        copied = workspace.store.backup(room / DATABASE, lambda done, total: workspace.progress("copying", done, total))
        packs, plain = _gather_packs(workspace, room), _gather_files(workspace, room)
        parts = [Part(DATABASE, room / DATABASE), *calls, *packs, *plain]
        total = sum(part.path.stat().st_size for part in parts)
        done = 0

        def told(size: int) -> None:
            nonlocal done
            done += size
            workspace.progress("compressing, MB", done // MEGABYTE, total // MEGABYTE)

        with workspace.reading() as journal:
            ledgers = sum(map(is_ledger, journal.view.all_run_ids()))
        about = Contents(copied.format, f"{workspace.clock.now():%Y-%m-%dT%H:%M:%SZ}", copied.rows, ledgers)
        contents = backup_file.write_archive(target, parts, about, told)
    return Kept(contents, target.stat().st_size, unread)


def _gather_calls(workspace: Workspace, room: Path, unread: list[str]) -> Iterator[Part]:
    files.make_private_directory(room / "inbox")
    for name in inbox.waiting(workspace.inbox):
        if name in unread:  # a bad block must not prevent a backup of a failing disk
            continue
        with contextlib.suppress(FileNotFoundError):  # ingested meanwhile
            _link(workspace.inbox / name, room / "inbox" / name)
    yield from _listed(room / "inbox", "inbox")


def _gather_packs(workspace: Workspace, room: Path) -> Iterator[Part]:
    if never_kept_any(workspace):
        return
    files.make_private_directory(room / "packs")
    # packs may be added meanwhile, but not deleted
    # safeguard: lock-packs-in-backup
    with hold_packs(workspace.place, PATIENCE), shadow_of(workspace) as shadow:
        refs = tips(shadow)
        for index in shadow.object_store.packs():
            for path in (index.with_suffix(".pack"), index):
                _link(path, room / "packs" / path.name)
    files.write(room / REFS, msgspec.json.encode(refs))
    yield Part(REFS, room / REFS)
    yield from _listed(room / "packs", "packs")


def _gather_files(workspace: Workspace, room: Path) -> Iterator[Part]:
    """Yield the plain files that exist only in the store: copies, marks, unreadable calls."""
    files.make_private_directory(room / "files")
    found = (path for pattern in PLAIN for path in sorted(workspace.place.glob(pattern)))
    for number, path in enumerate(found):
        name, copy = path_text(path.relative_to(workspace.place)), room / "files" / str(number)
        if backup_file.NAME.fullmatch(name) and path.is_file() and not path.is_symlink():
            with contextlib.suppress(FileNotFoundError):  # replaced meanwhile
                _link(path, copy)
                yield Part(name, copy)


def _listed(directory: Path, kind: str) -> Iterator[Part]:
    for path in sorted(directory.iterdir()):
        if backup_file.NAME.fullmatch(f"{kind}/{path.name}"):
            yield Part(f"{kind}/{path.name}", path)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:  # another file system, or one without hard links
        shutil.copyfile(source, target)


class PutBack(Struct):
    """Result of a restored backup, and where the replaced store is."""

    contents: Contents
    before: Path | None = None  # backup of the replaced store
    aside: str | None = None  # its files, if they could not be backed up or were changed since


def replace_store(workspace: Workspace, source: Path) -> PutBack:
    """Replace the store by a backup. The present store is backed up first, or quarantined if it is damaged."""
    patience = workspace.settings.number("store.deadline")
    aside = workspace.place / "aside"
    with (  # safeguard: lock-backup-restored
        files.lock(workspace.place / "repair.lock", patience, "repair the store"),
        files.working_directory(workspace.place / RESTORING) as room,
    ):
        store = workspace.store
        result = PutBack(take_out(store, source, room))
        with store.locked():  # safeguard: lock-unfinished-restore
            if store.is_unfinished():
                store.finish_replacing(aside)
        result.before, moment = _keep_before(workspace)
        put_packs(workspace, room)
        with store.locked():  # safeguard: lock-database-restored
            is_kept = moment is not None and store.data_version() == moment  # else another process wrote since
            replaced = store.replace(room / DATABASE, aside)
        if replaced is not None:
            _part_with(workspace, result, replaced, is_kept)
        _put_refs(workspace, room)
        put_packs(workspace, room)  # again, as they may have been pruned before a ref named their objects
        _put_the_rest(workspace, room)
        if result.before:  # last, as the source may be one of the dropped backups
            backup_file.drop_earlier(result.before, REPLACED)
    return result


def _part_with(workspace: Workspace, result: PutBack, aside: Path, is_kept: bool) -> None:
    """Delete the replaced files, if their backup is intact; otherwise they are the only copy."""
    if not _is_whole(result.before):
        result.before = None
    if is_kept and result.before:
        shutil.rmtree(aside)
    else:
        result.aside = path_text(aside.relative_to(workspace.place))


def _is_whole(backup: Path | None) -> bool:
    try:
        return backup is not None and bool(backup_file.read_archive(backup, lambda _: None))
    except (HoldfastError, OSError):
        return False


def take_out(store: Store, source: Path, room: Path) -> Contents:
    """Extract a backup, and migrate its database to the present format. The store is not changed yet."""
    for kind in ("packs", "inbox"):
        files.make_private_directory(room / kind)

    def place(name: str) -> Path:
        for parent in reversed((room / name).relative_to(room).parents[:-1]):
            files.make_private_directory(room / parent)
        return room / name

    with files.os_errors(source):
        contents = backup_file.read_archive(source, place)
    store.check_backup(room / DATABASE, contents.rows)
    return contents


def _keep_before(workspace: Workspace) -> tuple[Path | None, int | None]:
    """Back up the present store. Returns the file and the moment; None if the store is too damaged or too new."""
    directory = workspace.place / "backups"
    files.make_private_directory(directory)
    backup_file.remove_partial(directory)
    target = backup_file.next_place(directory, REPLACED, f"{workspace.clock.now():%Y%m%d-%H%M%S}")
    try:
        moment = workspace.store.data_version()
    except (Damaged, Refused):  # it is damaged; or a newer Holdfast wrote it
        return None, None
    try:
        write_backup(workspace, target)
    except Damaged:
        return None, None
    return target, moment


def put_packs(workspace: Workspace, room: Path) -> None:
    """Install the packs of the backup that are missing. Nothing refers to them yet."""
    found = sorted((room / "packs").glob("*.idx"))
    if not found:
        return
    with shadow_of(workspace) as shadow:
        directory = shadow.git.objects / "pack"
        files.make_directories(directory)
        for index in found:
            shadow.git.run("verify-pack", str(index))
            if (directory / index.name).exists():
                continue
            files.put((directory / index.name).with_suffix(".keep"), KEEP, 0o444)
            for path in (index.with_suffix(".pack"), index):
                os.chmod(path, 0o444)
                os.utime(path, (MARKED, MARKED))
                _place(path, directory / path.name)
            files.sync_directory(directory)  # safeguard: sync-unpacked-pack-names


def _place(source: Path, target: Path) -> None:
    """Link a synced file, or copy it to another file system."""
    try:
        os.link(source, target)
    except FileExistsError:  # a killed restore left a pack without its index
        pass
    except OSError:
        files.put(target, files.read(source, 1 << 40) or b"", 0o444, date=MARKED)


def _put_refs(workspace: Workspace, room: Path) -> None:
    try:
        refs = msgspec.json.decode(files.read(room / REFS) or b"{}", type=dict[str, str])
    except UNREADABLE:
        refs = {}
    with workspace.reading() as journal:
        worktrees = {made.worktree for made in journal.list_checkpoints()}
    for worktree in sorted(worktrees):
        shadow = Shadow(workspace.place, workspace.root, worktree)
        with shadow.locked(PATIENCE):  # safeguard: lock-packs-restored
            tip = refs.get(shadow.object_store.ref, "")
            if TIP.fullmatch(f"{tip}\n".encode()):
                shadow.object_store.point(tip)


def _put_the_rest(workspace: Workspace, room: Path) -> None:
    """Restore waiting calls, and missing copies and marks."""
    for path in sorted(path for path in (room / "inbox").iterdir() if path.is_file()):
        if not (workspace.inbox / path.name).exists():
            files.write(workspace.inbox / path.name, files.read(path, inbox.READ_LIMIT) or b"")
    marks = set((room / tombstones.DELETED).glob("*"))
    with workspace.reading() as journal:
        conversations = [found.agent_session for found in journal.list_sessions() if found.agent_session]
    tombstones.forget_deleted(workspace.place, {path.name for path in marks}, conversations)
    for path in (path for pattern in PLAIN for path in sorted(room.glob(pattern))):
        name = path.relative_to(room)
        target = workspace.place / name
        is_stale = name.parts[0] == tombstones.EXPORTED and not _is_current(workspace, target)
        if is_stale or not target.exists():
            for parent in reversed(name.parents[:-1]):
                files.make_private_directory(workspace.place / parent)
            with contextlib.suppress(OSError):  # a missing copy is no reason to fail
                os.rename(path, target)
                files.sync_directory(target.parent)  # safeguard: sync-unpacked-mark-names


def _is_current(workspace: Workspace, mark: Path) -> bool:
    """Check whether a mark is of an export of events that the store still has."""
    told = tombstones.read_exported(mark)
    with workspace.reading() as journal:
        return told is not None and tombstones.is_current(told, journal)
