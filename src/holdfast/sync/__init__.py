"""Runs to and from other machines."""
