"""Preconditions of a restore: no conflict with another live session, only known paths, the same worktree.

There are four kinds of evidence that a session has changed a file since its conversation began: events of its run name
the file; the file's mtime lies within a command that it ran; a checkpoint of its turn counts the file as changed, and
nothing shows that we changed it; or the mtime lies between the start of that session and of ours. An edit without any
of these traces is indistinguishable from our own.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import Busy, NotFound, Refused
from holdfast.core.model import Checkpoint, Run, Session
from holdfast.core.text import one_line, path_text
from holdfast.journal.journal import Journal
from holdfast.project.sessions import is_own
from holdfast.project.workspace import Workspace
from holdfast.system import process
from holdfast.worktree.restore.plan import Plan

SHOWN = 20
LAG = timedelta(milliseconds=20)  # by which mtimes may lag behind the clock
EVENTS = 5_000  # of a run, the newest, that are searched for its commands
HARMLESS = frozenset({  # tools that write no file, or report what they write
    "Agent", "Glob", "Grep", "LS", "Read", "Task", "TodoWrite", "WebFetch", "WebSearch",
})  # fmt: skip


def find_clashes(plan: Plan, others: Conflicts | None) -> dict[str, str]:
    """Return the files that another live session has changed, with that session."""
    clash = ((path, who) for path in plan.paths if (who := others.whose(path))) if others else ()
    return {path_text(os.fsdecode(path)): who for path, who in clash}


def describe_clashes(clashes: dict[str, str]) -> list[str]:
    """Describe conflicts in a dry run, by session."""
    named: dict[str, list[str]] = {}
    for path, who in list(clashes.items())[:SHOWN]:
        named.setdefault(who, []).append(one_line(path, 200))
    told = "is alive and has changed"
    return [f"{who} {told} {', '.join(paths)}: without `--force` this is refused" for who, paths in named.items()]


def refuse_others(plan: Plan, others: Conflicts | None) -> None:
    if clashes := find_clashes(plan, others):
        raise Busy(
            "A live session has changed files that would be overwritten",
            [(who, path) for path, who in clashes.items()][:SHOWN],
            ["name the files to restore", "add `--force` to overwrite them; `holdfast undo` brings them back"],
        )


def refuse_unknown(checkpoint: str, paths: list[bytes]) -> None:
    """Refuse paths that are neither in the checkpoint nor in the worktree."""
    typed = [os.fsdecode(path) for path in paths if path.startswith(b"cp-")]
    if typed:
        hints = ["`holdfast checkpoints` lists them"]
        raise NotFound(f"There is no checkpoint {one_line(typed[0], 80)}, and no such file", [], hints)
    if paths:
        raise NotFound(
            "This path is neither in the checkpoint nor in the worktree",
            [("path", os.fsdecode(path)) for path in paths[:SHOWN]],
            [f"`holdfast diff {checkpoint}` lists what differs; ignored files are in no checkpoint"],
        )


def refuse_other_worktree(workspace: Workspace, target: Checkpoint) -> None:
    """Refuse a checkpoint of another worktree, unless with `--force`."""
    if target.worktree == workspace.worktree:
        return
    go_there = f"`cd {shlex.quote(target.directory)} && holdfast restore {target.id}` restores it there"
    facts = [("checkpoint", target.id), ("made in", target.directory), ("here", path_text(workspace.root))]
    hints = [*([go_there] if os.path.isdir(target.directory) else []), "add `--force` to bring it here"]
    raise Refused("This checkpoint was made in another worktree", facts, hints)


class Ran(Struct):
    """The time span of a command of a session; without an end it is still running."""

    session: str
    begun: datetime
    ended: datetime | None = None

    def covers(self, time: datetime) -> bool:
        return self.begun - LAG < time and (self.ended is None or time < self.ended + LAG)


class Conflicts(Struct):
    """Evidence of the changes of other live sessions in this worktree."""

    root: Path
    after: datetime
    opened: datetime | None = None  # when our own session began
    named: dict[str, str] = {}  # path -> session whose run's events name it
    kept: dict[str, str] = {}  # path -> session whose checkpoints count it as changed
    present: list[tuple[datetime, str]] = []  # when others began
    ran: list[Ran] = []  # commands of others
    own: list[Ran] = []  # our commands

    def whose(self, path: bytes) -> str | None:
        """Return the other session that changed a path, according to the evidence."""
        text = path_text(os.fsdecode(path))
        if text in self.named:
            return self.named[text]
        changed = self._changed(path)
        if changed is not None and changed > self.after - LAG:
            if by_command := next((ran.session for ran in self.ran if ran.covers(changed)), None):
                return by_command
            if any(ran.covers(changed) for ran in self.own):
                return None
        if kept := self.kept.get(text):
            return kept
        if self.opened is None or changed is None or not self.after - LAG < changed < self.opened - LAG:
            return None
        return next((id for opened, id in self.present if opened - LAG < changed), None)

    def _changed(self, path: bytes) -> datetime | None:
        with contextlib.suppress(OSError):
            if self.present:
                return datetime.fromtimestamp(os.lstat(os.path.join(os.fsencode(self.root), path)).st_mtime, UTC)
        return None


def find_conflicts(workspace: Workspace, journal: Journal, target: Checkpoint) -> Conflicts:
    """Collect the evidence of changes of other live sessions since a checkpoint."""
    own = journal.find_session(workspace.session or "")
    found = Conflicts(workspace.root, target.time, own.opened if own else None, {}, {}, [], [], [])
    ours = journal.find_run(own.run) if own else None
    mine = set(_named(workspace, ours, target.time)) if ours else set()
    if own and ours:
        found.own += _commands(journal, ours, own, _conversation(journal, own), target.time)
    for session, run in _others(workspace, journal):
        known = _conversation(journal, session)
        since = max(target.time, min(other.opened for other in known))
        found.present.append((session.opened, session.id))
        found.named |= dict.fromkeys(_named(workspace, run, since), session.id)
        found.ran += _commands(journal, run, session, known, since)
        kept = (path for path in _kept(journal, run, known, target, since) if path not in mine)
        found.kept |= dict.fromkeys(kept, session.id)
    return found


def _conversation(journal: Journal, session: Session) -> list[Session]:
    """Return a session and the earlier ones of its conversation."""
    return [session, *(journal.sessions_of(session.agent_session) if session.agent_session else [])]


def _others(workspace: Workspace, journal: Journal) -> Iterator[tuple[Session, Run]]:
    listed = journal.list_sessions(only_open=True, with_process=True)
    for session in listed:
        run = journal.find_run(session.run)
        if run is None or run.worktree != workspace.worktree or is_own(workspace, session):
            continue
        if session.process and process.judge(session.process).alive is not False:
            yield session, run


def _named(workspace: Workspace, run: Run, since: datetime) -> Iterator[str]:
    """Return the files that later events of the run name, relative to the root."""
    for file, time in run.files.items():
        if time > since:
            yield os.path.relpath(os.path.join(workspace.root, file), workspace.root)


def _kept(journal: Journal, run: Run, known: Collection[Session], target: Checkpoint, since: datetime) -> Iterator[str]:
    """Return the changed files of the run's checkpoints: those of these sessions' turns, and those made on request.

    A checkpoint before a restore contains the changes of all sessions, so it is no evidence.
    """
    names = {None, *(session.id for session in known)}
    for made in journal.list_checkpoints(run=run.id):
        is_later = made.worktree == target.worktree and made.number > target.number and made.time > since
        if is_later and made.session in names and not made.reason.is_way_back:
            yield from made.changed


def _commands(journal: Journal, run: Run, session: Session, known: Collection[Session], since: datetime) -> list[Ran]:
    """Return the later commands of a conversation, if its client reports their beginning and end."""
    names = {other.id for other in known}
    ran: dict[str, Ran] = {}
    for event in journal.events(run.id, newest=EVENTS):
        if event.session not in names:
            continue
        if event.kind == "turn.ended":
            ended = [command for command in ran.values() if command.ended is None]
        elif event.kind == "action.taken":
            ended = [ran[key]] if (key := str(event.body.get("key"))) in ran and ran[key].ended is None else []
        else:
            ended = []
            if event.kind == "action.begun" and not event.body.get("files") and event.body.get("tool") not in HARMLESS:
                ran.setdefault(str(event.body.get("key")), Ran(session.id, event.time))
        for command in ended:
            command.ended = event.time
    return [command for command in ran.values() if command.ended is None or command.ended > since]
