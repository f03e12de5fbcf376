"""What has to change so that a worktree equals a checkpoint, and carrying that out.

Two trees are compared directory by directory, and what is equal is not opened. Only what differs is touched. Killed in
the middle, the same plan is made anew and finishes it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from holdfast.core.errors import Damaged, Refused
from holdfast.system.git.command import Git, Reader, zsplit
from holdfast.system.git.repository import Entry
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import Beside
from holdfast.worktree.paths import is_within, parents
from holdfast.worktree.restore.writer import FEW, NOTHING_SEEN, Kept, Put, Putting, kept_at
from holdfast.worktree.scan import LINK, MODULE, Seen

State = tuple[str, Beside]
RULES = b".gitignore"


class Change(Struct):
    """One path that differs: what a checkpoint holds there (None: nothing), and the permission bits."""

    path: bytes
    entry: Entry | None
    mode: int = 0
    only_mode: bool = False
    now: Entry | None = None  # what the look at the worktree found there

    @property
    def act(self) -> str:
        if self.entry is None:
            return "remove"
        return "mode" if self.only_mode else "create" if self.now is None else "write"


class Plan(Struct):
    """All that has to change so that the worktree equals a checkpoint."""

    changes: list[Change] = []
    make_empty: list[bytes] = []
    drop_empty: list[bytes] = []
    keep_empty: list[bytes] = []  # directories above named paths, which must not go when they become empty
    cleared: list[bytes] = []  # files outside of the named paths that stand where a directory is needed
    states: tuple[State, ...] = ()  # what is there now, and the checkpoint
    seen: Mapping[bytes, Seen | None] = NOTHING_SEEN  # how files looked when they were found to hold that

    @property
    def paths(self) -> list[bytes]:
        return [change.path for change in self.changes]

    @property
    def acts(self) -> dict[bytes, str]:
        """What happens to each path; a directory ends with a slash."""
        made = dict.fromkeys((path + b"/" for path in (*self.make_empty, *self.keep_empty)), "create")
        return (
            {change.path: change.act for change in self.changes}
            | made
            | dict.fromkeys((path + b"/" for path in self.drop_empty), "remove")
        )


class Difference(NamedTuple):
    path: bytes
    now: Entry | None
    then: Entry | None


def plan_restore(shadow: Shadow, now: State, then: State, paths: Iterable[bytes] = ()) -> Plan:
    """What differs between two states of a worktree, within some paths if they are given."""
    wanted = list(paths)
    here, there = now[1], then[1]
    changes = {change.path: change for change in _changes(shadow.reader, now, then, wanted)}
    closed = {path for path in here.skipped if path in changes and not shadow.stands(path)}
    for path in there.skipped.keys() | closed:
        changes.pop(path, None)
    # safeguard: branches-in-checkpoint
    for path in [path for path in changes if is_within(path, shadow.borders)]:  # kept by a version that knew none
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
    return plan


def apply_plan(shadow: Shadow, plan: Plan, aside: Path, back: Iterable[bytes] = ()) -> Put:
    """Carry a plan out. Removals come first, so that a file can stand where a directory was.

    What the attempts of an earlier restore moved `back` returns to its place. All is on disk when this returns.
    """
    keeping = Keeping(shadow, plan)
    written = [change for change in plan.changes if change.entry is not None]
    putting = Putting(shadow.root, aside, many=len(written) > FEW, borders=shadow.borders)
    for change in reversed(plan.changes):
        if change.entry is None:
            putting.remove(change.path, keeping.before(change))
    for path in plan.drop_empty:
        putting.drop_directory(path)
    _write(keeping, putting, [change for change in written if not change.only_mode])
    for change in written:
        if change.only_mode:
            putting.set_mode(change.path, change.mode, keeping.before(change))
    for path in plan.make_empty:
        putting.make_directory(path)
    for path in plan.keep_empty:
        putting.keep_directory(path)
    putting.bring_back(back, keeping.has)
    putting.settle()
    return putting.done


class Keeping:
    """What checkpoints have, while a plan is carried out: only that may be overwritten."""

    def __init__(self, shadow: Shadow, plan: Plan) -> None:
        self.reader = shadow.reader
        self.form = shadow.git.form
        self.plan = plan

    def before(self, change: Change) -> Kept | None:
        """What was there when the worktree was looked at, which is a checkpoint now."""
        return kept_at(change.path, change.now, self.plan.states[0][1], self.plan.seen, self.form)

    def has(self, path: bytes, place: bytes) -> bool:
        """Whether what stands at a place was there at that look, or is what the checkpoint has."""
        status = os.lstat(place)
        held = (kept_at(path, self.reader.find(tree, path), beside, {}, self.form) for tree, beside in self.plan.states)
        return any(kept is not None and kept.stands_at(place, status) for kept in held)


def differing(
    reader: Reader, now: str | None, then: str | None, wanted: list[bytes], above: bytes = b""
) -> Iterator[Difference]:
    """Every path at which two trees hold different things; directories that are equal are not opened."""
    if now == then:
        return
    left = {entry.name: entry for entry in reader.tree(now)} if now else {}
    right = {entry.name: entry for entry in reader.tree(then)} if then else {}
    for name in left.keys() | right.keys():
        one, other = left.get(name), right.get(name)
        path = above + name
        if one == other or not _is_on_the_way(path, wanted):
            continue
        yield from differing(reader, _tree(one), _tree(other), wanted, path + b"/")
        found = Difference(path, _leaf(one), _leaf(other))
        if found.now != found.then and is_wanted(path, wanted):
            yield found


def _tree(entry: Entry | None) -> str | None:
    return entry.id if entry and entry.is_tree else None


def _leaf(entry: Entry | None) -> Entry | None:
    return entry if entry and not entry.is_tree else None


def is_wanted(path: bytes, wanted: list[bytes]) -> bool:
    return not wanted or any(path == name or path.startswith(name + b"/") for name in wanted)


def holds(reader: Reader, state: State, path: bytes) -> bool:
    """Whether a path names anything in a state of the worktree."""
    tree, beside = state
    if reader.find(tree, path) is not None:
        return True
    return any(is_within(found, [path]) for found in (*beside.empty, *beside.links, *beside.skipped))


def left_alone(
    here: Beside, there: Beside, stands: Callable[[bytes], bool], paths: list[bytes], limit: int
) -> dict[bytes, str]:
    """What a way back does not bring back, and why. `stands` tells whether anything is at a path now."""
    found = {path: _moved(here.links.get(path), was, stands(path)) for path, was in there.links.items()}
    for path, size in there.skipped.items():
        why = "was too large to be kept" if size > limit else "was not kept"
        state = "has changed" if stands(path) else "is gone"
        found[path] = "" if here.skipped.get(path) == size else f"{state}; it {why} ({size:,} bytes)"
    for path in here.skipped.keys() - there.skipped.keys():
        found[path] = "" if stands(path) else "cannot be reached"
    return {path: why for path, why in sorted(found.items()) if why and is_wanted(path, paths)}


def _moved(now: str | None, was: str, stands: bool) -> str:
    """How a repository inside the worktree differs from what it was; empty where it does not."""
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
            continue  # a submodule's own repository is not ours to move
        if other is None:
            if not _is_below(path, there.links):  # what is in a nested repository is its own
                yield Change(path, None, now=one)
            continue
        same = one is not None and one.id == other.id and LINK not in (one.mode, other.mode)
        yield Change(path, other, there.mode_of(path, other.mode == 0o100755), same, one)
    for path in _unequal(here.modes, there.modes):
        if path not in found and is_wanted(path, wanted):
            entry = reader.find(then[0], path)
            if entry is not None and not entry.is_tree:
                yield Change(path, entry, there.mode_of(path, entry.mode == 0o100755), only_mode=True, now=entry)


def _write(keeping: Keeping, putting: Putting, changes: list[Change]) -> None:
    with contextlib.closing(keeping.reader.read_many(change.entry.id for change in changes if change.entry)) as blobs:
        for change, data in zip(changes, blobs, strict=True):
            assert change.entry is not None
            if data is None:
                facts = [("path", os.fsdecode(change.path)), ("blob", change.entry.id)]
                raise Damaged("A file of the checkpoint is missing", facts, ["`holdfast restore --undo` takes it back"])
            mode = None if change.entry.mode == LINK else change.mode
            putting.write(change.path, data, mode, keeping.before(change))


def _in_the_way(reader: Reader, now: str, plan: Plan, wanted: list[bytes]) -> dict[bytes, Entry]:
    """Files above what is going to be written."""
    found = {}
    written = [change.path for change in plan.changes if change.entry is not None]
    for parent in {parent for path in (*written, *plan.make_empty) for parent in parents(path)}:
        if not is_wanted(parent, wanted):
            entry = reader.find(now, parent)
            if entry is not None and not entry.is_tree and entry.mode != MODULE:
                found[parent] = entry
    return found


def _refuse_repositories(plan: Plan, here: Beside) -> None:
    """Files below a repository that was made since could not be seen again once they are written."""
    for change in plan.changes if here.links else ():
        if change.entry is not None and (above := _is_below(change.path, here.links)):
            raise Refused(
                "A repository was made in a directory of which the checkpoint holds files",
                [("repository", os.fsdecode(above)), ("file", os.fsdecode(change.path))],
                ["move its `.git` away, or name the paths that you want back"],
            )


def _is_below(path: bytes, directories: Iterable[bytes]) -> bytes | None:
    return next((parent for parent in parents(path) if parent in directories), None)


def _unequal(one: dict[bytes, int], other: dict[bytes, int]) -> set[bytes]:
    return set() if one == other else {path for path, _ in one.items() ^ other.items()}


def _is_on_the_way(path: bytes, wanted: list[bytes]) -> bool:
    return is_wanted(path, wanted) or any(name.startswith(path + b"/") for name in wanted)


# Ignored files


def spare(shadow: Shadow, plan: Plan, tree: str) -> set[bytes]:
    """Take out of a plan the removals that the rules of a tree speak against; only where it brings other rules."""
    if not any(os.path.basename(change.path) == RULES for change in plan.changes):
        return set()
    going = {change.path for change in plan.changes if change.entry is None}
    spared = ignored_then(shadow, tree, sorted(going)) & going
    plan.changes = [change for change in plan.changes if change.path not in spared]
    return spared


def ignored_then(shadow: Shadow, tree: str, paths: Iterable[bytes]) -> set[bytes]:
    """Those of the paths that the rules in a tree ignore. Git is asked in a directory that holds these rules alone."""
    asked = list(paths)
    rules = {path: data for path in set(_rules_for(asked)) if (data := _content(shadow, tree, path)) is not None}
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
        listed = b"".join(path + b"\0" for path in asked)
        return set(zsplit(there.start("check-ignore", "-z", "--stdin", "--no-index").finish(listed, (1,))))


def _rules_for(paths: Iterable[bytes]) -> Iterator[bytes]:
    """Every file of rules that could speak about these paths."""
    for path in paths:
        while path:
            path = os.path.dirname(path)
            yield os.path.join(path, RULES)


def _content(shadow: Shadow, tree: str, path: bytes) -> bytes | None:
    entry = shadow.reader.find(tree, path)
    return shadow.reader.read(entry.id) if entry and not entry.is_tree else None
