"""When nobody may go back: a restore is unfinished, somebody else's work would be lost, a path names nothing."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Iterator

from holdfast.core.errors import Busy, HoldfastError, Interrupted, NotFound, Refused, from_os_error
from holdfast.core.fold.worktree_log import VISITING
from holdfast.core.model import Checkpoint, Restore
from holdfast.core.text import one_line, path_text
from holdfast.journal.journal import Journal
from holdfast.project.checkpoints.conflicts import Bystanders
from holdfast.project.workspace import Workspace
from holdfast.worktree.restore.plan import Plan

SHOWN = 20


def find_clashes(plan: Plan, others: Bystanders | None) -> dict[str, str]:
    """The files that another living session has changed, each with that session."""
    clash = ((path, who) for path in plan.paths if (who := others.whose(path))) if others else ()
    return {path_text(os.fsdecode(path)): who for path, who in clash}


def told_clashes(clashes: dict[str, str]) -> list[str]:
    """Why what was only looked at would be refused: the files that the refusal names, by session."""
    named: dict[str, list[str]] = {}
    for path, who in list(clashes.items())[:SHOWN]:
        named.setdefault(who, []).append(one_line(path, 200))
    told = "which is alive, has changed"
    return [f"{who}, {told} {', '.join(paths)}: without `--force` this is refused" for who, paths in named.items()]


def refuse_others(plan: Plan, others: Bystanders | None) -> None:
    if clashes := find_clashes(plan, others):
        raise Busy(
            "Another session that is alive has changed files that would be overwritten",
            [(who, path) for path, who in clashes.items()][:SHOWN],
            [
                "name the files that you want back",
                "add `--force` to overwrite them all the same; `holdfast undo` brings them back",
            ],
        )


def refuse_nameless(checkpoint: str, paths: list[bytes]) -> None:
    """Say which paths name nothing that is known."""
    typed = [os.fsdecode(path) for path in paths if path.startswith(b"cp-")]
    if typed:
        hints = ["`holdfast checkpoints` lists them"]
        raise NotFound(f"There is no checkpoint {one_line(typed[0], 80)}, and no such file", [], hints)
    if paths:
        raise NotFound(
            "This path names nothing, neither in the checkpoint nor in the worktree",
            [("path", os.fsdecode(path)) for path in paths[:SHOWN]],
            [f"`holdfast diff {checkpoint}` names what differs; ignored files are in no checkpoint"],
        )


def refuse_other_worktree(workspace: Workspace, target: Checkpoint) -> None:
    """A checkpoint goes back to where it was made, unless somebody insists."""
    if target.worktree == workspace.worktree:
        return
    go_there = f"`cd {shlex.quote(target.directory)} && holdfast restore {target.id}` restores it there"
    raise Refused(
        "This checkpoint was made in another worktree",
        [("checkpoint", target.id), ("made in", target.directory), ("here", path_text(workspace.root))],
        [*([go_there] if os.path.isdir(target.directory) else []), "add `--force` to bring it here"],
    )


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
