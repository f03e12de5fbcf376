"""Checkpoints: creation, restore, conflicts."""
