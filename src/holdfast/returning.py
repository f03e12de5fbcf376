"""Going back: the one way by which a worktree, or what a run knows, is returned to a checkpoint.

First what is there now becomes a checkpoint, then the intent is written down, then only what differs is touched, and at
the end the worktree is looked at again and must equal the checkpoint. Killed in between, the next command says so.
"""

from __future__ import annotations

import os

from msgspec import Struct

from holdfast import choosing, history, process
from holdfast.beside import Beside
from holdfast.checkpointing import look, make_checkpoint, shadow_of
from holdfast.errors import Busy, Damaged, NotFound, Refused
from holdfast.journal import Journal
from holdfast.model import Checkpoint, Draft, Restore, Run
from holdfast.restoring import Plan, Put, apply_plan, plan_restore
from holdfast.shadow import Shadow
from holdfast.text import path_text
from holdfast.workspace import Workspace

SHOWN = 20


class Restored(Struct):
    restore: Restore | None
    to: str
    written: int
    removed: int
    paths: list[str]
    moved_aside: list[str]
    dry_run: bool = False
    state: bool = False


def go_back(
    workspace: Workspace,
    wanted: Restore,
    *,
    dry_run: bool = False,
    force: bool = False,
    index: bool = False,
    begun: bool = False,
    given_up: bool = False,
) -> Restored:
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            target = journal.find_checkpoint(wanted.target)
            others = _changed_by_others(workspace, journal, target) if target and not force else {}
        if target is not None and target.worktree != workspace.worktree and not force:
            raise Refused(
                "This checkpoint was made in another worktree",
                [("checkpoint", target.id), ("made in", target.directory), ("here", path_text(workspace.root))],
                [f"`cd {target.directory}` and restore it there", "add `--force` to bring it here"],
            )
        if target is None:
            raise NotFound(f"Checkpoint {wanted.target} is not there any more", [], ["`holdfast checkpoints`"])
        paths = [os.fsencode(path) for path in wanted.paths]
        then = (target.tree, _beside(shadow, target))
        if dry_run:
            scan = look(workspace, shadow)
            plan = plan_restore(shadow, (scan.tree, scan.beside), then, paths)
            return _said(wanted, plan if wanted.code else Plan([], [], []), Put(), dry_run=True)
        if not begun:
            made, scan = make_checkpoint(
                workspace, shadow, run=_run_of(workspace, wanted), kind=f"before-{wanted.verb}"
            )
            wanted.before = made.id
        else:
            scan = look(workspace, shadow)
        plan = plan_restore(shadow, (scan.tree, scan.beside), then, paths) if wanted.code else Plan([], [], [])
        _refuse_others(plan, others)
        if not begun:
            with workspace.writing() as journal:
                ledger = journal.ledger(workspace.worktree)
                journal.append(ledger.id, Draft("restore.began", {"restore": wanted}))
        put = apply_plan(shadow, plan, workspace.place / "aside" / wanted.id)
        if wanted.code:
            _prove(workspace, shadow, then, paths, set(plan.paths))
        if index and target.staged:
            shadow.put_staged(target.staged)
        with workspace.writing() as journal:
            _return_state(journal, wanted)
            ledger = journal.ledger(workspace.worktree)
            journal.append(ledger.id, Draft("restore.ended", {"restore": wanted, "given_up": given_up}))
        return _said(wanted, plan, put)


def _prove(
    workspace: Workspace, shadow: Shadow, then: tuple[str, Beside], paths: list[bytes], planned: set[bytes]
) -> None:
    """Look again: what was asked for must be what is there."""
    scan = look(workspace, shadow)
    left = plan_restore(shadow, (scan.tree, scan.beside), then, paths)
    left.changes = [change for change in left.changes if change.entry is not None or change.path in planned]
    if left.changes:
        raise Damaged(
            "The worktree does not equal the checkpoint",
            [("path", path_text(os.fsdecode(path))) for path in left.paths[:SHOWN]],
            ["somebody may be writing: `holdfast restore --continue`, or take it back: `holdfast restore --undo`"],
        )
    if not shadow.reader.pending:
        shadow.remember(scan.memory)


def _return_state(journal: Journal, wanted: Restore) -> None:
    if wanted.run is None or wanted.seq_after is None:
        return
    run = journal.find_run(wanted.run)
    if run is not None:
        if wanted.seq_before is None:
            wanted.seq_before = run.seq
        journal.append(run.id, Draft(history.RETURNED, {"to": wanted.seq_after}))


def _run_of(workspace: Workspace, wanted: Restore) -> Run | None:
    with workspace.reading() as journal:
        return journal.find_run(wanted.run) if wanted.run else choosing.current_run(journal, workspace.worktree)


def _beside(shadow: Shadow, target: Checkpoint) -> Beside:
    data = shadow.reader.read(target.beside)
    if data is None:
        raise Damaged("What git does not know of this checkpoint is missing", [("checkpoint", target.id)])
    return Beside.decode(data)


def _changed_by_others(workspace: Workspace, journal: Journal, target: Checkpoint) -> dict[str, str]:
    """Files that another living session of this worktree has touched since the checkpoint: path -> who."""
    found: dict[str, str] = {}
    for session in journal.list_sessions(only_open=True, with_process=True):
        run = journal.find_run(session.run)
        if session.id == workspace.session or run is None or run.worktree != workspace.worktree or not session.process:
            continue
        if session.process.pid in (os.getpid(), os.getppid()) or process.judge(session.process).alive is False:
            continue
        for file, time in run.files.items():
            if time > target.time:
                found[os.path.relpath(os.path.join(workspace.root, file), workspace.root)] = session.id
    return found


def _refuse_others(plan: Plan, others: dict[str, str]) -> None:
    clash = [path for path in (os.fsdecode(path) for path in plan.paths) if path in others]
    if clash:
        raise Busy(
            "Another session that is alive has changed files that would be overwritten",
            [(others[path], path_text(path)) for path in clash[:SHOWN]],
            [
                "name the files that you want back",
                "add `--force` to overwrite them all the same; `undo` brings them back",
            ],
        )


def refuse_unfinished(journal: Journal, workspace: Workspace) -> None:
    if unfinished := find_unfinished(journal, workspace):
        raise Refused(
            "A restore was interrupted, so the worktree may be a mixture",
            [("to", unfinished.target), ("from", unfinished.before)],
            ["`holdfast restore --continue` finishes it", "`holdfast restore --undo` takes it back"],
        )


def find_unfinished(journal: Journal, workspace: Workspace) -> Restore | None:
    ledger = journal.ledger_of(workspace.worktree)
    return ledger.unfinished if ledger else None


def _said(wanted: Restore, plan: Plan, put: Put, *, dry_run: bool = False) -> Restored:
    return Restored(
        None if dry_run else wanted,
        wanted.target,
        put.written,
        put.removed,
        [path_text(os.fsdecode(path)) for path in plan.paths],
        put.moved_aside,
        dry_run,
        wanted.run is not None,
    )
