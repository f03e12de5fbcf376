"""Checkpoints of a project: create, restore, undo."""
