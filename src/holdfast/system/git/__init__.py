"""git: running it, its repositories, objects and lock files."""
