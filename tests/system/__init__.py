"""Files, locks, processes, clocks."""
