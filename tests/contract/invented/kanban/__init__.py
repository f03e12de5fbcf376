"""Kanban, a system that exists in the tests only: one card of a worktree stands in `board.json`."""

NAME = "kanban"
MEMBERS = {
    "": "NAME",
    "rules": "RULES",
    "presence": "is_present list_files",
    "reconcile": "reconcile",
    "health": "damages",
    "repair": "repair",
    "purge": "own_files purge",
    "follow": "follow",
    "chat_commands": "CHAT_COMMANDS find_chat_run",
    "screens": "banner find_word",
}
