"""The orchestrator: its session file and history."""

NAME = "orchestrator"
SIGN = ".claude/orchestrator-session.json"
RECORD = "session.json"
# The members of the layout, by the module that defines them; each module is loaded when one of its members is used.
MEMBERS = {
    "": "NAME RECORD SIGN",
    "rules": "RULES",
    "files": "has_archive list_files",
    "schema": "MODES",
    "runs": "find_current is_meant make_id prepare_start",
    "follow": "follow",
    "reconcile": "ingest_archive reconcile",
    "purge": "own_files purge",
    "repair": "damages find_obstacle recover repair",
    "screens": "banner banner_rows find_word",
}
