"""FABER: state files, session records, artifacts."""

NAME = "faber"
# The members of the layout, by the module that defines them; each module is loaded when one of its members is used.
MEMBERS = {
    "": "NAME",
    "rules": "IS_STARTED RULES",
    "presence": "has_sessions is_present list_files",
    "reconcile": "ingest journal_id",
    "purge": "foreign_files list_old_copies",
    "workflows": "executable_files find_executable",
    "health": "damages find_notice health",
    "repair": "repair",
    "find_run": "find_active has_state own_id",
    "follow": "begin_session end_session",
    "sessions": "find_session_run load_session save_session",
    "screens": "load_screen save_screen",
    "client_hooks": "find_client_hooks find_plugin_hint is_client_hook",
}
