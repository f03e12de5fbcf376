"""Commands that are typed into a client: answered there, without the model.

What a command changes for the conversation, its model is told with the next prompt: see `due_brief.py`.
"""

from __future__ import annotations

import contextlib

from holdfast.agents.protocol import Reading
from holdfast.core import chat_commands
from holdfast.core.errors import HoldfastError
from holdfast.core.model import Run
from holdfast.ingest.catch_up import catch_up
from holdfast.operations.chat_command import command
from holdfast.project.runs.select import current_run
from holdfast.project.workspace import Workspace
from holdfast.surfaces.hooks import due_brief

CHANGING = frozenset({"run.resumed", "run.recovered", "run.returned"})  # events after which a run stands elsewhere


def observe(workspace: Workspace, reading: Reading) -> str | None:
    """The answer to a prompt, or None where it was meant for the model."""
    order = chat_commands.parse(reading.prompt) if reading.prompt is not None else None
    if reading.prompt is None or order is None:
        return None
    conversation = reading.conversation or ""
    catch_up(workspace)
    with workspace.reading() as journal:
        sessions = journal.sessions_of(conversation)
    if sessions and sessions[0].is_open:
        workspace.session = sessions[0].id  # so that "this run" is the one of this conversation
    before = _run_of(workspace, conversation)
    try:
        said = command(workspace, reading.prompt).text
    except HoldfastError as error:
        said = str(workspace.hide(chat_commands.said(error)))
    with contextlib.suppress(HoldfastError):  # the user is answered also where the mark cannot be made
        if conversation and _is_changed(workspace, before, _run_of(workspace, conversation)):
            due_brief.mark(workspace, conversation, chat_commands.written(order))
    return said


def _run_of(workspace: Workspace, conversation: str) -> Run | None:
    """The run that the conversation works on; before its first prompt, the one that it would join."""
    with workspace.reading() as journal:
        session = next(iter(journal.sessions_of(conversation)), None) or journal.find_session(workspace.session or "")
        return journal.find_run(session.run) if session else current_run(journal, workspace.worktree)


def _is_changed(workspace: Workspace, before: Run | None, after: Run | None) -> bool:
    """Whether the conversation is on another run now, or its run was gone on with or turned back."""
    if after is None or before is None or after.id != before.id:
        return after is not None
    with workspace.reading() as journal:
        return any(event.kind in CHANGING for event in journal.events(after.id, after=before.seq))
