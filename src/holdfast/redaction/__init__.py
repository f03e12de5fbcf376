"""Redaction: find secrets, rule out false positives, mask the rest."""
