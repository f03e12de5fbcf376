"""The orchestrator: its session file and history."""

NAME = "orchestrator"
# The members of the layout, by the module that defines them; each module is loaded when one of its members is used.
MEMBERS = {
    "": "NAME",
    "rules": "RULES",
    "presence": "has_archive is_present list_files",
    "schema": "MODES",
    "start": "find_current is_meant make_id prepare_start",
    "follow": "follow",
    "reconcile": "ingest_archive reconcile",
    "purge": "own_files purge",
    "health": "damages find_obstacle",
    "repair": "repair",
    "recover": "recover",
    "screens": "banner banner_rows find_word",
}
