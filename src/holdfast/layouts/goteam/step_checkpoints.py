"""Keeping what a step of a Go Team run has come to: one of our checkpoints, under the name that the team's files have.

Nothing of the user's repository is touched: no commit is made, and no branch is checked out.
"""

from __future__ import annotations

from holdfast.core.errors import HoldfastError
from holdfast.core.fold import team
from holdfast.core.fold.team import Meant
from holdfast.core.model import Body, Checkpoint, Draft, Reason, Run
from holdfast.core.text import path_text
from holdfast.project.checkpoints.create import (
    find_unfinished,
    keep_changes,
    make_checkpoint,
    refuse_unfinished,
    shadow_of,
)
from holdfast.project.workspace import Workspace
from holdfast.worktree.capture import Shadow

NAMED = 500  # files that a kept step names
FIELDS = {"A": "created", "D": "deleted"}  # by git's letters; all else was modified


def keep_step(workspace: Workspace, run_id: str, meant: Meant) -> Checkpoint:
    """Make the checkpoint of a step, and let the run know it."""
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            refuse_unfinished(journal, workspace)
            run = journal.get_run(run_id)
            last = team.last_kept(run)
            before = journal.find_checkpoint(last.checkpoint) if last and last.checkpoint else None
        number = team.number_of(run, meant.step)
        id = team.kept_name(run, number, meant.name, workspace.clock.now())
        made, _ = make_checkpoint(workspace, shadow, run=run, name=id, reason=Reason.STEP)
        changed = _changed(shadow, before, made)
    body: Body = {
        "id": id,
        "step": meant.step,
        "number": number,
        "checkpoint": made.id,
        "seq": made.seq,
        "time": made.time,
        "completes": meant.completes,
        "branch": path_text(made.branch) if made.branch else None,
        "commit": made.commit,
        **changed,
    }
    if meant.turn:
        body["turn"] = meant.turn
    with workspace.writing() as journal:
        journal.append(run_id, Draft("step.kept", body, time=made.time))
    return made


def keep_run(workspace: Workspace, run: Run, reason: Reason, *, always: bool = False) -> Checkpoint | None:
    """A checkpoint of what a run leaves, unless the last one holds it already and nobody needs one `always`."""
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            if find_unfinished(journal, workspace):
                return None  # a mixture is nothing to go back to
        kept, is_new = keep_changes(
            workspace, shadow, reason, run, holds=lambda last: last.run == run.id and not always
        )
        return kept if is_new else None


def keep_interrupted(workspace: Workspace, run: Run) -> None:
    """Keep what a run that was found dead has left. Trouble with that keeps no command from going on."""
    if run.worktree != workspace.worktree:
        return
    try:
        keep_run(workspace, run, Reason.INTERRUPTED)
    except HoldfastError as error:
        workspace.warn(f"what {run.id} left could not be kept: {error.message}")


def _changed(shadow: Shadow, before: Checkpoint | None, made: Checkpoint) -> Body:
    """The files that a step has created, modified and deleted, since the one before it or since the last commit."""
    found: dict[str, list[str]] = {"created": [], "modified": [], "deleted": []}
    start = before.tree if before else f"{made.commit}^{{tree}}" if made.commit else None
    if start is None:
        return {**found, "created": made.changed[:NAMED]}
    try:
        told = shadow.git.run("diff-tree", "-r", "-z", "--no-renames", "--name-status", start, made.tree)
    except HoldfastError:
        return {**found, "modified": made.changed[:NAMED]}
    words = told.split(b"\0")
    for letter, path in zip(words[::2], words[1::2], strict=False):
        found[FIELDS.get(letter.decode("ascii", "replace"), "modified")].append(
            path.decode("utf-8", "backslashreplace")
        )
    return {name: paths[:NAMED] for name, paths in found.items()}
