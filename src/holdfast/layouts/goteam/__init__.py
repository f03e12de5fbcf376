"""Go Team: registry, manifest, live state, recovery and checkpoint files."""

NAME = "go-team"
# The members of the layout, by the module that defines them; each module is loaded when one of its members is used.
MEMBERS = {
    "": "NAME",
    "rules": "RULES",
    "presence": "is_present list_files",
    "start": "default_steps make_id",
    "follow": "follow",
    "reconcile": "autosave reconcile",
    "purge": "foreign_files list_left own_files purge",
    "cleanup": "clean_up",
    "health": "damages health",
    "repair": "repair",
    "resumable": "list_resumable silent_since",
    "recovery_options": "list_ways",
    "steps": "find_step",
    "step_checkpoints": "keep_interrupted keep_run keep_step",
    "find_checkpoint": "find_last_checkpoint get_checkpoint prepare_return refuse_return",
    "export": "examine_checkpoints export_checkpoints",
    "meaning": "find_chat_run is_meant",
    "chat_commands": "CHAT_COMMANDS told_missing told_point",
    "screens": "completed_screen offer_screen recovery_screen resumable_screen resumed_screen started_screen",
}
