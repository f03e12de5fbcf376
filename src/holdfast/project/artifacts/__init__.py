"""Artifacts: a module for each source of context that agents need again."""
