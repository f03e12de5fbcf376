"""Secrets that are found, and text that is none."""
