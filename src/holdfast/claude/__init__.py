"""Claude Code beside its calls: settings that we put them into, the plugin, the client as it is set up, transcripts."""
