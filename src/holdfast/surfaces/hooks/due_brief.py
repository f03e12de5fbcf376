"""Marks for conversations whose model is to be told the brief with its next prompt, because a typed command changed
what the conversation works on. The model sees nothing of such a command.

The hook that records a prompt looks for the mark, so its name is made by `record.mark_name`, which needs no module.
"""

from __future__ import annotations

import os
from pathlib import Path

from holdfast.core.errors import HoldfastError
from holdfast.core.text import one_line
from holdfast.project.workspace import Workspace
from holdfast.surfaces.hooks.record import DUE, mark_name
from holdfast.system import files

LONGEST = 200  # characters of a command that are told
MOST = 100  # marks; a conversation that never goes on leaves its own


def mark(workspace: Workspace, conversation: str, command: str) -> None:
    """The next prompt of the conversation is to come with the brief, and with the command that was typed."""
    directory = workspace.here / DUE
    text = one_line(workspace.hide(command), LONGEST)
    with files.os_errors(directory):
        files.make_private_directory(directory)
        files.put(directory / _name(conversation), text.encode("utf-8", "replace"), synced=False)
        _clear_oldest(directory)


def find(workspace: Workspace, conversation: str) -> str | None:
    """The command because of which a brief is due; None where none is."""
    try:
        found = files.read(workspace.here / DUE / _name(conversation), 8 * LONGEST)
    except HoldfastError:
        return None
    return None if found is None else found.decode("utf-8", "replace")


def clear(workspace: Workspace, conversation: str) -> None:
    if (workspace.here / DUE).is_dir():
        files.remove(workspace.here / DUE / _name(conversation))


def _name(conversation: str) -> str:
    return mark_name(conversation.encode("utf-8", "surrogatepass"))


def _clear_oldest(directory: Path) -> None:
    with os.scandir(directory) as entries:
        oldest = sorted(entries, key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns)[:-MOST]
    for entry in oldest:
        files.remove(Path(entry.path))
