"""Restoring a tree into the worktree."""
