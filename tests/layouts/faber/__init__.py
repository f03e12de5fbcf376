"""FABER."""
