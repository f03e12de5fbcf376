"""Editor for Parrot's settings: TOML with a table `[[hook]]` for each hook."""

from __future__ import annotations

import tomllib
from typing import Any

from holdfast.agents.hook_command import is_ours
from holdfast.agents.protocol import NotSettings

TABLE = "[[hook]]"


def hooks_in(text: str) -> list[dict[str, Any]]:
    try:
        found = tomllib.loads(text).get("hook", [])
    except tomllib.TOMLDecodeError as error:
        raise NotSettings(str(error)) from error
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise NotSettings("`hook` is not a list of tables")
    return found


def has_hooks(text: str) -> bool:
    return bool(found_in(text))


def found_in(text: str) -> list[str]:
    return [str(each.get("on")) for each in hooks_in(text) if is_ours({"command": each.get("run")})]


def with_hooks(text: str, calls: dict[str, str]) -> str:
    tables = [f"{TABLE}\non = {event!r}\nrun = '''{command}'''\n" for event, command in calls.items()]
    return text + "".join(tables)


def without_hooks(text: str, earlier: str) -> str:
    head, *tables = text.split(TABLE)
    return head + "".join(TABLE + table for table in tables if not has_hooks(TABLE + table))


def put_back(now: str, then: str) -> list[str]:
    return []


def is_empty(text: str) -> bool:
    return not text.strip()
