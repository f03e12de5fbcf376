"""Runs of a project: select, filter, move between statuses."""
