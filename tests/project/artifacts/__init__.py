"""Artifacts of every kind."""
