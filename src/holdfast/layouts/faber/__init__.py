"""FABER: state files, session records, artifacts."""

NAME = "faber"
SIGN = ".fractary/"  # with the slash, only a directory is one
HAS_SESSIONS = True
# The members of the layout, by the module that defines them; each module is loaded when one of its members is used.
MEMBERS = {
    "": "HAS_SESSIONS NAME SIGN",
    "rules": "IS_STARTED RULES",
    "reconcile": "ingest journal_id",
    "purge": "foreign_files list_old_copies",
    "schema": "list_files",
    "workflows": "executable_files find_executable",
    "repair": "damages repair",
    "find_run": "find_active has_state own_id",
    "follow": "begin_session end_session",
    "sessions": "find_session_run load_session save_session",
    "screens": "load_screen save_screen",
    "client_hooks": "find_client_hooks find_notice find_plugin_hint health is_client_hook",
}
