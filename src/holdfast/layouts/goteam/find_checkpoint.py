"""Which kept point of a Go Team run somebody means, and how one that only a file knows becomes a checkpoint of ours."""

from __future__ import annotations

from holdfast.core import ids
from holdfast.core.errors import NotFound, Refused
from holdfast.core.fold import team
from holdfast.core.fold.worktree_log import record_of
from holdfast.core.model import Checkpoint, Draft, Reason, Run
from holdfast.core.team_state import Kept
from holdfast.core.text import one_line, path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.goteam.recovery_options import COMMIT, tree_of
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.checkpoints.restore import Restored
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system.git.objects import DIRECTORY, Entry
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import TreeMetadata
from holdfast.worktree.user_index import names_in


def get_checkpoint(
    workspace: Workspace, journal: Journal, run: Run, name: str, *, left_too: bool = False
) -> Checkpoint:
    """The checkpoint that is meant: in a Go Team run also by its name in the team's files, or by its step's number."""
    kept = find_kept(run, name, left_too=left_too)
    if kept is None:
        return select.count_back(workspace, journal, name)
    found = journal.find_checkpoint(kept.checkpoint or "")
    if found is None:
        facts = [("checkpoint", kept.id), ("commit", kept.commit or "none")]
        raise NotFound("Of this checkpoint only the file is known, not the code", facts, ["`holdfast checkpoints`"])
    return found


def find_last_checkpoint(journal: Journal, run: Run) -> Checkpoint | None:
    """The code of the run's newest valid point."""
    point = team.last_kept(run)
    return journal.find_checkpoint(point.checkpoint or "") if point else None


def find_kept(run: Run, name: str, *, left_too: bool = False) -> Kept | None:
    """The point that is meant, or None where the name is none of the team's.

    One that was left behind is refused, unless somebody only wants to look at it.
    """
    found = team.resolve(run, name)
    if not found and team.NUMBERED.fullmatch(name):  # never a row of a list
        known = ", ".join(kept.id for kept in run.standing.kept if kept.is_valid) or "none"
        facts = [("run", run.id), ("checkpoints", known)]
        raise NotFound(f"Step {one_line(name, 20)} has no checkpoint", facts, ["`holdfast checkpoints`"])
    if found and not found[0].is_valid and not left_too:
        kept = found[0]
        facts = [("checkpoint", kept.id), ("left behind by", kept.invalidated_by or "")]
        hints = ["`holdfast undo` takes the way back back", f"`holdfast restore {kept.checkpoint}` brings its code"]
        raise Refused("This checkpoint is not valid any more", facts, hints)
    return found[0] if found else None


def refuse_return(run: Run, planned: Restored) -> None:
    """The last point again, with nothing done since: there is nothing to go back from."""
    last = team.last_kept(run)
    if last and last.checkpoint == planned.to and not planned.acts and run.seq <= last.seq + 1:
        facts = [("checkpoint", last.id)]
        raise Refused("The run is there already, and nothing was done since", facts, ["`holdfast checkpoints`"])


def prepare_return(workspace: Workspace, run: Run, name: str) -> None:
    """Let a point that only a file knows be a checkpoint of ours: the tree of its commit, where that exists."""
    kept = find_kept(run, name)
    if kept is None or kept.checkpoint is not None or not COMMIT.fullmatch(kept.commit or ""):
        return
    with shadow_of(workspace) as shadow:
        tree = tree_of(shadow, kept.commit or "")
        if tree is None:
            return
        made = _keep_tree(workspace, shadow, run, kept, tree)
    body = {"id": kept.id, "step": kept.step, "number": kept.number, "checkpoint": made.id}
    with workspace.writing() as journal:
        journal.append(run.id, Draft("step.kept", body))


def _keep_tree(workspace: Workspace, shadow: Shadow, run: Run, kept: Kept, tree: str) -> Checkpoint:
    object_store = shadow.object_store
    with workspace.reading() as journal:
        number = journal.view.last_checkpoint_number(workspace.worktree) + 1
    beside = object_store.blob(TreeMetadata().encode())
    object_store.rely_on(names_in(shadow.git, tree))
    object_store.keep(number, {b"tree": Entry(DIRECTORY, b"", tree), b"beside": beside})
    made = Checkpoint(
        id=ids.make("cp"),
        worktree=workspace.worktree,
        number=number,
        time=workspace.clock.now(),
        tree=tree,
        beside=beside.id,
        kind=Reason.FOREIGN,
        name=kept.id,
        run=run.id,
        seq=kept.seq,
        directory=path_text(workspace.root),
        commit=kept.commit,
        branch=kept.branch,
    )
    with workspace.writing() as journal:
        body = {name: value for name, value in record_of(made).items() if name != "time"}
        journal.append(journal.ledger(workspace.worktree).id, Draft("checkpoint.made", body, time=made.time))
    return made
