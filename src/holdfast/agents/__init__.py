"""Adapters for the programs whose hooks we understand: a folder each."""
