"""Commands that are typed into a client: answered there, without the model."""

from __future__ import annotations

from holdfast.agents.protocol import Reading
from holdfast.core import chat_commands
from holdfast.core.errors import HoldfastError
from holdfast.ingest.catch_up import catch_up
from holdfast.operations.chat_command import command
from holdfast.project.workspace import Workspace


def observe(workspace: Workspace, reading: Reading) -> str | None:
    """The answer to a prompt, or None where it was meant for the model."""
    if reading.prompt is None or chat_commands.parse(reading.prompt) is None:
        return None
    catch_up(workspace)
    with workspace.reading() as journal:
        sessions = journal.sessions_of(reading.conversation or "")
    if sessions and sessions[0].is_open:
        workspace.session = sessions[0].id  # so that "this run" is the one of this conversation
    try:
        return command(workspace, reading.prompt).text
    except HoldfastError as error:
        return str(workspace.hide(chat_commands.said(error)))
