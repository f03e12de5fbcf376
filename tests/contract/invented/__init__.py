"""Agents that exist only for these tests."""
