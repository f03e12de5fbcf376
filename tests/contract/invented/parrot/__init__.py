"""Parrot, an invented agent: it proves that a package and a name in the registry are enough to add an agent."""

MEMBERS = {
    "client": "NAME LABEL STATUS_LINE",
    "events": "conversation_in read_call",
    "replies": "ANSWERS BRIEF_LIMIT refuse_prompt reply",
    "installed": "SCOPES find_silence is_used places",
    "hooks": "executable_files hook_commands plan_drop plan_install",
    "health": "health",
    "transcript": "find_transcripts opening_of owns_transcript read_head read_spent read_usage resume_command retell "
    "transcripts_of",
}
