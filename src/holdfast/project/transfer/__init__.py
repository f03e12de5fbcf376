"""Runs in one file: export and import."""
