"""FABER: state files, session records, artifacts."""

from __future__ import annotations

from holdfast.core.lifecycle import Rules

NAME = "faber"
SIGN = ".fractary/"  # with the slash, only a directory is one
HAS_SESSIONS = True
IS_STARTED = False  # `/fractary-faber:workflow-run` starts its runs
RULES = Rules(is_reopened=False)  # their state files alone determine the end of a run
# The members of the layout by the module that defines them, which is loaded when one of them is used.
MEMBERS = {
    "": "HAS_SESSIONS IS_STARTED NAME RULES SIGN",
    "reconcile": "ingest journal_id",
    "purge": "foreign_files list_old_copies",
    "schema": "list_files",
    "workflows": "executable_files find_executable",
    "repair": "damages repair",
    "files": "find_active has_state own_id",
    "sessions": "begin_session end_session find_session_run load_session save_session",
    "screens": "load_screen save_screen",
    "client_hooks": "find_client_hooks find_notice find_plugin_hint health is_client_hook",
}
