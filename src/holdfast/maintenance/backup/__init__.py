"""Backups of a store: write, rotate, search."""
