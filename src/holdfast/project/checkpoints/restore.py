"""Restore of a worktree, or of a run's state, to a checkpoint.

The present state becomes a checkpoint, then the intent is journalled, then only what differs is written, and at the end
a scan must equal the checkpoint. A killed restore is reported by the next command, and can be continued or reverted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct, structs

from holdfast.core import ids
from holdfast.core.errors import Damaged, NotFound
from holdfast.core.fold import run as fold
from holdfast.core.fold.run import VISITING
from holdfast.core.model import Checkpoint, Draft, Reason, Restore, Run
from holdfast.core.text import escape_path, path_text, unescape_path
from holdfast.journal.journal import Journal
from holdfast.project.checkpoints import conflicts, create
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.command import Reader
from holdfast.system.git.repository import BLOB
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import EXECUTABLE
from holdfast.worktree.packs.object_store import differing
from holdfast.worktree.restore.plan import Plan, State, apply_plan, holds, plan_restore
from holdfast.worktree.restore.writer import WorktreeWriter, Written, list_attempts, list_displaced, remove_displaced
from holdfast.worktree.scan import Scan
from holdfast.worktree.user_index import MOST

Held = tuple[int, str, int]


class Restored(Struct):
    restore: Restore | None  # null for a dry run, or if there was nothing to do
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
    left: dict[str, str] = {}  # repositories and files that are not restored, with the reason
    event: int | None = None  # the event to whose state the run was restored
    later_events: int = 0  # of the run, after that one; they stay in the journal
    taken_back_by: str | None = None  # `undo` or `redo`; null: neither
    undone: Restore | None = None  # the restore that `undo` or `redo` reverted
    undone_name: str | None = None  # of its checkpoint
    given_up: bool = False  # an interrupted one was reverted
    clashes: dict[str, str] = {}  # of a dry run: file -> live session that changed it; refused without `force`


def restore_to(
    workspace: Workspace, choose: Callable[[Journal], Restore], *, dry_run: bool = False, force: bool = False
) -> Restored:
    """Restore as `choose` decides, which is called under the lock."""
    with create.telling_when_interrupted(workspace), create.shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            create.refuse_unfinished(journal, workspace)
            restore = RestoreRun(workspace, shadow, journal, choose(journal))
            others = None if force else conflicts.find_conflicts(workspace, journal, restore.target)
        if not force:
            conflicts.refuse_other_worktree(workspace, restore.target)
        restore.refuse_unknown_paths()
        scan = create.look(workspace, shadow)
        plan = restore.plan(scan)
        if restore.is_there_already(plan, scan):
            return restore.said(plan, dry_run=dry_run)
        if dry_run:
            return structs.replace(restore.said(plan, dry_run=True), clashes=conflicts.find_clashes(plan, others))
        conflicts.refuse_others(plan, others)
        restore.begin(plan, scan)
        restore.carry_out(plan)
        restore.end()
        return restore.said(plan, done=True)


def finish(workspace: Workspace, *, take_back: bool = False) -> Restored:
    """Continue a killed restore, or revert it."""
    with create.telling_when_interrupted(workspace), create.shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            unfinished = create.find_unfinished(journal, workspace)
            if unfinished is None:
                raise NotFound("No restore was left unfinished", [], ["`holdfast checkpoints`"])
            start, goal = (
                RestoreRun(workspace, shadow, journal, each) for each in (taken_back(unfinished), unfinished)
            )
        restore = start if take_back or unfinished.verb == VISITING else goal
        broken = InterruptedRestore(unfinished, start.then, goal.then)
        scan = create.look(workspace, shadow)
        if broken.clear_leftovers(workspace, shadow.reader, scan):
            scan = create.look(workspace, shadow)
        if broken.holds_something_new(workspace, shadow, scan):
            _, scan = create.make_checkpoint(workspace, shadow, run=restore.run, reason=Reason.BEFORE_CONTINUE)
        plan = restore.plan(scan)
        restore.carry_out(plan)
        restore.end(given_up=take_back)
        return restore.said(plan, done=True)


@contextlib.contextmanager
def visiting(workspace: Workspace) -> Iterator[Callable[[Checkpoint], None]]:
    """Check out one checkpoint after another, for bisect; at the end the first state is restored.

    If killed, the restore is unfinished, and both `--continue` and `--undo` lead to the first state.
    """
    wanted = Restore(ids.make("res"), workspace.clock.now(), before="", target="", verb=VISITING)
    with create.shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            create.refuse_unfinished(journal, workspace)
            run = select.current_run(journal, workspace.worktree)
        made, _ = create.make_checkpoint(workspace, shadow, run=run, reason=Reason.BEFORE_BISECT)
        wanted.before = wanted.target = made.id
        _note(workspace, "restore.began", wanted)
        states = [(made.tree, create.beside_of(shadow, made))]

    def visit(checkpoint: Checkpoint) -> None:
        with create.shadow_of(workspace) as shadow:
            with workspace.reading() as journal:
                restore = RestoreRun(workspace, shadow, journal, structs.replace(wanted, target=checkpoint.id))
                others = conflicts.find_conflicts(workspace, journal, checkpoint) if len(states) == 1 else None
            scan = create.look(workspace, shadow)
            if is_changed(states[-1], scan):  # the command, or another process, has written something
                _, scan = create.make_checkpoint(workspace, shadow, run=restore.run, reason=Reason.BEFORE_BISECT)
            plan = restore.plan(scan)
            conflicts.refuse_others(plan, others)
            _note(workspace, "restore.began", restore.wanted)
            restore.carry_out(plan)
            states.append(restore.then)

    try:
        yield visit
    finally:
        finish(workspace)


class RestoreRun:
    """One restore, under the worktree's lock."""

    def __init__(self, workspace: Workspace, shadow: Shadow, journal: Journal, wanted: Restore) -> None:
        target = journal.find_checkpoint(wanted.target)
        if target is None:
            raise NotFound(f"Checkpoint {wanted.target} no longer exists", [], ["`holdfast checkpoints`"])
        self.workspace = workspace
        self.shadow = shadow
        self.wanted = wanted
        self.target = target
        current = select.current_run(journal, workspace.worktree)
        self.run = journal.find_run(wanted.run) if wanted.run else current
        self.is_same_state = wanted.run is None or _is_at(journal, self.run, wanted.seq_after)
        self.then: State = (target.tree, create.beside_of(shadow, target))
        self.paths = [unescape_path(path) for path in wanted.paths]
        ledger = journal.ledger_of(workspace.worktree)
        ways = [*ledger.undoable, *ledger.redoable] if ledger and wanted.undoes else []
        self.undone = next((way for way in ways if way.id == wanted.undoes), None)  # None: it undoes none
        undone = journal.find_checkpoint(self.undone.target) if self.undone else None
        self.undone_name = undone.name if undone else None
        self.left: dict[bytes, str] = {}  # of the last plan, which is the proof's where files were written
        self.put = Written()

    def refuse_unknown_paths(self) -> None:
        unknown = [path for path in self.paths if not holds(self.shadow.reader, self.then, path)]
        if unknown and self.wanted.undoes is None:
            scan = create.look(self.workspace, self.shadow)
            unknown = [path for path in unknown if not holds(self.shadow.reader, (scan.tree, scan.beside), path)]
            conflicts.refuse_unknown(self.target.id, unknown)

    def plan(self, scan: Scan) -> Plan:
        if not self.wanted.code:
            return Plan()
        limit = self.workspace.settings.whole("checkpoint.file_limit") * create.MEGABYTE
        now, spares = (scan.tree, scan.beside), self.wanted.undoes is None
        plan = plan_restore(self.shadow, now, self.then, self.paths, limit=limit, spares=spares)
        plan.seen = scan.memory.seen
        self.left = plan.left
        return plan

    def is_there_already(self, plan: Plan, scan: Scan) -> bool:
        """True if nothing has to be done. An undo is always a step, so that the next one undoes the one before."""
        if plan.acts or self.wanted.undoes is not None or not self.is_same_state:
            return False
        staged = self.shadow.staging.tree(scan.memory, self.shadow.reader) if self.wanted.index else None
        return not self.wanted.index or self.target.staged in (None, staged)

    def begin(self, plan: Plan, scan: Scan) -> None:
        """Make a checkpoint of the present state, and journal the intent."""
        reason = Reason.before(self.wanted.verb)
        made, _ = create.make_checkpoint(self.workspace, self.shadow, run=self.run, reason=reason, seen=scan)
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
        wanted = self.wanted
        with self.workspace.writing() as journal:
            if wanted.run and wanted.seq_after is not None and (run := journal.find_run(wanted.run)) is not None:
                if wanted.seq_before is None:
                    wanted.seq_before = run.seq
                body = {"to": wanted.seq_after, "checkpoint": wanted.target, "restore": wanted.id, "verb": wanted.verb}
                journal.append(run.id, Draft(fold.RETURNED, body))
            ledger = journal.ledger(self.workspace.worktree)
            journal.append(ledger.id, Draft("restore.ended", {"restore": wanted, "given_up": given_up}))
        remove_displaced(self.put.returned.values(), self.workspace.place / "aside")

    def said(self, plan: Plan, *, dry_run: bool = False, done: bool = False) -> Restored:
        wanted, put = self.wanted, self.put
        given_up = wanted.verb == VISITING or wanted.undoes == wanted.id
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
            taken_back_by=None if given_up or not done else "redo" if wanted.verb == "undo" else "undo",
            undone=self.undone,
            undone_name=self.undone_name,
            given_up=given_up,
        )

    def _prove(self, done: Plan) -> None:
        """Scan again, and refuse a worktree that does not equal the checkpoint."""
        scan = create.look(self.workspace, self.shadow)
        planned = set(done.paths)
        wrong = [change for change in self.plan(scan).changes if change.entry is not None or change.path in planned]
        # not compared: what was displaced and brought back, or exceeds the limits of a scan
        excused = scan.beside.skipped
        left = [
            change.path for change in wrong if not self.put.has_returned(change.path) and change.path not in excused
        ]
        if left:
            raise Damaged(
                "The worktree does not equal the checkpoint",
                [("path", _as_text(path)) for path in left[: conflicts.SHOWN]],
                ["if another process was writing: `holdfast restore --continue`", "else: `holdfast restore --undo`"],
            )
        if not self.shadow.reader.pending:
            self.shadow.remember(scan)

    def _put_index(self, held: Path) -> None:
        """Restore the staged changes. The present index is kept as a file, so that undo restores all of it."""
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


class InterruptedRestore(NamedTuple):
    """A killed restore, with the states of the worktree between which it was."""

    wanted: Restore
    start: State
    goal: State

    def clear_leftovers(self, workspace: Workspace, reader: Reader, scan: Scan) -> int:
        """Remove partially written files from all directories that the restore may have written to."""
        trees = ((scan.tree, self.start[0]), (self.start[0], self.goal[0]))
        paths = {found.path for now, then in trees for found in differing(reader, now, then)}
        held = workspace.place / "aside"
        for id in filter(None, (self.wanted.id, self.wanted.undoes)):
            paths.update(path for attempt in list_attempts(held / id) for path in list_displaced(attempt))
        return WorktreeWriter(workspace.root, held / self.wanted.id).clear_leftovers(paths)

    def holds_something_new(self, workspace: Workspace, shadow: Shadow, scan: Scan) -> bool:
        """True if the worktree has content that no checkpoint holds: a file, its permissions, an empty directory."""
        reader, now = shadow.reader, (scan.tree, scan.beside)
        beside = shadow.git.form.id_of(BLOB, scan.beside.encode())
        with workspace.reading() as journal:
            kept = journal.list_checkpoints(workspace.worktree)
            if any((made.tree, made.beside) == (scan.tree, beside) for made in kept):
                return False
        ends = (self.start, self.goal)
        other_modes = {path for path, _ in scan.beside.modes.items() ^ self.start[1].modes.items()}
        paths = chain((found.path for found in differing(reader, scan.tree, self.start[0])), other_modes)
        for path in paths:
            held = _held(reader, now, path)
            if held is not None and held not in (_held(reader, end, path) for end in ends):
                return True
        return any(not any(_has_directory(reader, end, path) for end in ends) for path in scan.beside.empty)


def is_changed(state: State, scan: Scan) -> bool:
    """True if files, permissions or empty directories differ from a state; nested repositories do not count."""
    beside = state[1]
    return (state[0], beside.modes, sorted(beside.empty)) != (scan.tree, scan.beside.modes, sorted(scan.beside.empty))


def _held(reader: Reader, state: State, path: bytes) -> Held | None:
    """Return the kind, content and permissions of a path in a state."""
    entry = reader.find(state[0], path)
    if entry is None or entry.is_tree:
        return None
    return entry.mode, entry.id, state[1].mode_of(path, entry.mode == EXECUTABLE)


def _has_directory(reader: Reader, state: State, path: bytes) -> bool:
    """True if a state has a directory, empty or not: a restore creates and empties the directories of its files."""
    entry = reader.find(state[0], path)
    is_tree = entry is not None and entry.is_tree
    return is_tree or any(other == path or other.startswith(path + b"/") for other in state[1].empty)


def reversed_way(done: Restore, word: str, workspace: Workspace) -> Restore:
    """Return the restore that reverts a finished one."""
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
    """Return the restore that reverts an unfinished one."""
    paths = [*unfinished.paths, *unfinished.cleared]
    return structs.replace(unfinished, target=unfinished.before, paths=paths, run=None, undoes=unfinished.id)


def _note(workspace: Workspace, kind: str, restore: Restore) -> None:
    with workspace.writing() as journal:
        journal.append(journal.ledger(workspace.worktree).id, Draft(kind, {"restore": restore}))


def _is_at(journal: Journal, run: Run | None, seq: int | None) -> bool:
    """True if a run is at an event, or was restored to it and has no later event."""
    if run is None or run.seq == seq:
        return run is not None
    last = next(journal.events(run.id, after=run.seq - 1), None)
    return last is not None and last.kind == fold.RETURNED and last.body.get("to") == seq


def _as_text(path: bytes) -> str:
    return path_text(os.fsdecode(path))
