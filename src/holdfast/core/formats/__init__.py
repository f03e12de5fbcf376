"""Encodings: hashes, timestamps, JSON that is edited in place or salvaged."""
