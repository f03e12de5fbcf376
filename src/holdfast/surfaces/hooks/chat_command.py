"""Commands that somebody types into a client: answered there, without the model."""

from __future__ import annotations

from holdfast.core import chat_commands
from holdfast.core.errors import HoldfastError
from holdfast.ingest.catch_up import catch_up
from holdfast.operations.chat_command import command
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace


def observe(workspace: Workspace, call: Call) -> str | None:
    """The answer to what was typed, or None where it was meant for the model."""
    payload = call.payload if isinstance(call.payload, dict) else {}
    text = payload.get("prompt")
    if not isinstance(text, str) or chat_commands.parse(text) is None:
        return None
    catch_up(workspace)
    with workspace.reading() as journal:
        sessions = journal.sessions_of(str(payload.get("session_id") or ""))
    if sessions and sessions[0].is_open:
        workspace.session = sessions[0].id  # so that "this run" is the one of this conversation
    try:
        return command(workspace, text).text
    except HoldfastError as error:
        return str(workspace.hide(chat_commands.said(error)))
