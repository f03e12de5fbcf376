"""Our plugin for Claude Code: where it lies, and how one takes it into use.

What is in it is not Python: slash commands, a skill, an agent, and hooks that `hooking.py` words.
"""

from __future__ import annotations

import shlex
from pathlib import Path

NAME = "holdfast"
DIRECTORY = Path(__file__).with_name("plugin")  # it is a marketplace too, of itself


def commands(directory: str) -> list[str]:
    """What one types for a single session, and for all of them."""
    place = shlex.quote(directory)
    return [
        f"claude --plugin-dir {place}",
        f"claude plugin marketplace add {place}",
        f"claude plugin install {NAME}@{NAME}",
    ]
