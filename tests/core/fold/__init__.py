"""The fold of events into the state of a run."""
