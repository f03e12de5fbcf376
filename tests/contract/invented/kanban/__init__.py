"""Kanban, a system that exists in the tests only: one card of a worktree stands in `board.json`."""

NAME = "kanban"
SIGN = RECORD = "board.json"
MEMBERS = {
    "": "NAME RECORD SIGN",
    "rules": "RULES",
    "reconcile": "reconcile",
    "repair": "damages list_files repair",
    "purge": "own_files purge",
    "follow": "follow",
    "chat_commands": "CHAT_COMMANDS find_chat_run",
    "screens": "banner find_word",
}
