"""Going back: the one way by which a worktree, or what a run knows, is returned to a checkpoint.

First what is there now becomes a checkpoint, then the intent is written down, then only what differs is touched, and at
the end the worktree is looked at again and must equal the checkpoint. Killed in between, the next command says so.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct, structs

from holdfast import choosing, files, history, ids
from holdfast.beside import Beside
from holdfast.bystanders import Bystanders, find_bystanders
from holdfast.checkpointing import look, make_checkpoint, shadow_of
from holdfast.errors import Busy, Damaged, NotFound, Refused
from holdfast.git import Reader
from holdfast.journal import Journal
from holdfast.ledger import VISITING
from holdfast.looking import Scan
from holdfast.model import Checkpoint, Draft, Restore, Run
from holdfast.objects import Entry
from holdfast.putting import Put, Putting
from holdfast.restoring import Plan, State, apply_plan, differing, holds, plan_restore
from holdfast.shadow import Shadow
from holdfast.text import escape_path, path_text, unescape_path
from holdfast.workspace import Workspace

SHOWN = 20


class Restored(Struct):
    restore: Restore | None
    to: str
    written: int
    removed: int
    paths: list[str]
    moved_aside: dict[str, str] = {}
    brought_back: list[str] = []
    dry_run: bool = False
    state: bool = False


def go_back(
    workspace: Workspace, choose: Callable[[Journal], Restore], *, dry_run: bool = False, force: bool = False
) -> Restored:
    """Go back as `choose` says, which is asked once nobody else can go anywhere."""
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            refuse_unfinished(journal, workspace)
            way = Way(workspace, shadow, journal, choose(journal))
            others = None if force else find_bystanders(workspace, journal, way.target)
        if not force:
            way.refuse_other_worktree()
        way.refuse_unknown_paths()
        if dry_run:
            return way.said(way.plan(look(workspace, shadow)), Put(), dry_run=True)
        plan = way.begin(others)
        put = way.carry_out(plan)
        way.end()
        return way.said(plan, put)


def finish(workspace: Workspace, *, take_back: bool = False) -> Restored:
    """Finish a restore that was killed, or take it back."""
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            unfinished = find_unfinished(journal, workspace)
            if unfinished is None:
                raise NotFound("No restore was left unfinished", [], ["`holdfast checkpoints`"])
            start, goal = (Way(workspace, shadow, journal, wanted) for wanted in (taken_back(unfinished), unfinished))
        way = start if take_back or unfinished.verb == VISITING else goal
        scan = look(workspace, shadow)
        if _clear_leftovers(start, goal, scan):
            scan = look(workspace, shadow)
        if _holds_something_new(start, goal, scan):
            _, scan = make_checkpoint(workspace, shadow, run=way.run, kind="before-continue")
        plan = way.plan(scan)
        put = way.carry_out(plan)
        way.end(given_up=take_back)
        return way.said(plan, put)


@contextlib.contextmanager
def visiting(workspace: Workspace) -> Iterator[Callable[[Checkpoint], None]]:
    """Let the worktree be one checkpoint after another; at the end it is as it was.

    Killed in between, an unfinished restore is told of, and both ways out of it lead to where all began.
    """
    wanted = Restore(ids.make("res"), workspace.clock.now(), before="", target="", verb=VISITING)
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            refuse_unfinished(journal, workspace)
            run = choosing.current_run(journal, workspace.worktree)
        made, _ = make_checkpoint(workspace, shadow, run=run, kind=f"before-{VISITING}")
        wanted.before = wanted.target = made.id
        _note(workspace, "restore.began", wanted)
    trees = [made.tree]

    def visit(checkpoint: Checkpoint) -> None:
        with shadow_of(workspace) as shadow:
            with workspace.reading() as journal:
                way = Way(workspace, shadow, journal, structs.replace(wanted, target=checkpoint.id))
                others = find_bystanders(workspace, journal, checkpoint) if len(trees) == 1 else None
            scan = look(workspace, shadow)
            if scan.tree != trees[-1]:  # the command has written something, or somebody else has
                _, scan = make_checkpoint(workspace, shadow, run=way.run, kind=f"before-{VISITING}")
            plan = way.plan(scan)
            refuse_others(plan, others)
            _note(workspace, "restore.began", way.wanted)
            way.carry_out(plan)
            trees.append(checkpoint.tree)

    try:
        yield visit
    finally:
        finish(workspace)


class Way:
    """One way back, while the worktree is ours alone."""

    def __init__(self, workspace: Workspace, shadow: Shadow, journal: Journal, wanted: Restore) -> None:
        target = journal.find_checkpoint(wanted.target)
        if target is None:
            raise NotFound(f"Checkpoint {wanted.target} is not there any more", [], ["`holdfast checkpoints`"])
        self.workspace = workspace
        self.shadow = shadow
        self.wanted = wanted
        self.target = target
        self.run = _run_of(workspace, journal, wanted)
        self.then: State = (target.tree, _beside(shadow, target))
        self.paths = [unescape_path(path) for path in wanted.paths]

    def refuse_other_worktree(self) -> None:
        if self.target.worktree != self.workspace.worktree:
            here = path_text(self.workspace.root)
            raise Refused(
                "This checkpoint was made in another worktree",
                [("checkpoint", self.target.id), ("made in", self.target.directory), ("here", here)],
                [f"`cd {self.target.directory}` and restore it there", "add `--force` to bring it here"],
            )

    def refuse_unknown_paths(self) -> None:
        unknown = [path for path in self.paths if not holds(self.shadow.reader, self.then, path)]
        if unknown and self.wanted.undoes is None:
            scan = look(self.workspace, self.shadow)
            unknown = [path for path in unknown if not holds(self.shadow.reader, (scan.tree, scan.beside), path)]
            refuse_nameless(self.target.id, unknown)

    def plan(self, scan: Scan) -> Plan:
        if not self.wanted.code:
            return Plan()
        return plan_restore(self.shadow, (scan.tree, scan.beside), self.then, self.paths)

    def begin(self, others: Bystanders | None) -> Plan:
        """Keep what is there, and write down what is going to happen."""
        kind = f"before-{self.wanted.verb}"
        made, scan = make_checkpoint(self.workspace, self.shadow, run=self.run, kind=kind)
        plan = self.plan(scan)
        refuse_others(plan, others)
        self.wanted.before = made.id
        self.wanted.cleared = [escape_path(path) for path in plan.cleared]
        _note(self.workspace, "restore.began", self.wanted)
        return plan

    def carry_out(self, plan: Plan) -> Put:
        wanted, aside = self.wanted, self.workspace.place / "aside"
        if wanted.code:
            back = aside / wanted.undoes if wanted.undoes else None
            put = apply_plan(self.shadow, plan, aside / wanted.id, back)
            self._prove(plan)
        else:
            put = Put()
        if wanted.index:
            self._put_index(aside)
        return put

    def end(self, *, given_up: bool = False) -> None:
        with self.workspace.writing() as journal:
            _return_state(journal, self.wanted)
            ledger = journal.ledger(self.workspace.worktree)
            journal.append(ledger.id, Draft("restore.ended", {"restore": self.wanted, "given_up": given_up}))

    def said(self, plan: Plan, put: Put, *, dry_run: bool = False) -> Restored:
        paths = [path_text(os.fsdecode(path)) for path in plan.paths]
        return Restored(
            restore=None if dry_run else self.wanted,
            to=self.wanted.target,
            written=put.written,
            removed=put.removed,
            paths=paths,
            moved_aside=put.moved_aside,
            brought_back=put.brought_back,
            dry_run=dry_run,
            state=self.wanted.run is not None,
        )

    def _prove(self, done: Plan) -> None:
        """Look again: what was asked for must be what is there."""
        scan = look(self.workspace, self.shadow)
        planned = set(done.paths)
        left = [change.path for change in self.plan(scan).changes if change.entry is not None or change.path in planned]
        if left:
            raise Damaged(
                "The worktree does not equal the checkpoint",
                [("path", path_text(os.fsdecode(path))) for path in left[:SHOWN]],
                ["somebody may be writing: `holdfast restore --continue`", "take it back: `holdfast restore --undo`"],
            )
        if not self.shadow.reader.pending:
            self.shadow.remember(scan)

    def _put_index(self, aside: Path) -> None:
        """Put back what was staged. The index as it is now is kept whole, so that undo brings back all of it."""
        directory = self.shadow.repository.directory
        if directory is None:
            return
        earlier = files.read(aside / f"{self.wanted.undoes}.index") if self.wanted.undoes else None
        kept = aside / f"{self.wanted.id}.index"
        if not kept.exists() and (now := files.read(directory / "index")) is not None:
            files.make_private_directory(aside)
            files.write(kept, now, files.PRIVATE_FILE)
        if earlier is not None:
            self.shadow.staging.put(earlier)
        elif self.wanted.undoes is None and self.target.staged:
            self.shadow.staging.put_tree(self.target.staged)


def reversed_way(done: Restore, word: str, workspace: Workspace) -> Restore:
    """The way back from where a restore led to."""
    return structs.replace(
        done,
        id=ids.make("res"),
        time=workspace.clock.now(),
        before="",
        target=done.before,
        paths=[*done.paths, *done.cleared],
        cleared=[],
        seq_before=done.seq_after,
        seq_after=done.seq_before,
        verb=word,
        undoes=done.id,
    )


def taken_back(unfinished: Restore) -> Restore:
    """An unfinished restore, led back to where it began."""
    paths = [*unfinished.paths, *unfinished.cleared]
    return structs.replace(unfinished, target=unfinished.before, paths=paths, run=None, undoes=unfinished.id)


def refuse_others(plan: Plan, others: Bystanders | None) -> None:
    clash = [(who, path) for path in plan.paths if (who := others.whose(path))] if others else []
    if clash:
        raise Busy(
            "Another session that is alive has changed files that would be overwritten",
            [(who, path_text(os.fsdecode(path))) for who, path in clash[:SHOWN]],
            [
                "name the files that you want back",
                "add `--force` to overwrite them all the same; `holdfast undo` brings them back",
            ],
        )


def refuse_nameless(checkpoint: str, paths: list[bytes]) -> None:
    """Say which paths name nothing that is known."""
    if paths:
        raise NotFound(
            "This path names nothing, neither in the checkpoint nor in the worktree",
            [("path", os.fsdecode(path)) for path in paths[:SHOWN]],
            [f"`holdfast diff {checkpoint}` names what differs; ignored files are in no checkpoint"],
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


def _clear_leftovers(start: Way, goal: Way, scan: Scan) -> int:
    """Remove what a kill left half written, wherever the restore may have had something to write."""
    reader, workspace = goal.shadow.reader, goal.workspace
    trees = ((scan.tree, start.target.tree), (start.target.tree, goal.target.tree))
    paths = {found.path for now, then in trees for found in differing(reader, now, then, [])}
    return Putting(workspace.root, workspace.place / "aside" / goal.wanted.id).clear_leftovers(paths)


def _holds_something_new(start: Way, goal: Way, scan: Scan) -> bool:
    """Whether somebody wrote after the kill what no checkpoint holds."""
    reader, workspace = goal.shadow.reader, goal.workspace
    with workspace.reading() as journal:
        if any(made.tree == scan.tree for made in journal.list_checkpoints(workspace.worktree)):
            return False
    then = goal.target.tree
    changed = differing(reader, scan.tree, start.target.tree, [])
    return any(found.now is not None and not _is_at(reader, then, found.path, found.now) for found in changed)


def _is_at(reader: Reader, tree: str, path: bytes, entry: Entry) -> bool:
    found = reader.find(tree, path)
    return found is not None and (found.mode, found.id) == (entry.mode, entry.id)


def _note(workspace: Workspace, kind: str, restore: Restore) -> None:
    with workspace.writing() as journal:
        journal.append(journal.ledger(workspace.worktree).id, Draft(kind, {"restore": restore}))


def _return_state(journal: Journal, wanted: Restore) -> None:
    if wanted.run is None or wanted.seq_after is None:
        return
    run = journal.find_run(wanted.run)
    if run is not None:
        if wanted.seq_before is None:
            wanted.seq_before = run.seq
        journal.append(run.id, Draft(history.RETURNED, {"to": wanted.seq_after}))


def _run_of(workspace: Workspace, journal: Journal, wanted: Restore) -> Run | None:
    return journal.find_run(wanted.run) if wanted.run else choosing.current_run(journal, workspace.worktree)


def _beside(shadow: Shadow, target: Checkpoint) -> Beside:
    data = shadow.reader.read(target.beside)
    if data is None:
        raise Damaged("What git does not know of this checkpoint is missing", [("checkpoint", target.id)])
    return Beside.decode(data)
