"""Saving a FABER run's session: its record is closed with what it did, once, whoever asks and however often."""

from __future__ import annotations

from holdfast.core.errors import WorkflowError
from holdfast.core.model import Draft
from holdfast.layouts.faber.files import ATTEMPTS, Client, make_opening, put_state, read_again, turned_back
from holdfast.layouts.faber.find_run import Target, find_for_save, lost_records
from holdfast.layouts.faber.screens import SessionSaved
from holdfast.layouts.faber.session_records import Book, Left, Opening
from holdfast.layouts.json_file import Changed
from holdfast.project.workspace import Workspace

IN_PROGRESS = "in_progress"


def save_session(
    workspace: Workspace, client: Client, *, run: str | None = None, reason: str = "manual", raw: str | None = None
) -> SessionSaved:
    """Close the session of a FABER run, if one is open; one of another host or worktree only as interrupted."""
    target = find_for_save(workspace, run, client.id)
    if target is None:
        return SessionSaved(None, changed=False, why="no workflow", reason=reason)
    warnings = list(target.warnings)
    for attempt in range(ATTEMPTS):
        opening = make_opening(workspace, target, "save", client)
        book = Book(target.state)
        left = book.leave(opening, reason, raw)
        if left.reason is None:
            break
        _refuse_turned_back(workspace, target)
        try:
            done = Draft("context.saved", {"record": left.id, "reason": left.reason, "raw": raw})
            warnings += put_state(workspace, target, book, opening, client, done)
            break
        except Changed:
            if attempt == ATTEMPTS - 1:
                raise
            target = read_again(workspace, target, warnings)
    return _result(target, left, reason, opening, warnings)


def _refuse_turned_back(workspace: Workspace, target: Target) -> None:
    if lost := lost_records(workspace, target):
        message, _, ways = turned_back(workspace, target, lost).partition("\n")
        raise WorkflowError(message, [("Run ID", target.run)], ways.split("; "))


def _result(target: Target, left: Left, reason: str, opening: Opening, warnings: list[str]) -> SessionSaved:
    return SessionSaved(
        run=target.run,
        changed=left.reason is not None,
        why=left.why,
        session=left.id,
        reason=left.reason or reason,
        origin=left.origin,
        seconds=left.seconds,
        ended=left.ended_text,
        phases=left.phases,
        in_progress=[name for name, status in target.told.phases if status == IN_PROGRESS] if not left.why else [],
        artifacts=left.artifacts,
        path=str(target.face.path),
        warnings=warnings,
    )
