"""Redaction: find secrets, rule out false positives, mask the rest."""

RULES = 3  # incremented when more is recognised: data stored under an older version is then scanned once
RULES_FILE = "rules"  # in a store: the version that its data was redacted with
