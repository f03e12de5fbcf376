"""Git as a command, and its objects."""
