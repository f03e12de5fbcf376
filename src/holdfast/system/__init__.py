"""Access to the operating system: files, locks, processes, the clock, git, terminals."""
