"""Plan of a restore: the changes that make a worktree equal to a checkpoint, and their execution.

Two trees are compared directory by directory; equal ones are not read, and only paths that differ are touched. After a
kill, the same plan is computed again and finishes the restore.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import Damaged, Refused
from holdfast.system.git.command import Git, Reader
from holdfast.system.git.repository import Entry
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import LINK, MODULE, Kept, Seen, TreeMetadata, is_within, kept_at, parents
from holdfast.worktree.packs.object_store import differing, is_wanted
from holdfast.worktree.restore.writer import FEW, WorktreeWriter, Written
from holdfast.worktree.scan_directories import find_ignored

State = tuple[str, TreeMetadata]
RULES = b".gitignore"


class Change(Struct):
    """One path that differs: the checkpoint's entry (None: no such path), and the permission bits."""

    path: bytes
    entry: Entry | None
    mode: int = 0
    only_mode: bool = False
    now: Entry | None = None  # as scanned

    @property
    def act(self) -> str:
        if self.entry is None:
            return "remove"
        return "mode" if self.only_mode else "create" if self.now is None else "write"


class Plan(Struct):
    """Changes that make the worktree equal to a checkpoint."""

    changes: list[Change] = []
    make_empty: list[bytes] = []
    drop_empty: list[bytes] = []
    keep_empty: list[bytes] = []  # directories above named paths, which stay when they become empty
    cleared: list[bytes] = []  # files outside the named paths where a directory is needed
    left: dict[bytes, str] = {}  # paths that the restore skips although they differ, and why
    states: tuple[State, ...] = ()  # the present one, and the checkpoint
    seen: dict[bytes, Seen | None] = {}  # file states as scanned

    @property
    def paths(self) -> list[bytes]:
        return [change.path for change in self.changes]

    @property
    def acts(self) -> dict[bytes, str]:
        """Return the action for each path; a directory ends with a slash."""
        made = dict.fromkeys((path + b"/" for path in (*self.make_empty, *self.keep_empty)), "create")
        dropped = dict.fromkeys((path + b"/" for path in self.drop_empty), "remove")
        return {change.path: change.act for change in self.changes} | made | dropped


def plan_restore(
    shadow: Shadow, now: State, then: State, paths: Iterable[bytes] = (), *, limit: int, spares: bool = True
) -> Plan:
    """Compute the differences between two states of a worktree, within some paths if they are given.

    All that a restore skips is left out here, so that its proof, which plans again, leaves out the same. `limit`: of a
    checkpoint's files, in bytes. `spares`: files made since that the checkpoint's own rules ignore are skipped, too.
    """
    wanted = list(paths)
    here, there = now[1], then[1]
    changes = {change.path: change for change in _changes(shadow.reader, now, then, wanted)}
    closed = {path for path in here.skipped if path in changes and not shadow.stands(path)}
    for path in there.skipped.keys() | closed:
        changes.pop(path, None)
    # safeguard: branches-in-checkpoint
    for path in [path for path in changes if is_within(path, shadow.borders)]:  # from a version without borders
        del changes[path]
    empty, filled = set(there.empty) - set(here.empty), set(here.empty) - set(there.empty)
    empty = {path for path in empty if not is_within(path, (*shadow.borders, *here.links))}
    filled = {path for path in filled if not is_within(path, there.links)}  # or git calls a submodule deleted
    plan = Plan(
        [changes[path] for path in sorted(changes)],
        sorted(path for path in empty if is_wanted(path, wanted)),
        sorted((path for path in filled if is_wanted(path, wanted)), reverse=True),
        sorted(path for path in empty if any(name.startswith(path + b"/") for name in wanted)),
        states=(now, then),
    )
    if wanted:
        standing = _in_the_way(shadow.reader, now[0], plan, wanted)
        plan.cleared = sorted(standing)
        cleared = (Change(path, None, now=entry) for path, entry in standing.items())
        plan.changes = sorted([*plan.changes, *cleared], key=lambda change: change.path)
    _refuse_repositories(plan, here)
    plan.left = left_alone(here, there, shadow.stands, wanted, limit)
    if spares:
        plan.left |= dict.fromkeys(_keep_ignored(shadow, plan, then[0]), "the checkpoint's own rules ignore it")
    return plan


def apply_plan(shadow: Shadow, plan: Plan, aside: Path, back: Iterable[bytes] = ()) -> Written:
    """Carry a plan out, durably. Removals come first, so that a file can replace a directory.

    Files that earlier attempts displaced (`back`) return to their places.
    """
    expected = Expected(shadow, plan)
    written = [change for change in plan.changes if change.entry is not None]
    writer = WorktreeWriter(shadow.root, aside, many=len(written) > FEW, borders=shadow.borders)
    for change in reversed(plan.changes):
        if change.entry is None:
            writer.remove(change.path, expected.before(change))
    for path in plan.drop_empty:
        writer.drop_directory(path)
    _write(expected, writer, [change for change in written if not change.only_mode])
    for change in written:
        if change.only_mode:
            writer.set_mode(change.path, change.mode, expected.before(change))
    for path in plan.make_empty:
        writer.make_directory(path)
    for path in plan.keep_empty:
        writer.keep_directory(path)
    writer.bring_back(back, expected.has)
    writer.settle()
    return writer.done


class Expected:
    """Content that checkpoints have, during a restore: only that may be overwritten."""

    def __init__(self, shadow: Shadow, plan: Plan) -> None:
        self.reader = shadow.reader
        self.form = shadow.git.form
        self.plan = plan

    def before(self, change: Change) -> Kept | None:
        """Return the content at the time of the scan, which a checkpoint has now."""
        return kept_at(change.path, change.now, self.plan.states[0][1], self.plan.seen, self.form)

    def has(self, path: bytes, place: bytes) -> bool:
        """Check whether a file is the one that was scanned, or the checkpoint's."""
        status = os.lstat(place)
        held = (kept_at(path, self.reader.find(tree, path), beside, {}, self.form) for tree, beside in self.plan.states)
        return any(kept is not None and kept.stands_at(place, status) for kept in held)


def holds(reader: Reader, state: State, path: bytes) -> bool:
    """Check whether a state of the worktree has anything at a path."""
    tree, beside = state
    if reader.find(tree, path) is not None:
        return True
    return any(is_within(found, [path]) for found in (*beside.empty, *beside.links, *beside.skipped))


def left_alone(
    here: TreeMetadata, there: TreeMetadata, stands: Callable[[bytes], bool], paths: list[bytes], limit: int
) -> dict[bytes, str]:
    """Return paths that a restore does not bring back, and why. `stands` tells whether a path exists now."""
    found = {path: _moved(here.links.get(path), was, stands(path)) for path, was in there.links.items()}
    for path, size in there.skipped.items():
        why = "was too large to be kept" if size > limit else "was not kept"
        state = "has changed" if stands(path) else "is gone"
        found[path] = "" if here.skipped.get(path) == size else f"{state}; it {why} ({size:,} bytes)"
    for path in here.skipped.keys() - there.skipped.keys():
        found[path] = "" if stands(path) else "cannot be reached"
    return {path: why for path, why in sorted(found.items()) if why and is_wanted(path, paths)}


def _moved(now: str | None, was: str, stands: bool) -> str:
    """Describe how a nested repository differs; empty if it does not."""
    if now == was:
        return ""
    return f"is {_at(now)}, was {_at(was)}" if now is not None and stands else f"is not there, was {_at(was)}"


def _at(commit: str) -> str:
    return f"at {commit[:10]}" if commit else "without a commit"


def _changes(reader: Reader, now: State, then: State, wanted: list[bytes]) -> Iterator[Change]:
    here, there = now[1], then[1]
    found = set()
    for path, one, other in differing(reader, now[0], then[0], wanted):
        found.add(path)
        if MODULE in (one and one.mode, other and other.mode) and not (one and other and other.mode != MODULE):
            continue  # a submodule's HEAD is never moved
        if other is None:
            if not _is_below(path, there.links):  # what is in a nested repository is its own
                yield Change(path, None, now=one)
            continue
        same = one is not None and one.id == other.id and LINK not in (one.mode, other.mode)
        yield Change(path, other, there.mode_of(path, other.mode == 0o100755), same, one)
    for path in {path for path, _ in here.modes.items() ^ there.modes.items()}:
        if path not in found and is_wanted(path, wanted):
            entry = reader.find(then[0], path)
            if entry is not None and not entry.is_tree:
                yield Change(path, entry, there.mode_of(path, entry.mode == 0o100755), only_mode=True, now=entry)


def _write(expected: Expected, writer: WorktreeWriter, changes: list[Change]) -> None:
    with contextlib.closing(expected.reader.read_many(change.entry.id for change in changes if change.entry)) as blobs:
        for change, data in zip(changes, blobs, strict=True):
            assert change.entry is not None
            if data is None:
                facts = [("path", os.fsdecode(change.path)), ("blob", change.entry.id)]
                raise Damaged("A file of the checkpoint is missing", facts, ["`holdfast restore --undo` takes it back"])
            mode = None if change.entry.mode == LINK else change.mode
            writer.write(change.path, data, mode, expected.before(change))


def _in_the_way(reader: Reader, now: str, plan: Plan, wanted: list[bytes]) -> dict[bytes, Entry]:
    """Return files outside the named paths where a directory is needed."""
    found = {}
    written = [change.path for change in plan.changes if change.entry is not None]
    for parent in {parent for path in (*written, *plan.make_empty) for parent in parents(path)}:
        if not is_wanted(parent, wanted):
            entry = reader.find(now, parent)
            if entry is not None and not entry.is_tree and entry.mode != MODULE:
                found[parent] = entry
    return found


def _refuse_repositories(plan: Plan, here: TreeMetadata) -> None:
    """Refuse to write below a nested repository that was made since: no scan would find those files again."""
    for change in plan.changes if here.links else ():
        if change.entry is not None and (above := _is_below(change.path, here.links)):
            facts = [("repository", os.fsdecode(above)), ("file", os.fsdecode(change.path))]
            hints = ["move its `.git` away, or name the paths that you want back"]
            raise Refused("A repository was made in a directory of which the checkpoint holds files", facts, hints)


def _is_below(path: bytes, directories: Iterable[bytes]) -> bytes | None:
    return next((parent for parent in parents(path) if parent in directories), None)


# Ignored files


def _keep_ignored(shadow: Shadow, plan: Plan, tree: str) -> set[bytes]:
    """Drop removals of files that the target's ignore rules match, if the plan changes those rules. Returns these."""
    if not any(os.path.basename(change.path) == RULES for change in plan.changes):
        return set()
    going = {change.path for change in plan.changes if change.entry is None}
    spared = ignored_then(shadow, tree, sorted(going)) & going
    plan.changes = [change for change in plan.changes if change.path not in spared]
    return spared


def ignored_then(shadow: Shadow, tree: str, paths: Iterable[bytes]) -> set[bytes]:
    """Return the paths that a tree's own ignore rules match. Git runs in a directory with only these rules."""
    asked = list(paths)
    above = {RULES, *(parent + b"/" + RULES for path in asked for parent in parents(path))}
    found = {path: entry for path in above if (entry := shadow.reader.find(tree, path)) and not entry.is_tree}
    rules = {path: data for path, entry in found.items() if (data := shadow.reader.read(entry.id)) is not None}
    if not rules:
        return set()
    with shadow.scratch() as place:
        for path, data in rules.items():
            full = os.path.join(os.fsencode(place), path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(data)
        there = Git(shadow.git.directory, place, shadow.git.objects, shadow.git.index, shadow.git.form)
        there.excludes = shadow.git.excludes
        return find_ignored(there, asked)
