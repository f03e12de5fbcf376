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

from holdfast.core import ids
from holdfast.core.errors import Damaged, NotFound
from holdfast.core.fold import run as fold
from holdfast.core.fold.run import VISITING
from holdfast.core.model import Checkpoint, Draft, Reason, Restore, Run
from holdfast.core.text import escape_path, path_text, unescape_path
from holdfast.journal.journal import Journal
from holdfast.project.checkpoints.conflicts import (
    SHOWN,
    find_bystanders,
    find_clashes,
    refuse_nameless,
    refuse_other_worktree,
    refuse_others,
)
from holdfast.project.checkpoints.create import MEGABYTE, beside_of, look, make_checkpoint, shadow_of
from holdfast.project.checkpoints.interrupted import (
    Broken,
    find_unfinished,
    is_changed,
    refuse_unfinished,
    telling_when_interrupted,
)
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.worktree.capture import Shadow
from holdfast.worktree.restore.plan import Plan, State, apply_plan, holds, keep_ignored, left_alone, plan_restore
from holdfast.worktree.restore.writer import Written, list_attempts, remove_displaced
from holdfast.worktree.scan import Scan
from holdfast.worktree.user_index import MOST


class Restored(Struct):
    restore: Restore | None  # null for a dry run, and where there was nothing to do
    to: str
    written: int
    removed: int
    paths: list[str]
    moved_aside: dict[str, str] = {}
    brought_back: list[str] = []
    dry_run: bool = False
    state: bool = False
    name: str | None = None  # of the checkpoint
    acts: dict[str, str] = {}  # `create`, `write`, `mode` or `remove` for each path; a directory ends with a slash
    left: dict[str, str] = {}  # repositories and files that a restore does not bring back, and why
    event: int | None = None  # the event to whose state the run went
    later_events: int = 0  # of the run, after that one; they stay in the journal
    taken_back_by: str | None = None  # `undo` or `redo`; null: neither does
    undone: Restore | None = None  # what `undo` or `redo` took back
    undone_name: str | None = None  # of the checkpoint that it had gone to
    given_up: bool = False  # whether all is as it was before an interrupted one began
    clashes: dict[str, str] = {}  # of a dry run: file -> living session that changed it; refused without `force`


def go_back(
    workspace: Workspace, choose: Callable[[Journal], Restore], *, dry_run: bool = False, force: bool = False
) -> Restored:
    """Go back as `choose` says, which is asked once nobody else can go anywhere."""
    with telling_when_interrupted(workspace), shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            refuse_unfinished(journal, workspace)
            way = Way(workspace, shadow, journal, choose(journal))
            others = None if force else find_bystanders(workspace, journal, way.target)
        if not force:
            refuse_other_worktree(workspace, way.target)
        way.refuse_unknown_paths()
        scan = look(workspace, shadow)
        plan = way.plan(scan)
        if way.is_there_already(plan, scan):
            return way.said(plan, dry_run=dry_run)
        if dry_run:
            return structs.replace(way.said(plan, dry_run=True), clashes=find_clashes(plan, others))
        refuse_others(plan, others)
        way.begin(plan, scan)
        way.carry_out(plan)
        way.end()
        return way.said(plan, done=True)


def finish(workspace: Workspace, *, take_back: bool = False) -> Restored:
    """Finish a restore that was killed, or take it back."""
    with telling_when_interrupted(workspace), shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            unfinished = find_unfinished(journal, workspace)
            if unfinished is None:
                raise NotFound("No restore was left unfinished", [], ["`holdfast checkpoints`"])
            start, goal = (Way(workspace, shadow, journal, wanted) for wanted in (taken_back(unfinished), unfinished))
        way = start if take_back or unfinished.verb == VISITING else goal
        broken = Broken(unfinished, start.then, goal.then)
        scan = look(workspace, shadow)
        if broken.clear_leftovers(workspace, shadow.reader, scan):
            scan = look(workspace, shadow)
        if broken.holds_something_new(workspace, shadow, scan):
            _, scan = make_checkpoint(workspace, shadow, run=way.run, reason=Reason.BEFORE_CONTINUE)
        plan = way.plan(scan)
        way.carry_out(plan)
        way.end(given_up=take_back)
        return way.said(plan, done=True)


@contextlib.contextmanager
def visiting(workspace: Workspace) -> Iterator[Callable[[Checkpoint], None]]:
    """Let the worktree be one checkpoint after another; at the end it is as it was.

    Killed in between, an unfinished restore is told of, and both ways out of it lead to where all began.
    """
    wanted = Restore(ids.make("res"), workspace.clock.now(), before="", target="", verb=VISITING)
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            refuse_unfinished(journal, workspace)
            run = select.current_run(journal, workspace.worktree)
        made, _ = make_checkpoint(workspace, shadow, run=run, reason=Reason.BEFORE_BISECT)
        wanted.before = wanted.target = made.id
        _note(workspace, "restore.began", wanted)
        states = [(made.tree, beside_of(shadow, made))]

    def visit(checkpoint: Checkpoint) -> None:
        with shadow_of(workspace) as shadow:
            with workspace.reading() as journal:
                way = Way(workspace, shadow, journal, structs.replace(wanted, target=checkpoint.id))
                others = find_bystanders(workspace, journal, checkpoint) if len(states) == 1 else None
            scan = look(workspace, shadow)
            if is_changed(states[-1], scan):  # the command has written something, or somebody else has
                _, scan = make_checkpoint(workspace, shadow, run=way.run, reason=Reason.BEFORE_BISECT)
            plan = way.plan(scan)
            refuse_others(plan, others)
            _note(workspace, "restore.began", way.wanted)
            way.carry_out(plan)
            states.append(way.then)

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
        self.is_same_state = wanted.run is None or _is_at(journal, self.run, wanted.seq_after)
        self.then: State = (target.tree, beside_of(shadow, target))
        self.paths = [unescape_path(path) for path in wanted.paths]
        self.undone = _find_undone(workspace, journal, wanted)
        undone = journal.find_checkpoint(self.undone.target) if self.undone else None
        self.undone_name = undone.name if undone else None
        self.left: dict[bytes, str] = {}
        self.put = Written()

    def refuse_unknown_paths(self) -> None:
        unknown = [path for path in self.paths if not holds(self.shadow.reader, self.then, path)]
        if unknown and self.wanted.undoes is None:
            scan = look(self.workspace, self.shadow)
            unknown = [path for path in unknown if not holds(self.shadow.reader, (scan.tree, scan.beside), path)]
            refuse_nameless(self.target.id, unknown)

    def plan(self, scan: Scan) -> Plan:
        if not self.wanted.code:
            return Plan()
        limit = self.workspace.settings.whole("checkpoint.file_limit") * MEGABYTE
        self.left = left_alone(scan.beside, self.then[1], self.shadow.stands, self.paths, limit)
        plan = plan_restore(self.shadow, (scan.tree, scan.beside), self.then, self.paths)
        plan.seen = scan.memory.seen
        if self.wanted.undoes is None:
            spared = keep_ignored(self.shadow, plan, self.target.tree)
            self.left |= dict.fromkeys(spared, "the checkpoint's own rules ignore it")
        return plan

    def is_there_already(self, plan: Plan, scan: Scan) -> bool:
        """Whether nothing has to be done. Taking a restore back is always a step, so that the one before is next."""
        if plan.acts or self.wanted.undoes is not None or not self.is_same_state:
            return False
        staged = self.target.staged
        return not self.wanted.index or staged in (
            None,
            self.shadow.staging.tree(scan.memory, self.shadow.reader),
        )

    def begin(self, plan: Plan, scan: Scan) -> None:
        """Keep what is there, and write down what is going to happen."""
        reason = Reason.before(self.wanted.verb)
        made, _ = make_checkpoint(self.workspace, self.shadow, run=self.run, reason=reason, seen=scan)
        self.wanted.before = made.id
        self.wanted.cleared = [escape_path(path) for path in plan.cleared]
        _note(self.workspace, "restore.began", self.wanted)

    def carry_out(self, plan: Plan) -> None:
        wanted, held = self.wanted, self.workspace.place / "aside"
        if wanted.code:
            back = list_attempts(held / wanted.undoes) if wanted.undoes else ()
            self.put = apply_plan(self.shadow, plan, held / wanted.id, back)
            self._prove(plan)
        if wanted.index:
            self._put_index(held)

    def end(self, *, given_up: bool = False) -> None:
        with self.workspace.writing() as journal:
            _return_state(journal, self.wanted)
            ledger = journal.ledger(self.workspace.worktree)
            journal.append(ledger.id, Draft("restore.ended", {"restore": self.wanted, "given_up": given_up}))
        remove_displaced(self.put.returned.values(), self.workspace.place / "aside")

    def said(self, plan: Plan, *, dry_run: bool = False, done: bool = False) -> Restored:
        wanted, put = self.wanted, self.put
        return Restored(
            restore=wanted if done else None,
            to=wanted.target,
            written=put.written,
            removed=put.removed,
            paths=[_as_text(path) for path in plan.paths],
            moved_aside=put.moved_aside,
            brought_back=put.brought_back,
            dry_run=dry_run,
            state=wanted.run is not None,
            name=self.target.name,
            acts={_as_text(path): act for path, act in plan.acts.items()},
            left={_as_text(path): why for path, why in self.left.items()},
            event=wanted.seq_after if wanted.run else None,
            later_events=self.run.seq - wanted.seq_after if wanted.run and self.run and wanted.seq_after else 0,
            taken_back_by=self._taken_back_by() if done else None,
            undone=self.undone,
            undone_name=self.undone_name,
            given_up=wanted.verb == VISITING or wanted.undoes == wanted.id,
        )

    def _taken_back_by(self) -> str | None:
        if self.wanted.verb == VISITING or self.wanted.undoes == self.wanted.id:
            return None
        return "redo" if self.wanted.verb == "undo" else "undo"

    def _prove(self, done: Plan) -> None:
        """Look again: what was asked for must be what is there."""
        scan = look(self.workspace, self.shadow)
        planned = set(done.paths)
        wrong = [change for change in self.plan(scan).changes if not self._is_excused(change.path, scan)]
        left = [change.path for change in wrong if change.entry is not None or change.path in planned]
        if left:
            raise Damaged(
                "The worktree does not equal the checkpoint",
                [("path", _as_text(path)) for path in left[:SHOWN]],
                ["somebody may be writing: `holdfast restore --continue`", "take it back: `holdfast restore --undo`"],
            )
        if not self.shadow.reader.pending:
            self.shadow.remember(scan)

    def _is_excused(self, path: bytes, scan: Scan) -> bool:
        """Whether nothing can be said of a path: it came back from aside, or is more than one look reads."""
        return self.put.has_returned(path) or path in scan.beside.skipped

    def _put_index(self, held: Path) -> None:
        """Put back what was staged. The index as it is now is kept whole, so that undo brings back all of it."""
        if self.shadow.repository.directory is None:
            return
        earlier = files.read(held / f"{self.wanted.undoes}.index", MOST) if self.wanted.undoes else None
        kept = held / f"{self.wanted.id}.index"
        if not kept.exists() and (now := self.shadow.staging.whole()) is not None:
            files.make_private_directory(held)
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


def _note(workspace: Workspace, kind: str, restore: Restore) -> None:
    with workspace.writing() as journal:
        journal.append(journal.ledger(workspace.worktree).id, Draft(kind, {"restore": restore}))


def _return_state(journal: Journal, wanted: Restore) -> None:
    if wanted.run is None or wanted.seq_after is None:
        return
    if (run := journal.find_run(wanted.run)) is not None:
        if wanted.seq_before is None:
            wanted.seq_before = run.seq
        body = {"to": wanted.seq_after, "checkpoint": wanted.target, "restore": wanted.id, "verb": wanted.verb}
        journal.append(run.id, Draft(fold.RETURNED, body))


def _is_at(journal: Journal, run: Run | None, seq: int | None) -> bool:
    """Whether a run stands at an event, or has gone back to it and done nothing since."""
    if run is None or run.seq == seq:
        return run is not None
    last = next(journal.events(run.id, after=run.seq - 1), None)
    return last is not None and last.kind == fold.RETURNED and last.body.get("to") == seq


def _find_undone(workspace: Workspace, journal: Journal, wanted: Restore) -> Restore | None:
    """The restore that this one takes back."""
    ledger = journal.ledger_of(workspace.worktree)
    ways = [*ledger.undoable, *ledger.redoable] if ledger and wanted.undoes else []
    return next((way for way in ways if way.id == wanted.undoes), None)


def _as_text(path: bytes) -> str:
    return path_text(os.fsdecode(path))


def _run_of(workspace: Workspace, journal: Journal, wanted: Restore) -> Run | None:
    return journal.find_run(wanted.run) if wanted.run else select.current_run(journal, workspace.worktree)
