"""Packs: where the objects of checkpoints are stored, pruned and salvaged."""
