"""Verify a store: bytes, runs, checkpoints."""
