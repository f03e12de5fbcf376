"""Background work after a hook call: ingest the inbox, make a checkpoint of the turn's changes, enforce the quota.

At most one process runs per worktree. A second one leaves a mark that names its call and exits; the first one then
runs again. By the call's event the checkpoint is attributed to the run and session whose turn ended or began.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from holdfast.core import ids
from holdfast.core.errors import Busy
from holdfast.core.model import Reason
from holdfast.ingest.catch_up import catch_up, ingest_inbox
from holdfast.journal.journal import is_ledger
from holdfast.journal.store import EventRow
from holdfast.maintenance.prune import enforce_quota
from holdfast.project.checkpoints.create import Turn, keep_or_note
from holdfast.project.inbox import is_call_name
from holdfast.project.workspace import Workspace
from holdfast.system import files

MARKS = "turns"  # directory with a mark for each call that waits for its checkpoint
UNNAMED = "-"  # mark of work without a call
PROMPTED = ("prompt.given", "command.typed", "subagent.told")  # events of a prompt
ACTIONS = ("action.begun", "action.taken")


def run_pending(workspace: Workspace, call: str = "") -> int:
    """Run the pending work. Returns the number of rounds."""
    if not workspace.exists or workspace.is_off:
        return 0
    directory = workspace.here / "worktrees" / ids.file_name(workspace.worktree)
    marks = directory / MARKS
    for made in (directory.parent, directory, marks):
        files.make_private_directory(made)
    (marks / (call if is_call_name(call) else UNNAMED)).touch()
    rounds = 0
    try:
        while os.listdir(marks):
            with files.lock(directory / "later", 0.0):  # safeguard: lock-background
                while waiting := sorted(os.listdir(marks)):
                    for name in waiting:
                        (marks / name).unlink(missing_ok=True)
                    catch_up(workspace)
                    keep_or_note(workspace, Reason.TURN, _find_turn(workspace, waiting))
                    rounds += 1
                enforce_quota(workspace)
    except Busy:  # the running process has seen the mark, or will
        pass
    return rounds


def _find_turn(workspace: Workspace, calls: Sequence[str]) -> Turn | None:
    """Return the first turn that one of these calls ended, or else began; None if no run is known."""
    with workspace.reading() as journal:
        found = [
            journal.view.find_event(bytes.fromhex(ids.event_of_call(call))) for call in calls if is_call_name(call)
        ]
    rows = [row for row in found if row is not None and not is_ledger(row.run)]
    row = min(rows, key=lambda row: row.kind in PROMPTED, default=None)
    if row is None or row.kind not in PROMPTED:
        return Turn(row.run, row.session) if row else None
    return Turn(row.run, row.session, lambda: _has_acted(workspace, row))


def _has_acted(workspace: Workspace, prompt: EventRow) -> bool:
    """Check whether the prompt's session has begun an action since: a quick one can begin before the scan has ended.

    A call is recorded before its action changes a file, so this ingest covers every file that was scanned.
    """
    ingest_inbox(workspace)
    with workspace.reading() as journal:
        later = journal.view.events(prompt.run, after=prompt.seq)
        return any(row.kind in ACTIONS and row.session == prompt.session for row in later)
