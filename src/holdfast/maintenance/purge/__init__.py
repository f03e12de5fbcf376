"""Remove a run for good."""
