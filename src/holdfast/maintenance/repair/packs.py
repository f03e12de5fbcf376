"""Repair of checkpoints: damaged packs, missing objects, and refs that lost their checkpoints.

Objects are searched for in the damaged pack itself, in backups, and among the files of all worktrees.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import HoldfastError, Trouble
from holdfast.core.model import Checkpoint
from holdfast.core.text import count, one_line, path_text
from holdfast.journal import backup_file
from holdfast.maintenance.verify import TIP
from holdfast.project.checkpoints.create import PATIENCE, shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system import files, locate
from holdfast.system.files import sync
from holdfast.system.git.command import Git, zsplit
from holdfast.system.git.repository import BLOB, DIRECTORY, KEEP, TREE, Entry, write_pack
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import hold_packs
from holdfast.worktree.packs.reachability import kinds, lacked_by_commits, missing, promised
from holdfast.worktree.packs.salvage import DamagedPack
from holdfast.worktree.scan_directories import DirectoryScan

WEIGHT = 16_000_000  # bytes of objects in memory at once
LIMIT = 50_000_000  # bytes of a file in the worktree that may be a missing object
FAILED = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.EACCES)
SAID = ("failed to write object", "unable to write", "unable to create", "fsync error", "error when closing")
UNWRITTEN = re.compile("|".join((*SAID, *map(os.strerror, FAILED))).encode())  # messages about failed writes, not reads
ROOM = ["free some space, then run the command again"]

Found = tuple[str, tuple[str, bytes]]  # id, and kind and content of an object


class Mended(Struct):
    """Result of a repair: `lost` is gone for good, `aside` is the damaged original."""

    changed: bool = False
    mended: list[str] = []
    lost: list[str] = []
    aside: str | None = None


def repair_packs(workspace: Workspace, found: list[Checkpoint], result: Mended) -> None:
    """Recover the objects that checkpoints need as far as possible, and let the refs name all checkpoints."""
    mark = workspace.place / "git" / "keep"
    if mark.exists() and files.read(mark, 64) != KEEP:
        files.write(mark, KEEP)
        result.mended.append("the mark of our packs")
    # safeguard: lock-packs-in-repair
    with hold_packs(workspace.place, PATIENCE), shadow_of(workspace, PATIENCE) as shadow:
        with files.working_directory(workspace.place / "rebuilding") as directory:
            _mend_packs(workspace, shadow, found, directory, result)
        shadow.close()  # git may still have the removed packs open
    for worktree in sorted({made.worktree for made in found}):
        shadow = Shadow(workspace.place, workspace.root, worktree)
        with shadow.locked(PATIENCE):  # safeguard: lock-packs-repaired
            _mend_ref(workspace, shadow, [made for made in found if made.worktree == worktree], result)
            if result.lost:
                shadow.forget()  # its cache may name lost objects, and prevent any new checkpoint


def _mend_packs(workspace: Workspace, shadow: Shadow, found: list[Checkpoint], directory: Path, result: Mended) -> None:
    unread: set[str] | None = set()
    for index in [index for index in shadow.object_store.packs() if not _is_sound(shadow, index)]:
        lost = _replace(workspace, shadow, index, directory)
        unread = None if unread is None or lost is None else unread | lost
        result.mended.append(f"a damaged pack was quarantined: {index.stem}")
    shadow.known.refresh()
    lacking = _lacking(shadow, found, unread)
    if lacking:
        room = directory / "objects"
        files.make_private_directory(room)
        for pack in _packs_to_look_in(workspace, directory):
            _unpack(shadow, pack, room)
        _write_found(shadow, _loose(shadow, room), result)
        lacking = _lacking(shadow, found, unread)
    if lacking:
        _write_found(shadow, _in_worktrees(workspace, shadow, lacking), result)
        lacking = _lacking(shadow, found, unread)
    if lacking:
        result.lost.append(f"{count(len(lacking), 'object')} that checkpoints or commits need, such as {min(lacking)}")


def _replace(workspace: Workspace, shadow: Shadow, index: Path, directory: Path) -> set[str] | None:
    """Rewrite the readable objects of a damaged pack and delete it. Returns the unreadable ids, or None if unknown.

    All objects are kept, as commits may need those that no checkpoint needs. A kill leaves the damaged pack, or one
    without its index, which git does not see.
    """
    _put_aside(workspace, index)
    remains = DamagedPack(index, shadow.git.form)
    read = set[str]()
    made = _write(shadow, remains.objects(), read)
    is_known = remains.is_whole
    if not is_known:
        room = directory / index.stem
        files.make_private_directory(room)
        is_known = _unpack(shadow, index.with_suffix(".pack"), room)
        made |= _write(shadow, _loose(shadow, room), read)
    for suffix in (".rev", *(() if index.with_suffix("") in made else (".idx", ".pack", ".keep"))):
        files.remove(index.with_suffix(suffix))
    return remains.names - read if is_known else None


def _is_sound(shadow: Shadow, index: Path) -> bool:
    try:
        shadow.git.run("verify-pack", str(index))
        return True
    except HoldfastError:
        return False


def _put_aside(workspace: Workspace, index: Path) -> None:
    """Copy a pack to quarantine, durably, as its unreadable objects may exist nowhere else."""
    place = workspace.place / "aside" / "packs"
    for directory in (place.parent, place):
        files.make_private_directory(directory)
    for suffix in (".idx", ".pack", ".keep"):
        part = index.with_suffix(suffix)
        if part.exists():
            shutil.copyfile(part, place / part.name)
            os.chmod(place / part.name, files.PRIVATE_FILE)
            sync(str(place / part.name))  # safeguard: sync-quarantined-pack
    files.sync_directory(place)  # safeguard: sync-quarantined-pack-name


def _lacking(shadow: Shadow, found: list[Checkpoint], unread: set[str] | None) -> set[str]:
    """Return missing objects of checkpoints, and of commits if a damaged pack contained them.

    In a partial clone, commits lack many objects that can be fetched: only those known to have been in a pack count.
    """
    roots = {id for made in found for id in made.objects}
    there = kinds(shadow, roots)
    lacking = (roots - there.keys()) | missing(shadow, there)
    lacking = lacking - promised(shadow) if lacking else lacking
    if unread is None:
        return lacking | (lacked_by_commits(shadow) - promised(shadow))
    return lacking | (unread & lacked_by_commits(shadow) if unread else unread)


def _packs_to_look_in(workspace: Workspace, directory: Path) -> Iterator[Path]:
    yield from sorted((workspace.place / "aside" / "packs").glob("*.pack"))
    for number, backup in enumerate(backup_file.list_backups(workspace.place)):
        room = directory / f"packs-{number}"
        files.make_private_directory(room)
        try:
            backup_file.read_archive(backup, partial(_pack_in, room))
        except HoldfastError:
            continue
        yield from sorted(room.glob("*.pack"))


def _pack_in(room: Path, name: str) -> Path | None:
    return room / Path(name).name if name.endswith(".pack") else None


def _unpack(shadow: Shadow, pack: Path, room: Path) -> bool:
    """Extract the readable objects of a pack; git continues after a damaged one. Returns whether all were readable.

    Git sees no other objects meanwhile: it would skip those that a damaged pack still lists. A failed write raises, so
    that the object does not count as lost.
    """
    data = files.read(pack, 1 << 32)
    if data is None:
        return False
    git = Git(shadow.git.directory, shadow.root, room, shadow.git.index, shadow.git.form)
    unpacking = git.start("unpack-objects", "-r", "-q")
    unpacking.finish(data, also_fine=(1, 128))
    if UNWRITTEN.search(unpacking.said):
        said = one_line(unpacking.said.decode("utf-8", "replace"), 300)
        raise Trouble("Git cannot write what it reads of a pack", [("path", room), ("said", said)], ROOM)
    return not unpacking.said


def _loose(shadow: Shadow, room: Path) -> Iterator[Found]:
    """Yield the loose objects of a directory whose content matches their id."""
    import zlib

    for path in sorted(room.glob("[0-9a-f][0-9a-f]/*")):
        id = path.parent.name + path.name
        try:
            head, _, data = zlib.decompress(path.read_bytes()).partition(b"\0")
        except zlib.error:
            continue
        kind = head.partition(b" ")[0].decode("ascii", "replace")
        if kind in (BLOB, TREE) and shadow.git.form.id_of(kind, data) == id:
            yield id, (kind, data)


def _in_worktrees(workspace: Workspace, shadow: Shadow, lacking: set[str]) -> Iterator[Found]:
    """Yield missing objects that are the content of a file in any worktree."""
    for root in shadow.repository.roots():
        name = workspace.worktree if root == workspace.root else path_text(locate.worktree_name(str(root)))
        with contextlib.suppress(HoldfastError):  # inaccessible, or with a damaged index
            yield from _in_worktree(Shadow(workspace.place, root, name), lacking)


def _in_worktree(shadow: Shadow, lacking: set[str]) -> Iterator[Found]:
    tracked = zsplit(shadow.git.run("ls-files", "-z", "--cached"))
    for name in (*tracked, *DirectoryScan(shadow.git, shadow.borders).search_all()):
        path = Path(shadow.root, os.fsdecode(name))
        try:
            data = files.read(path, LIMIT)
        except HoldfastError:
            continue
        if data is not None and (id := shadow.git.form.id_of(BLOB, data)) in lacking:
            yield id, (BLOB, data)


def _write(shadow: Shadow, objects: Iterator[Found], read: set[str]) -> set[Path]:
    """Write objects that are not in `read` yet, in batches that fit into memory. Returns the stems of the packs."""
    made, batch, weight = set[Path](), dict[str, tuple[str, bytes]](), 0
    for id, (kind, data) in objects:
        if id in read:
            continue
        read.add(id)
        batch[id] = (kind, data)
        weight += len(data)
        if weight > WEIGHT:
            made |= _write_batch(shadow, batch)
            batch, weight = {}, 0
    return made | _write_batch(shadow, batch)


def _write_batch(shadow: Shadow, batch: dict[str, tuple[str, bytes]]) -> set[Path]:
    stem = write_pack(shadow.git.objects, batch, shadow.git.form, shadow.git.directory / "keep", anew=True)
    return {stem} if stem else set()


def _write_found(shadow: Shadow, objects: Iterator[Found], result: Mended) -> None:
    """Write the objects that the repository lacks."""
    read = set[str]()
    _write(shadow, (found for found in objects if not shadow.known.has(found[0])), read)
    if read:
        shadow.known.refresh()
        result.mended.append(f"{count(len(read), 'object')} of checkpoints found again")


def _mend_ref(workspace: Workspace, shadow: Shadow, found: list[Checkpoint], result: Mended) -> None:
    object_store = shadow.object_store
    named = _named_by_ref(shadow)
    if named is None:
        result.mended.append(f"{object_store.ref} was rebuilt")
    there = kinds(shadow, {id for made in found for id in made.objects})
    shelved: dict[int, dict[bytes, Entry]] = {}
    for made in found:
        if made.number in (named or ()):
            continue
        parts = {b"tree": Entry(DIRECTORY, b"", made.tree), b"beside": Entry(0o100644, b"", made.beside)}
        if made.staged and made.staged in there:
            parts[b"staged"] = Entry(DIRECTORY, b"", made.staged)
        if made.tree in there and made.beside in there:
            shelved[made.number] = parts
            result.mended.append(f"{object_store.ref} names {made.id} again")
        else:
            result.lost.append(f"the files of checkpoint {made.id} in {path_text(workspace.root)}")
    if shelved or named is None:
        object_store.keep_many(shelved, anew=named is None)


def _named_by_ref(shadow: Shadow) -> set[int] | None:
    """Return the checkpoints that the ref of a worktree names; None if any part of it cannot be read."""
    object_store = shadow.object_store
    written = files.read(object_store.home / object_store.ref)
    if written is not None and TIP.fullmatch(written) is None:
        return None
    try:
        shelves = object_store.shelves()
    except (HoldfastError, ValueError):
        return None
    there = kinds(shadow, shelves.values())
    return set(shelves) if all(there.get(id) == TREE for id in shelves.values()) else None
