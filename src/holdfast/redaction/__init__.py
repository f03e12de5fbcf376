"""Secrets, and how they are taken out of all that is stored or leaves: what looks like one, what only seems to."""
