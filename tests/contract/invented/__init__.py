"""Agents that exist only here."""
