"""Repair a damaged store."""
