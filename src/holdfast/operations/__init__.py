"""What one can do: a verb a file, `verb(workspace, …) -> Result`. No printing, no prompting, no exit codes."""
