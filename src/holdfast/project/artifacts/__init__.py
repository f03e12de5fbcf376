"""Artifacts: a piece of context that an agent needs again, by its source."""
