"""Status of a worktree: its run and sessions, other open runs, and failures in the background."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from holdfast.agents.protocol import setup_of
from holdfast.core.errors import Ambiguous, NotFound
from holdfast.core.model import Checkpoint, Restore, Run, Session
from holdfast.core.text import path_text
from holdfast.ingest.catch_up import warn_if_silent
from holdfast.ingest.executable_files import find_waiting
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts.registry import find_layout, present
from holdfast.maintenance.repair.quarantine import quarantine_notice
from holdfast.operations.parameters import RunName
from holdfast.operations.verb import Group, verb
from holdfast.project import inbox
from holdfast.project.quota import cap_of, measure_usage, warning_of
from holdfast.project.runs import select, tombstones
from holdfast.project.sessions import Leftover, find_leftovers, is_silent, last_heard
from holdfast.project.workspace import Workspace, rescan_notice
from holdfast.system import process
from holdfast.system.clock import shown


class Presence(Struct):
    """An open session, and the evidence about its process."""

    session: Session
    alive: bool | None
    evidence: str


class Status(Struct):
    directory: str
    store: str | None
    off: bool
    run: Run | None = None
    last_session: Session | None = None
    present: list[Presence] = []
    running: list[Leftover] = []  # processes that dead sessions left running
    silent_since: datetime | None = None  # of an active Go Team run that may be interrupted
    others: list[Run] = []
    troubles: list[str] = []
    set_aside: list[str] = []
    unread: list[str] = []  # calls in the inbox that cannot be read at present
    warnings: list[str] = []
    unfinished: Restore | None = None
    checkpoint: Checkpoint | None = None  # the worktree's last one
    untrusted: list[str] = []  # files whose commands wait for `holdfast trust`


@verb(group=Group.SEE, about="the run, its sessions and what is next", common=True, previews=True)
def status(workspace: Workspace, *, run: RunName = None) -> Status:
    """Show the run, its sessions, what is next, and failures in the background."""
    if told := workspace.find_earlier_hint():
        workspace.warn(told)
    if not workspace.exists:
        return Status(path_text(workspace.root), None, workspace.is_off, warnings=workspace.warnings)
    place = None if workspace.is_preview else path_text(workspace.place)
    result = Status(path_text(workspace.root), place, workspace.is_off)
    with workspace.reading() as journal:
        _add_run(workspace, journal, result, run)
        ledger = journal.ledger_of(workspace.worktree)
        result.checkpoint = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
    result.silent_since = find_layout(result.run.layout).silent_since(workspace, result.run) if result.run else None
    result.unfinished = ledger.unfinished if ledger else None
    if told := tombstones.unfinished_purge(workspace.here):
        workspace.warn(told)
    result.troubles = inbox.troubles(workspace.here)
    result.set_aside, result.unread = inbox.aside(workspace.inbox), inbox.unread(workspace.inbox)
    if warning := warning_of(measure_usage(workspace), cap_of(workspace)):
        workspace.warn(warning)
        if told := quarantine_notice(workspace):
            workspace.warn(told)
    if not workspace.is_preview and (told := rescan_notice(workspace)):
        workspace.warn(told)
    warn_if_silent(workspace)
    for layout in present(workspace) if not workspace.is_preview else ():
        if notice := layout.find_notice(setup_of(workspace)):
            workspace.warn(notice)
    result.warnings = workspace.warnings
    result.untrusted = find_waiting(workspace)
    return result


def _add_run(workspace: Workspace, journal: Journal, result: Status, name: str | None) -> None:
    try:
        result.run = select.get_run(workspace, journal, name)
    except (Ambiguous, NotFound):
        if name is not None or workspace.environ.get("HOLDFAST_RUN"):
            raise
    ours = journal.find_session(workspace.session or "")
    if ours and ours.fenced:
        workspace.warnings.append(f"this session, {ours.id}, is fenced off and cannot write: {ours.reason}")
    here, _ = journal.list_runs(RunQuery(worktree=workspace.worktree, statuses=select.OPEN_STATUSES, limit=10))
    result.others = [found for found in here if result.run is None or found.id != result.run.id]
    if result.run is not None:
        result.last_session = journal.find_session(result.run.last_session or "")
        result.present = [
            _presence(workspace, found) for found in journal.list_sessions(result.run.id, only_open=True, limit=20)
        ]
        result.running = find_leftovers(workspace, journal, result.run)


def _presence(workspace: Workspace, session: Session) -> Presence:
    if session.process is None:
        return Presence(session, None, "no process is known")
    judgement = process.judge(session.process)
    silence = f", silent since {shown(last_heard(workspace, session))}" if is_silent(workspace, session) else ""
    return Presence(session, judgement.alive, f"{judgement.evidence}{silence}")
