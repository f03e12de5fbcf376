"""Mending what checkpoints rest on: packs of ours that are damaged, objects that are missing, refs that lost them.

Objects are looked for in the damaged pack itself, in backups, and among the files of all worktrees.
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
from holdfast.worktree.packs.salvage import Remains
from holdfast.worktree.scan_directories import Watching

WEIGHT = 16_000_000  # bytes of objects that are in memory at once
LIMIT = 50_000_000  # bytes of a file of the worktree that may be what is missing
FAILED = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.EACCES)
SAID = ("failed to write object", "unable to write", "unable to create", "fsync error", "error when closing")
UNWRITTEN = re.compile("|".join((*SAID, *map(os.strerror, FAILED))).encode())  # by git, and not: it cannot be read
ROOM = ["free some space, then run the command again"]

Found = tuple[str, tuple[str, bytes]]  # an object: its name, and its kind and content


class Reshelved(Struct):
    """What was mended, and what is lost."""

    mended: list[str] = []
    lost: list[str] = []


def reshelve(workspace: Workspace, found: list[Checkpoint]) -> Reshelved:
    """Bring back what checkpoints need, as far as it is to be had, and let the refs name them all."""
    result = Reshelved([], [])
    mark = workspace.place / "git" / "keep"
    if mark.exists() and files.read(mark, 64) != KEEP:
        files.write(mark, KEEP)
        result.mended.append("the mark of our packs")
    # safeguard: lock-packs-in-repair
    with hold_packs(workspace.place, PATIENCE), shadow_of(workspace, PATIENCE) as shadow:
        _mend_packs(workspace, shadow, found, result)
        shadow.close()  # git may still have open what went aside
    for worktree in sorted({made.worktree for made in found}):
        shadow = Shadow(workspace.place, workspace.root, worktree)
        for directory in (shadow.directory.parent, shadow.directory):
            files.make_private_directory(directory)
        with files.lock(shadow.directory / "lock", PATIENCE), shadow:  # safeguard: lock-packs-repaired
            _mend_ref(workspace, shadow, [made for made in found if made.worktree == worktree], result)
            if result.lost:
                shadow.forget()  # it may name what is lost, and no checkpoint could be made any more
    return result


def _mend_packs(workspace: Workspace, shadow: Shadow, found: list[Checkpoint], result: Reshelved) -> None:
    directory = workspace.place / "rebuilding"
    shutil.rmtree(directory, ignore_errors=True)
    files.make_private_directory(directory)
    unread: set[str] | None = set()
    for index in [index for index in shadow.vault.packs() if not _is_sound(shadow, index)]:
        lost = _replace(workspace, shadow, index, directory)
        unread = None if unread is None or lost is None else unread | lost
        result.mended.append(f"a damaged pack went aside: {index.stem}")
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
    shutil.rmtree(directory, ignore_errors=True)
    if lacking:
        result.lost.append(f"{count(len(lacking), 'object')} that checkpoints or commits need, such as {min(lacking)}")


def _replace(workspace: Workspace, shadow: Shadow, index: Path, directory: Path) -> set[str] | None:
    """Write what a damaged pack holds anew, then let it go; answers with what could not be read, None if nobody knows.

    All of it, as commits may rest on what no checkpoint needs. A kill in the middle leaves the damaged pack, or one
    without its index, which git does not see.
    """
    _put_aside(workspace, index)
    remains = Remains(index, shadow.git.form)
    read = set[str]()
    made = _write(shadow, _noted(remains.objects(), read))
    is_known = remains.is_whole
    if not is_known:
        room = directory / index.stem
        files.make_private_directory(room)
        is_known = _unpack(shadow, index.with_suffix(".pack"), room)
        made |= _write(shadow, _noted(_loose(shadow, room), read))
    for suffix in (".rev", *(() if index.with_suffix("") in made else (".idx", ".pack", ".keep"))):
        files.remove(index.with_suffix(suffix))
    return remains.names - read if is_known else None


def _noted(objects: Iterator[Found], read: set[str]) -> Iterator[Found]:
    for id, found in objects:
        if id not in read:
            read.add(id)
            yield id, found


def _is_sound(shadow: Shadow, index: Path) -> bool:
    try:
        shadow.git.run("verify-pack", str(index))
        return True
    except HoldfastError:
        return False


def _put_aside(workspace: Workspace, index: Path) -> None:
    """Copy a pack; on disk when this returns, as what could not be read of it is then nowhere else."""
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
    """What checkpoints need and is not there; and what commits need, of that which a damaged pack no longer tells.

    In a partial clone commits lack much that can be fetched: it counts only where it is known that a pack held it.
    """
    roots = {id for made in found for id in (made.tree, made.beside, made.staged) if id}
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
    """Take out what can be read of a pack; answers whether that is all of it. Git goes on behind a damaged object.

    It knows of no other objects meanwhile: it would pass over those that a damaged pack still names. What it cannot
    write for want of room is not damaged, and must not count as lost.
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
    """The objects that lie in a directory, if they are what their names say."""
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
    """Files of all worktrees that are what is missing."""
    for root in shadow.repository.roots():
        name = workspace.worktree if root == workspace.root else path_text(locate.worktree_name(str(root)))
        with contextlib.suppress(HoldfastError):  # one that cannot be looked at, or whose index is damaged
            yield from _in_worktree(Shadow(workspace.place, root, name), lacking)


def _in_worktree(shadow: Shadow, lacking: set[str]) -> Iterator[Found]:
    tracked = zsplit(shadow.git.run("ls-files", "-z", "--cached"))
    for name in (*tracked, *Watching(shadow.git, shadow.borders).look_everywhere()):
        path = Path(shadow.root, os.fsdecode(name))
        try:
            data = files.read(path, LIMIT)
        except HoldfastError:
            continue
        if data is not None and (id := shadow.git.form.id_of(BLOB, data)) in lacking:
            yield id, (BLOB, data)


def _write(shadow: Shadow, objects: Iterator[Found]) -> set[Path]:
    """Write objects into packs of ours, so many at a time as may be in memory; answers with the stems of those."""
    made, batch, weight = set[Path](), dict[str, tuple[str, bytes]](), 0
    for id, (kind, data) in objects:
        batch[id] = (kind, data)
        weight += len(data)
        if weight > WEIGHT:
            made |= _write_batch(shadow, batch)
            batch, weight = {}, 0
    return made | _write_batch(shadow, batch)


def _write_batch(shadow: Shadow, batch: dict[str, tuple[str, bytes]]) -> set[Path]:
    stem = write_pack(shadow.git.objects, batch, shadow.git.form, shadow.git.directory / "keep", anew=True)
    return {stem} if stem else set()


def _write_found(shadow: Shadow, objects: Iterator[Found], result: Reshelved) -> None:
    """Write those that the repository lacks."""
    read = set[str]()
    _write(shadow, _noted((found for found in objects if not shadow.known.has(found[0])), read))
    if read:
        shadow.known.refresh()
        result.mended.append(f"{count(len(read), 'object')} of checkpoints found again")


def _mend_ref(workspace: Workspace, shadow: Shadow, found: list[Checkpoint], result: Reshelved) -> None:
    vault = shadow.vault
    named = _named_by_ref(shadow)
    if named is None:
        result.mended.append(f"{vault.ref} was made anew")
    there = kinds(shadow, {id for made in found for id in (made.tree, made.beside, made.staged) if id})
    shelved: dict[int, dict[bytes, Entry]] = {}
    for made in found:
        if made.number in (named or ()):
            continue
        parts = {b"tree": Entry(DIRECTORY, b"", made.tree), b"beside": Entry(0o100644, b"", made.beside)}
        if made.staged and made.staged in there:
            parts[b"staged"] = Entry(DIRECTORY, b"", made.staged)
        if made.tree in there and made.beside in there:
            shelved[made.number] = parts
            result.mended.append(f"{vault.ref} names {made.id} again")
        else:
            result.lost.append(f"the files of checkpoint {made.id} in {path_text(workspace.root)}")
    if shelved or named is None:
        vault.keep_many(shelved, anew=named is None)


def _named_by_ref(shadow: Shadow) -> set[int] | None:
    """Which checkpoints the ref of a worktree names; None where it, or any shelf that it leads to, cannot be read."""
    vault = shadow.vault
    written = files.read(vault.home / vault.ref)
    if written is not None and TIP.fullmatch(written) is None:
        return None
    try:
        shelves = vault.shelves()
    except (HoldfastError, ValueError):
        return None
    there = kinds(shadow, shelves.values())
    return set(shelves) if all(there.get(id) == TREE for id in shelves.values()) else None
