"""Kanban, a system that exists in the tests only: one card of a worktree stands in `board.json`."""

from __future__ import annotations

from holdfast.core.lifecycle import Move, Rules
from holdfast.core.model import Status

NAME = "kanban"
BOARD = SIGN = RECORD = "board.json"
RULES = Rules(
    whose="A card",
    barred={(Status.CREATED, Move.COMPLETE): "pull it first: `holdfast resume`"},
    files=(BOARD,),
)
MEMBERS = {
    "": "NAME RECORD RULES SIGN",
    "reconcile": "reconcile",
    "repair": "damages list_files repair",
    "purge": "own_files purge",
    "follow": "follow",
    "chat_commands": "CHAT_COMMANDS find_chat_run",
    "screens": "banner find_word",
}
