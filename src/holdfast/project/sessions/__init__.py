"""Sessions of a run, and whether their processes live."""
