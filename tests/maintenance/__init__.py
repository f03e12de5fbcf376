"""Verify, backup, prune, purge."""
