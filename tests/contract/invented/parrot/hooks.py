"""Holdfast's hooks for Parrot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from holdfast.agents import install
from holdfast.agents.hook_command import exact, files_of
from holdfast.agents.protocol import HookCommand, Installation, Moment, Setup
from holdfast.core.text import path_text

from . import settings_file
from .client import MOMENTS, NAME
from .installed import places
from .replies import ANSWERS


def calls(setup: Setup) -> dict[str, str]:
    return {
        event: exact(NAME, event, setup.python, setup.script, answers=moment in ANSWERS)
        for event, moment in MOMENTS.items()
    }


def plan_install(
    setup: Setup, scope: str, *, status_line: bool = False, drop: Callable[[str], bool] | None = None
) -> Installation:
    wanted = calls(setup)

    def edit(text: str) -> tuple[str, dict[str, str]]:
        if settings_file.found_in(text) == list(wanted):
            return text, {}
        return settings_file.with_hooks(settings_file.without_hooks(text, ""), wanted), dict.fromkeys(wanted, "added")

    return Installation(places(setup)[scope], {"hook": [{"on": on, "run": run} for on, run in wanted.items()]}, edit)


def plan_drop(setup: Setup, scope: str, drop: Callable[[str], bool]) -> Installation:
    return Installation(places(setup)[scope], {}, lambda text: (text, {}))


def hook_commands(setup: Setup) -> list[HookCommand]:
    return [
        HookCommand(scope, path_text(place.path), Moment(MOMENTS.get(hook["on"], Moment.OTHER)), hook["run"], True)
        for scope, place in places(setup).items()
        for hook in settings_file.hooks_in(install.read(place))
    ]


def executable_files(setup: Setup) -> dict[Path, Callable[[bytes], list[tuple[str, str]]]]:
    return {places(setup)["here"].path: _programs}


def _programs(data: bytes) -> list[tuple[str, str]]:
    hooks = settings_file.hooks_in(data.decode())
    named = ((hook["on"], files_of({"command": hook["run"]})) for hook in hooks)
    return [(event, found[0]) for event, found in named if found]
