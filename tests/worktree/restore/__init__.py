"""Restore of files in place."""
