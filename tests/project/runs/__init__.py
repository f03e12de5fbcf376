"""Selection of a run."""
