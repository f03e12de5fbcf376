"""Claude Code: hooks, settings, plugin, transcripts."""
