"""Adapters for the systems whose files we share: a folder each."""
