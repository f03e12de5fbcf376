"""What `*session-info` means for a card."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.chat_commands import Order
from holdfast.core.model import Run
from holdfast.layouts.results import ChatCommand, Verbs
from holdfast.project.workspace import Workspace

from .reconcile import find_current
from .screens import find_word


def find_chat_run(workspace: Workspace, order: Order) -> Run | None:
    if order.word not in CHAT_COMMANDS or not workspace.exists:
        return None
    with workspace.reading() as journal:
        return find_current(journal, workspace.worktree)


def info(workspace: Workspace, run: Run, order: Order, verbs: Verbs) -> Iterable[str]:
    yield f"Card {run.id}: {run.goal} ({find_word(workspace, run)})"


CHAT_COMMANDS: dict[str, ChatCommand] = {"session-info": info}
