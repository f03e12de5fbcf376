"""Merging and pruning our packs.

Git does not write an object again that one of our packs holds; it only renews the date of that pack. So an object that
no checkpoint needs may still be the only copy for a commit or the user's index. An object is deleted only if no
checkpoint reaches it, nothing in the repository reaches it, and git has not renewed its pack's date lately. Our packs
carry the date `MARKED`, so that any other date is git's.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import Busy, Damaged, HoldfastError
from holdfast.system import files
from holdfast.system.files import sync_objects
from holdfast.system.git.repository import KEEP, MARKED, TREE, PackIndex, parse_tree
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.object_store import MERGED, ObjectStore
from holdfast.worktree.packs.reachability import kinds, needed_by_user, reached, tips

LATELY = 3600.0  # seconds within which an object that git has just relied on may not be reachable yet
LARGEST = 16 << 20  # bytes of a loose object that is checked; a larger one is kept twice
PATIENCE = 120.0  # seconds to wait for a checkpoint of another worktree
LEFTOVER = re.compile(r"(?:\..+\.|tmp_holdfast_)[0-9a-f]{12}\Z")  # temporary file of a killed writer
AWAY = ".away"  # suffix; git would treat any name that ends with .idx as a pack

Say = Callable[[str, int, int], None]


class Pruned(Struct):
    """Result of pruning: bytes of our packs before and after, deleted packs, packs that git has just relied on."""

    before: int
    after: int
    rewritten: int
    waiting: int


def stored_bytes(object_store: ObjectStore) -> int:
    """Return the size of our packs."""
    paths = (path.with_suffix(suffix) for path in object_store.packs() for suffix in (".pack", ".idx"))
    return sum((files.signature(path) or (0,))[0] for path in paths)


def merge(shadow: Shadow) -> int:
    """Merge the small packs once there are many. A large one waits until the others together are as large.

    The caller holds a worktree's lock, for which the holder of the packs' lock may wait: so this one does not wait.
    """
    if len(shadow.object_store.packs()) < MERGED:
        return 0
    # safeguard: lock-packs-in-merge
    with contextlib.suppress(Busy), files.os_errors(), hold_packs(shadow.git.directory.parent, 0.0):
        if len(packs := _ours_alone(shadow.object_store)) < MERGED:
            return 0
        dates = {path: _date(path) for path in _small(packs, shadow)}
        made = _write(shadow, {id for path in dates for id in _names(path, shadow)}, max(dates.values()))
        return _unlink(_move_away(dates, made))
    return 0


def hold_packs(place: Path, patience: float) -> contextlib.AbstractContextManager[None]:
    """Lock our packs against deletion by others. This lock comes before those of worktrees."""
    return files.lock(place / "packs-lock", patience)


def prune(shadow: Shadow, place: Path, say: Say, named: Iterable[str] = ()) -> Pruned:
    """Reclaim the space of dropped checkpoints. It locks all worktrees, so the caller must hold no lock.

    Objects of checkpoints in `named` are kept even if our refs were lost, or point elsewhere.
    """
    with contextlib.ExitStack() as held, files.os_errors():
        held.enter_context(hold_packs(place, PATIENCE))  # safeguard: lock-packs-in-prune
        locked = _lock_worktrees(place, held, set())
        held.enter_context(shadow)
        _clear_leftovers(shadow.git.objects / "pack")
        packs = {path: set(_names(path, shadow)) for path in _ours_alone(shadow.object_store)}
        dates = {path: _date(path) for path in packs}
        lately = {path for path, date in dates.items() if date != MARKED and time.time() - date < LATELY}
        result = Pruned(stored_bytes(shadow.object_store), 0, 0, len(lately))
        pointed = tips(shadow)
        ours, used = set().union(*packs.values()), {id for path in lately for id in packs[path]}
        roots = kinds(shadow, {*pointed.values(), *named}).keys()
        if missing := {*pointed.values()} - roots:
            raise Damaged("The list of checkpoints is missing", [("tree", sorted(missing)[0])], ["`holdfast verify`"])
        needed = _needed(shadow, place, ours, used, roots, say)
        rest = [path for path in packs if path not in lately]
        small = _small(rest, shadow)
        # those with something to leave out, and the small ones if there are several
        chosen = sorted(
            {path for path in rest if not packs[path] <= needed} | (set(small) if len(small) > 1 else set())
        )
        say("rewriting packs", 0, len(chosen))
        standing = {id for path in packs if path not in chosen for id in packs[path]}
        kept = {id for path in chosen for id in packs[path] if id in needed} - standing
        gone = _move_away({path: dates[path] for path in chosen}, _write(shadow, kept, MARKED))
        left = [path for path in (shadow.git.objects / "pack").glob("*") if LEFTOVER.match(path.name)]
        _lock_worktrees(place, held, locked)  # safeguard: lock-new-worktrees
        for path in left:  # begun before we had every lock: a writer holds one, so theirs have ended
            path.unlink(missing_ok=True)
        if left:
            files.sync_directory(left[0].parent)
        if tips(shadow) == pointed:
            result.rewritten = _unlink(gone)
        else:  # a new worktree has made a checkpoint meanwhile, which may need these
            _put_back(gone)
        result.after = stored_bytes(shadow.object_store)
        say("rewriting packs", len(chosen), len(chosen))
        return result


def _needed(shadow: Shadow, place: Path, ours: set[str], used: set[str], roots: Iterable[str], say: Say) -> set[str]:
    """Return the objects that must stay. The user's history is read only if checkpoints do not need all of ours."""
    say("reading checkpoints", 0, 2)
    needed = ours.intersection(reached(shadow, roots))
    say("reading commits", 1, 2)
    if needed != ours:
        names = ours.intersection(needed_by_user(shadow, place, used))
        loose = {id: f"{shadow.git.objects}/{id[:2]}/{id[2:]}" for id in names}
        sound = {id: path for id, path in loose.items() if _is_sound(shadow, id, path)}
        sync_objects(sound.values())
        needed |= used | (names - sound.keys())
    say("reading commits", 2, 2)
    return needed


def _is_sound(shadow: Shadow, id: str, path: str) -> bool:
    """Check a loose object, which a power cut may have left empty."""
    try:
        packed = files.read(Path(path), LARGEST) or b""
        head, _, data = zlib.decompressobj().decompress(packed, LARGEST).partition(b"\0")
    except (OSError, HoldfastError, zlib.error):
        return False
    return shadow.git.form.id_of(head.partition(b" ")[0].decode("ascii", "replace"), data) == id


def _write(shadow: Shadow, names: Iterable[str], date: float) -> str:
    """Write these objects as one pack, which is marked as ours before git can see it. Returns its name."""
    listed = name_objects(shadow, set(names))
    if not listed:
        return ""
    directory = shadow.git.objects / "pack"
    with shadow.scratch() as place:
        (place / "pack").mkdir()
        arguments = ("--delta-base-offset", "--no-reuse-delta", "-q", "--window=50", "--window-memory=256m")
        base = str(place / "pack" / "pack")
        made = shadow.git.run("pack-objects", *arguments, "--threads=1", base, input=listed, scratch=place)
        name = f"pack-{made.decode().strip()}"
        if not (directory / f"{name}.idx").exists():
            os.utime(place / "pack" / f"{name}.pack", (date, date))
            files.write(directory / f"{name}.keep", KEEP, 0o444)
            for suffix in (".rev", ".pack", ".idx"):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(place / "pack" / f"{name}{suffix}", directory / f"{name}{suffix}")
    files.sync_directory(directory)
    return name


def _move_away(dates: dict[Path, float], made: str) -> list[Path]:
    """Rename packs so that git does not find them, except the one just made. One that git relied on meanwhile stays.

    Git renews a pack's date by its name: once it is gone, git writes the object itself; before, the date shows it.
    """
    gone = []
    for path, date in dates.items():
        if path.stem == made:
            continue
        try:
            for suffix in (".idx", ".pack"):
                os.rename(path.with_suffix(suffix), _away(path.with_suffix(suffix)))
        except FileNotFoundError:  # merged by another worktree at the same moment
            continue
        if _away(path.with_suffix(".pack")).stat().st_mtime == date:
            gone.append(path)
        else:
            _put_back([path])
    return gone


def _put_back(gone: Iterable[Path]) -> None:
    for path in gone:
        for suffix in (".pack", ".idx"):
            os.rename(_away(path.with_suffix(suffix)), path.with_suffix(suffix))


def _unlink(gone: list[Path]) -> int:
    for path in gone:
        pack, rev, keep = (path.with_suffix(suffix) for suffix in (".pack", ".rev", ".keep"))
        for leftover in (_away(path), _away(pack), rev, keep):
            leftover.unlink(missing_ok=True)
    if gone:
        files.sync_directory(gone[0].parent)
    return len(gone)


def _clear_leftovers(directory: Path) -> None:
    """Clean up after a kill: a pack that was moved away comes back, and a partial pack is deleted."""
    for index in directory.glob(f".pack-*.idx{AWAY}"):
        path = index.with_name(index.name[1:].removesuffix(AWAY))
        with contextlib.suppress(FileNotFoundError):
            os.rename(_away(path.with_suffix(".pack")), path.with_suffix(".pack"))
        os.rename(index, path)
    for pack in directory.glob(f".pack-*.pack{AWAY}"):
        pack.unlink()
    for keep in directory.glob("pack-*.keep"):
        half = (files.read(keep, 64) or b"") == KEEP and not keep.with_suffix(".idx").exists()
        if half and time.time() - keep.stat().st_mtime > LATELY:  # else it may be in progress
            for path in (keep.with_suffix(".rev"), keep.with_suffix(".pack"), keep):
                path.unlink(missing_ok=True)


def _lock_worktrees(place: Path, held: contextlib.ExitStack, locked: set[Path]) -> set[Path]:
    """Lock every worktree, always in the same order, against deadlocks."""
    for path in sorted(set((place / "worktrees").glob("*/lock")) - locked):
        held.enter_context(files.lock(path, PATIENCE))  # safeguard: lock-worktrees-in-prune
        locked = locked | {path}
    return locked


def _ours_alone(object_store: ObjectStore) -> list[Path]:
    """Return our packs, except those that git's multi-pack index refers to: without them, it would be corrupt."""
    packs = object_store.packs()
    named = b""
    with (
        contextlib.suppress(FileNotFoundError),
        open(object_store.git.objects / "pack" / "multi-pack-index", "rb") as file,
    ):
        named = file.read(1 << 20)
    return [path for path in packs if path.name.encode() not in named]


def _small(packs: list[Path], shadow: Shadow) -> list[Path]:
    """Return the packs that are worth merging: none much larger than all smaller ones together."""
    sized = sorted((len(PackIndex(path, shadow.git.form)), path) for path in packs)
    chosen: list[Path] = []
    total = 0
    for size, path in sized:
        if len(chosen) > 1 and size > 2 * total:
            break
        chosen.append(path)
        total += size
    return chosen


def _names(path: Path, shadow: Shadow) -> Iterator[str]:
    return PackIndex(path, shadow.git.form).names()


def _away(path: Path) -> Path:
    return path.with_name(f".{path.name}{AWAY}")


def _date(path: Path) -> float:
    """Return when git last relied on a pack; `MARKED` if it never did."""
    return path.with_suffix(".pack").stat().st_mtime


# Hints


def name_objects(shadow: Shadow, ids: set[str]) -> bytes:
    """Return the input of `git pack-objects`: a line per object, its id and a path hint for delta compression."""
    trees = [id for id, kind in kinds(shadow, ids).items() if kind == TREE]
    above: dict[str, tuple[str, bytes]] = {}
    for tree, data in zip(trees, shadow.reader.read_many(trees), strict=True):
        for entry in parse_tree(data or b"", shadow.git.form):
            if entry.id in ids:
                above[entry.id] = (tree, entry.name)
    lines = []
    for id in sorted(ids):
        parent, name = above.get(id, ("", b""))  # the last two names are enough to tell files of one name apart
        path = above.get(parent, ("", b""))[1] + b"/" + name
        lines.append(id.encode() + b" " + path.replace(b"\n", b"?") + b"\n")
    return b"".join(lines)
