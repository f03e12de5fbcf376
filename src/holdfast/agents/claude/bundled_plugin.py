"""Holdfast's plugin for Claude Code: slash commands, a skill, an agent, and the hooks of `hooks.py`."""

from __future__ import annotations

import shlex
from pathlib import Path

from holdfast.agents.claude.hooks import plugin
from holdfast.agents.protocol import Plugin, Setup

NAME, FABER = "holdfast", "fractary-faber"
DIRECTORY = Path(__file__).parent / "plugin"  # also a marketplace that offers this plugin


def find_plugin(setup: Setup) -> Plugin:
    directory = str(DIRECTORY)
    return Plugin(directory, commands(directory), plugin())


def faber_command() -> str:
    """The command that installs the session commands under FABER's own names, once the marketplace is added."""
    return f"claude plugin install {FABER}@{NAME}"


def commands(directory: str) -> list[str]:
    """The commands that load the plugin, for a single session and for all sessions."""
    place = shlex.quote(directory)
    return [
        f"claude --plugin-dir {place}",
        f"claude plugin marketplace add {place}",
        f"claude plugin install {NAME}@{NAME}",
    ]
