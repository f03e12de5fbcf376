"""Whose work a way back would overwrite: what another living session of this worktree has changed since a checkpoint.

Three things are evidence, from when its conversation began: events of its run name the file; a checkpoint of its run
counts the file as changed, and our own events do not name it; or the file's date lies between that session's beginning
and ours. An edit that leaves none of these traces cannot be told from our own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from holdfast import process
from holdfast.attending import is_own
from holdfast.journal import Journal
from holdfast.model import Checkpoint, Run, Session
from holdfast.text import path_text
from holdfast.workspace import Workspace

LAG = timedelta(milliseconds=20)  # by which the dates of files may be behind the clock


class Bystanders(Struct):
    root: Path
    after: datetime
    opened: datetime | None = None  # when our own session began
    named: dict[str, str] = {}  # path -> session
    present: list[tuple[datetime, str]] = []  # when others began

    def whose(self, path: bytes) -> str | None:
        """The session whose change stands at a path, as far as anything proves it."""
        return self.named.get(path_text(os.fsdecode(path))) or self._by_date(path)

    def _by_date(self, path: bytes) -> str | None:
        if self.opened is None or not self.present:
            return None
        try:
            changed = datetime.fromtimestamp(os.lstat(os.path.join(os.fsencode(self.root), path)).st_mtime, UTC)
        except OSError:
            return None
        if not self.after - LAG < changed < self.opened - LAG:
            return None
        return next((id for opened, id in self.present if opened - LAG < changed), None)


def find_bystanders(workspace: Workspace, journal: Journal, target: Checkpoint) -> Bystanders:
    """Who else is alive in this worktree, and what they have changed since a checkpoint."""
    own = journal.find_session(workspace.session or "")
    found = Bystanders(workspace.root, target.time, own.opened if own else None, {}, [])
    ours = journal.find_run(own.run) if own else None
    mine = set(_named(workspace, ours, target.time)) if ours else set()
    for session, run in _others(workspace, journal):
        found.present.append((session.opened, session.id))
        since = max(target.time, _begun(journal, session))
        kept = (path for path in _kept(journal, run, target, since) if path not in mine)
        found.named |= dict.fromkeys((*_named(workspace, run, since), *kept), session.id)
    return found


def _begun(journal: Journal, session: Session) -> datetime:
    """When a session began; one of a conversation that was resumed, when that did."""
    earlier = journal.sessions_of(session.agent_session) if session.agent_session else []
    return min(found.opened for found in (session, *earlier))


def _others(workspace: Workspace, journal: Journal) -> Iterator[tuple[Session, Run]]:
    """Sessions of this worktree that live and are not the caller's own."""
    listed = journal.list_sessions(only_open=True, with_process=True)
    for session in listed:
        run = journal.find_run(session.run)
        if run is None or run.worktree != workspace.worktree or is_own(workspace, session):
            continue
        if session.process and process.judge(session.process).alive is not False:
            yield session, run


def _named(workspace: Workspace, run: Run, since: datetime) -> Iterator[str]:
    """Files that the run's events name since then, from the worktree's root."""
    for file, time in run.files.items():
        if time > since:
            yield os.path.relpath(os.path.join(workspace.root, file), workspace.root)


def _kept(journal: Journal, run: Run, target: Checkpoint, since: datetime) -> Iterator[str]:
    """Files that checkpoints of the run count as changed. Those that a way back makes hold everybody's changes."""
    for made in journal.list_checkpoints(run=run.id):
        is_later = made.worktree == target.worktree and made.number > target.number and made.time > since
        if is_later and not made.kind.startswith("before-"):
            yield from made.changed
