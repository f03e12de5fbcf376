"""The rules for FABER's runs: their state files alone say how one ends."""

from __future__ import annotations

from holdfast.core.lifecycle import Rules

RULES = Rules(is_reopened=False)
IS_STARTED = False  # `/fractary-faber:workflow-run` starts them
