"""The number of the rules by which secrets are recognised, for a store to say with which of them it was written."""

from __future__ import annotations

RULES = 3  # raised when more is recognised: what was stored before is then to be scanned once
RULES_FILE = "rules"  # in the store
