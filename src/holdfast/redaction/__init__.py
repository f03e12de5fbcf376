"""Secrets: find them, judge them, mask them."""
