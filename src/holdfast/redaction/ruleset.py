"""Version of the redaction rules. A store records the version that its data was redacted with."""

from __future__ import annotations

RULES = 3  # incremented when more is recognised: data stored under an older version is then scanned once
RULES_FILE = "rules"  # in the store
