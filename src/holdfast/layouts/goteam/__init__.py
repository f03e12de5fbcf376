"""Go Team: registry, manifest, live state, recovery and checkpoint files."""

NAME = "go-team"
SIGN = "sessions.json"
ROOT_SETTING = "go_team.root"
RECORD = "team.json"
# The members of the layout, by the module that defines them; each module is loaded when one of its members is used.
MEMBERS = {
    "": "NAME RECORD ROOT_SETTING SIGN",
    "rules": "RULES",
    "files": "list_files",
    "follow": "follow",
    "reconcile": "autosave reconcile",
    "purge": "clean_up foreign_files list_left own_files purge",
    "repair": "damages health repair",
    "runs": "default_steps find_chat_run is_meant list_resumable list_ways make_id silent_since",
    "checkpoints": "examine_checkpoints export_checkpoints find_last_checkpoint find_step get_checkpoint "
    "keep_interrupted keep_run keep_step prepare_return refuse_return",
    "chat_commands": "CHAT_COMMANDS told_missing told_point",
    "screens": "completed_screen offer_screen recovery_screen resumable_screen resumed_screen started_screen",
}
