"""Claude Code: hooks, settings, plugin, transcripts."""

# The members of the adapter, by the module that defines them. Each module is imported on first use of a member.
MEMBERS = {
    "client": "NAME LABEL STATUS_LINE",
    "events": "read_call conversation_in",
    "replies": "ANSWERS BRIEF_LIMIT refuse_prompt reply",
    "status_line": "draw_status draw_without_store",
    "setup": "SCOPES is_used places",
    "hooks": "plan_drop plan_install",
    "bundled_plugin": "find_plugin",
    "installed": "executable_files hook_commands",
    "health": "find_silence health",
    "conversations": "find_transcripts opening_of owns_transcript read_head resume_command transcripts_of",
    "transcript": "read_spent read_usage",
    "transcript_events": "retell",
}
