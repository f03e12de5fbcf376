"""Holdfast's hooks for Claude Code, for its settings files and for our plugin."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.agents.claude import settings_file
from holdfast.agents.claude.client import MOMENTS, NAME, STATUS_LINE
from holdfast.agents.claude.installed import levels, place_of
from holdfast.agents.claude.settings_file import LINE, Handler
from holdfast.agents.generic_client import text_of
from holdfast.agents.hook_command import PLUGIN, exact, is_ours, through_path
from holdfast.agents.protocol import Installation, Plugin, Setup
from holdfast.core.text import path_text

ANSWERED = {"SessionStart": 30, "PreCompact": 30, "SessionEnd": 10}  # seconds that the client waits for an answer
NOT_ASKED = ("PostToolUse",)  # `PostToolBatch` has the same content
TIMEOUT = 10
EVENTS = (*(event for event in MOMENTS if event not in (*ANSWERED, *NOT_ASKED)), *ANSWERED)
OUR_PLUGIN, FABER_PLUGIN = "holdfast", "fractary-faber"  # slash commands, a skill, an agent, and our hooks
DIRECTORY = Path(__file__).parent / "plugin"  # also a marketplace that offers these plugins
TESTED = "2.1.325"  # the client's version that the tests ran with


def block(scope: str, python: str, script: str) -> dict[str, Handler]:
    """The hook for every event. In settings that are committed, it is found through PATH, and silent if not found."""
    return {event: _handler(_command(scope, event, python, script), event) for event in EVENTS}


def status_line(scope: str, python: str, script: str) -> Handler:
    return {"type": "command", "command": _command(scope, STATUS_LINE, python, script)}


def plugin() -> dict[str, object]:
    """The hooks file of our plugin: the same events, but silent for those that a settings file has our hooks for."""
    calls = {event: _handler(through_path(PLUGIN, NAME, event), event) for event in EVENTS}
    return {"description": "Holdfast records the session, and tells it what earlier ones knew", **as_settings(calls)}


def as_settings(calls: dict[str, Handler]) -> dict[str, object]:
    return {"hooks": {event: [{"hooks": [call]}] for event, call in calls.items()}}


def _command(scope: str, event: str, python: str, script: str) -> str:
    if scope == "project":
        return through_path(NAME, event)
    return exact(NAME, event, python, script, answers=event in ANSWERED or event == STATUS_LINE)


def _handler(command: str, event: str) -> Handler:
    return {"type": "command", "command": command, "timeout": ANSWERED.get(event, TIMEOUT)}


def plan_install(
    setup: Setup, scope: str, *, status_line: bool = False, drop: Callable[[str], bool] | None = None
) -> Installation:
    """Our hooks for a scope, and our status line unless the user has another one at any level."""
    calls = block(scope, setup.python, setup.script)
    hints: list[str] = []
    line = line_of(scope, setup, hints) if status_line else None
    settings = as_settings(calls) | ({LINE: line} if line else {})

    def edit(text: str) -> tuple[str, dict[str, str]]:
        after, events = _dropped(text, drop)
        after, added = settings_file.with_calls(after, calls)
        events = added | events
        if line is not None:
            after, drawn = settings_file.with_status_line(after, line)
            events |= {LINE: drawn} if drawn else {}
        return after, events

    return Installation(place_of(scope, setup), settings, edit, hints)


def plan_drop(setup: Setup, scope: str, drop: Callable[[str], bool]) -> Installation:
    return Installation(place_of(scope, setup), {}, lambda text: _dropped(text, drop))


def _dropped(text: str, drop: Callable[[str], bool] | None) -> tuple[str, dict[str, str]]:
    if drop is None:
        return text, {}
    after, events = settings_file.without_handlers(text, lambda handler: drop(text_of(handler, "command")))
    return after, dict.fromkeys(events, "replaced")


def line_of(scope: str, setup: Setup, hints: list[str]) -> dict[str, Any] | None:
    """The settings entry of our status line; None if the user has another one, which is never replaced."""
    line = status_line(scope, setup.python, setup.script)
    for level in levels(setup):
        if LINE in level.settings and not is_ours(level.settings[LINE]):
            stays = f"the status line in {path_text(level.path)} stays"
            hints.append(f"{stays}; to show ours too, let it call, with the same input: `({line['command']})`")
            return None
    return line


def find_plugin(setup: Setup) -> Plugin:
    directory = str(DIRECTORY)
    return Plugin(directory, plugin_commands(directory), plugin())


def faber_command() -> str:
    """The command that installs the session commands under FABER's own names, once the marketplace is added."""
    return f"claude plugin install {FABER_PLUGIN}@{OUR_PLUGIN}"


def plugin_commands(directory: str) -> list[str]:
    """The commands that load the plugin, for a single session and for all sessions."""
    place = shlex.quote(directory)
    return [
        f"claude --plugin-dir {place}",
        f"claude plugin marketplace add {place}",
        f"claude plugin install {OUR_PLUGIN}@{OUR_PLUGIN}",
    ]
