"""What a killed way back left in the worktree, and whether somebody has worked there since."""

from __future__ import annotations

from typing import NamedTuple

from holdfast import aside
from holdfast.git import Reader
from holdfast.looking import Scan
from holdfast.model import Restore
from holdfast.objects import Entry
from holdfast.putting import Putting
from holdfast.restoring import State, differing
from holdfast.workspace import Workspace


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
            paths.update(path for attempt in aside.attempts(held / id) for path in aside.paths_in(attempt))
        return Putting(workspace.root, held / self.wanted.id).clear_leftovers(paths)

    def holds_something_new(self, workspace: Workspace, reader: Reader, scan: Scan) -> bool:
        """Whether somebody wrote after the kill what no checkpoint holds."""
        with workspace.reading() as journal:
            if any(made.tree == scan.tree for made in journal.list_checkpoints(workspace.worktree)):
                return False
        changed, goal = differing(reader, scan.tree, self.start[0], []), self.goal[0]
        return any(found.now is not None and not _is_at(reader, goal, found.path, found.now) for found in changed)


def _is_at(reader: Reader, tree: str, path: bytes, entry: Entry) -> bool:
    found = reader.find(tree, path)
    return found is not None and (found.mode, found.id) == (entry.mode, entry.id)
