"""Work that nobody waits for: taking in what was kept, a checkpoint of what a turn has changed, holding the limits.

There is never more than one at a time in a worktree. Whoever comes while one is at work leaves a mark, and that one
goes round once more.
"""

from __future__ import annotations

from holdfast import files, ids
from holdfast.care.capping import hold
from holdfast.catchup import catch_up
from holdfast.errors import Busy
from holdfast.keeping import keep_or_note
from holdfast.workspace import Workspace


def go_on(workspace: Workspace) -> int:
    """Do what waits; answers with how many rounds that took."""
    if not workspace.exists or workspace.is_off:
        return 0
    directory = workspace.here / "worktrees" / ids.file_name(workspace.worktree)
    for made in (directory.parent, directory):
        files.make_private_directory(made)
    again = directory / "again"
    again.touch()
    rounds = 0
    try:
        while again.exists():
            with files.lock(directory / "later", 0.0):
                while again.exists():
                    again.unlink(missing_ok=True)
                    catch_up(workspace)
                    keep_or_note(workspace, "turn")
                    rounds += 1
                hold(workspace)
    except Busy:  # the one at work has seen the mark, or will
        pass
    return rounds
