"""Commands that somebody types into a client: answered there, without the model."""

from __future__ import annotations

from holdfast import observer
from holdfast.catchup import catch_up
from holdfast.errors import HoldfastError
from holdfast.intake import Call
from holdfast.operations.command import command
from holdfast.workspace import Workspace


def observe(workspace: Workspace, call: Call) -> str | None:
    """The answer to what was typed, or None where it was meant for the model."""
    payload = call.payload if isinstance(call.payload, dict) else {}
    text = payload.get("prompt")
    if not isinstance(text, str) or observer.parse(text) is None:
        return None
    catch_up(workspace)
    with workspace.reading() as journal:
        sessions = journal.sessions_of(str(payload.get("session_id") or ""))
    if sessions and sessions[0].is_open:
        workspace.session = sessions[0].id  # so that "this run" is the one of this conversation
    try:
        return command(workspace, text).text
    except HoldfastError as error:
        return str(workspace.hide(observer.said(error)))
