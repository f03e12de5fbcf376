"""Restores that were interrupted: while one is unfinished, the worktree may be a mixture."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from holdfast.core.errors import HoldfastError, Interrupted, Refused, from_os_error
from holdfast.core.fold.run import VISITING
from holdfast.core.model import Restore
from holdfast.journal.journal import Journal
from holdfast.project.workspace import Workspace
from holdfast.system.git.command import Reader
from holdfast.system.git.repository import BLOB
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import EXECUTABLE
from holdfast.worktree.packs.object_store import differing
from holdfast.worktree.restore.plan import State
from holdfast.worktree.restore.writer import WorktreeWriter, list_attempts, list_displaced
from holdfast.worktree.scan import Scan

Held = tuple[int, str, int]


def refuse_unfinished(journal: Journal, workspace: Workspace) -> None:
    if unfinished := find_unfinished(journal, workspace):
        raise _broken_off(unfinished, Refused)


def find_unfinished(journal: Journal, workspace: Workspace) -> Restore | None:
    ledger = journal.ledger_of(workspace.worktree)
    return ledger.unfinished if ledger else None


@contextlib.contextmanager
def telling_when_interrupted(workspace: Workspace) -> Iterator[None]:
    """Whoever presses Ctrl-C in the middle of a restore, or meets an error, is told what that leaves behind."""
    before = _unfinished_now(workspace)
    try:
        yield
    except KeyboardInterrupt:
        unfinished = _unfinished_now(workspace)
        if unfinished is None:
            raise
        raise _broken_off(unfinished, Interrupted) from None
    except (HoldfastError, OSError) as error:
        try:
            unfinished = None if before else _unfinished_now(workspace)
        except HoldfastError:  # where the store cannot be read either, the first error says more
            raise error from None
        if unfinished is None:
            raise
        raise _failed(unfinished, error) from error


def _unfinished_now(workspace: Workspace) -> Restore | None:
    with workspace.reading() as journal:
        return find_unfinished(journal, workspace)


def _failed(unfinished: Restore, error: HoldfastError | OSError) -> HoldfastError:
    told = from_os_error(error) if isinstance(error, OSError) else error
    left = _broken_off(unfinished, type(told))
    return type(told)(left.message, [("because", told.message), *told.facts, *left.facts], [*left.hints, *told.hints])


def _broken_off(unfinished: Restore, kind: type[HoldfastError]) -> HoldfastError:
    facts = [("to", unfinished.target), ("from", unfinished.before)]
    if unfinished.verb == VISITING:
        return kind(
            "A bisect was interrupted, so the worktree may be a mixture",
            facts,
            ["`holdfast restore --continue`, or `--undo`: both lead back to where it began"],
        )
    return kind(
        "A restore was interrupted, so the worktree may be a mixture",
        facts,
        ["`holdfast restore --continue` finishes it", "`holdfast restore --undo` takes it back"],
    )


class Broken(NamedTuple):
    """A way back that was killed: what was wanted, and between which states of the worktree."""

    wanted: Restore
    start: State
    goal: State

    def clear_leftovers(self, workspace: Workspace, reader: Reader, scan: Scan) -> int:
        """Remove what is half written, wherever the way back may have had something to write or to bring back."""
        trees = ((scan.tree, self.start[0]), (self.start[0], self.goal[0]))
        paths = {found.path for now, then in trees for found in differing(reader, now, then, [])}
        held = workspace.place / "aside"
        for id in filter(None, (self.wanted.id, self.wanted.undoes)):
            paths.update(path for attempt in list_attempts(held / id) for path in list_displaced(attempt))
        return WorktreeWriter(workspace.root, held / self.wanted.id).clear_leftovers(paths)

    def holds_something_new(self, workspace: Workspace, shadow: Shadow, scan: Scan) -> bool:
        """Whether somebody made since what no checkpoint holds: a file, its permissions, an empty directory."""
        reader, now = shadow.reader, (scan.tree, scan.beside)
        beside = shadow.git.form.id_of(BLOB, scan.beside.encode())
        with workspace.reading() as journal:
            kept = journal.list_checkpoints(workspace.worktree)
            if any((made.tree, made.beside) == (scan.tree, beside) for made in kept):
                return False
        ends = (self.start, self.goal)
        paths = chain(
            (found.path for found in differing(reader, scan.tree, self.start[0], [])), self._other_modes(scan)
        )
        if any(_is_new(_held(reader, now, path), (_held(reader, end, path) for end in ends)) for path in paths):
            return True
        return any(not any(_has_directory(reader, end, path) for end in ends) for path in scan.beside.empty)

    def _other_modes(self, scan: Scan) -> set[bytes]:
        return {path for path, _ in scan.beside.modes.items() ^ self.start[1].modes.items()}


def is_changed(state: State, scan: Scan) -> bool:
    """Whether files, permissions or empty directories differ from a state. Nested repositories are not ours."""
    beside = state[1]
    return (state[0], beside.modes, sorted(beside.empty)) != (scan.tree, scan.beside.modes, sorted(scan.beside.empty))


def _is_new(now: Held | None, ends: Iterable[Held | None]) -> bool:
    return now is not None and now not in ends


def _held(reader: Reader, state: State, path: bytes) -> Held | None:
    """What a state holds at a path: the kind, the content and the permissions."""
    entry = reader.find(state[0], path)
    if entry is None or entry.is_tree:
        return None
    return entry.mode, entry.id, state[1].mode_of(path, entry.mode == EXECUTABLE)


def _has_directory(reader: Reader, state: State, path: bytes) -> bool:
    """Whether a directory is there, empty or not: a way back makes and empties those on its way."""
    entry = reader.find(state[0], path)
    return path in state[1].empty or (entry is not None and entry.is_tree) or _is_above(path, state[1].empty)


def _is_above(path: bytes, others: Iterable[bytes]) -> bool:
    return any(other.startswith(path + b"/") for other in others)
