"""git: commands, and its repository as files."""
