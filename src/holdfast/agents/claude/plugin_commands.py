"""Our plugin for Claude Code: where it lies, and how one takes it into use.

What is in it is not Python: slash commands, a skill, an agent, and hooks that `hooking.py` words.
"""

from __future__ import annotations

import shlex
from pathlib import Path

NAME, FABER = "holdfast", "fractary-faber"
DIRECTORY = Path(__file__).parent / "plugin"  # it is a marketplace too, of itself


def faber_command() -> str:
    """What one types for FABER's own names of its session commands, once the marketplace is known."""
    return f"claude plugin install {FABER}@{NAME}"


def commands(directory: str) -> list[str]:
    """What one types for a single session, and for all of them."""
    place = shlex.quote(directory)
    return [
        f"claude --plugin-dir {place}",
        f"claude plugin marketplace add {place}",
        f"claude plugin install {NAME}@{NAME}",
    ]
