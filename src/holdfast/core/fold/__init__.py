"""Folding: the state of a run, computed from its events."""
