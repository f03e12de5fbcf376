"""The operating system: files, locks, processes, the clock, git, terminals."""
