"""Claude Code: hooks, settings, plugin, transcripts."""

# The members of the adapter, by the module that defines them. Each module is imported on first use of a member.
MEMBERS = {
    "client": "NAME LABEL STATUS_LINE",
    "events": "read_call",
    "replies": "ANSWERS BRIEF_LIMIT refuse_prompt reply",
    "status_line": "draw_status draw_without_store",
    "hooks": "find_plugin plan_drop plan_install",
    "installed": "SCOPES executable_files find_silence hook_commands is_used places",
    "health": "health",
    "transcript": "find_transcripts owns_transcript read_head read_spent read_usage resume_command transcripts_of",
    "transcript_events": "opening_of read_said retell",
}
