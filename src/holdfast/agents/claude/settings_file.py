"""Editor for Claude Code's settings text: adds and removes our hooks, and leaves all other bytes unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from holdfast.agents.hook_command import is_ours
from holdfast.agents.protocol import NotSettings
from holdfast.core.formats import json_edit
from holdfast.core.formats.json_edit import NotJson

NEW = "{}\n"
LARGEST = 4_000_000  # characters
LINE = "statusLine"  # the settings' key for the command that draws the status line
Place = tuple[str | int, ...]
Handler = dict[str, object]
Wanted = Callable[[object], bool]  # a predicate of handlers


def parse(text: str) -> dict[str, Any]:
    """Parse settings and validate the form of their hooks. An empty file is valid."""
    if is_blank(text):
        return {}
    if len(text) > LARGEST:
        raise NotSettings(f"it is longer than {LARGEST:,} characters")
    try:
        settings = json_edit.parse(text)
    except NotJson as error:
        raise NotSettings(str(error)) from error
    if not isinstance(settings, dict):
        raise NotSettings("it is not an object")
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise NotSettings("`hooks` is not an object")
    wrong = [event for event, groups in hooks.items() if not isinstance(groups, list)]
    if wrong:
        raise NotSettings(f"`hooks.{wrong[0]}` is not a list")
    return settings


def is_blank(text: str) -> bool:
    return not text.strip(json_edit.MARK + " \t\r\n")


def with_calls(text: str, calls: dict[str, Handler]) -> tuple[str, dict[str, str]]:
    """The text with our hooks, and by event if one was `added`, `replaced` or `removed`."""
    done: dict[str, str] = {}
    hooks = parse(text).get("hooks", {})
    if is_blank(text):
        text = NEW
    for event in {**calls, **hooks}:
        ours = [hooks[event][place[2]] for place in _places(hooks, event, is_ours)]
        if event in calls and ours == [{"hooks": [calls[event]]}]:
            continue
        if ours:
            text = _without(text, event, {("hooks",), ("hooks", event)} if event in calls else {("hooks",)})
        if event in calls:
            text = _added(text, event, calls[event])
        if ours or event in calls:
            done[event] = "added" if not ours else "replaced" if event in calls else "removed"
    return text, done


def without_hooks(text: str, earlier: str) -> str:
    """The text without our hooks, and without containers that become empty, unless the earlier text had them."""
    then = parse(earlier)
    kept: set[Place] = {("hooks",)} if "hooks" in then else set()
    kept |= {("hooks", event) for event in then.get("hooks", {})}
    for event in called(parse(text)):
        text = _without(text, event, kept)
    return json_edit.remove(text, (LINE,)) if is_ours(parse(text).get(LINE)) else text


def with_status_line(text: str, line: Handler) -> tuple[str, str | None]:
    """The text with our status line, and `added` or `replaced`. A status line of the user is left unchanged."""
    settings = parse(text)
    if LINE not in settings:
        return json_edit.add(NEW if is_blank(text) else text, (), line, LINE), "added"
    if settings[LINE] == line or not is_ours(settings[LINE]):
        return text, None
    return json_edit.add(json_edit.remove(text, (LINE,)), (), line, LINE), "replaced"


def called(settings: dict[str, Any]) -> dict[str, list[Any]]:
    return find_handlers(settings, is_ours)


def find_handlers(settings: dict[str, Any], is_wanted: Wanted) -> dict[str, list[Any]]:
    """The handlers in these settings that satisfy a predicate, by event."""
    hooks = settings.get("hooks", {})
    found = {event: [_at(settings, place) for place in _places(hooks, event, is_wanted)] for event in hooks}
    return {event: handlers for event, handlers in found.items() if handlers}


def without_handlers(text: str, is_unwanted: Wanted) -> tuple[str, list[str]]:
    """The text without the handlers that satisfy a predicate nor groups left empty, and the events that had one."""
    events = list(find_handlers(parse(text), is_unwanted))
    for event in events:
        text = _without(text, event, set(), is_unwanted)
    return text, events


def has_hooks(text: str) -> bool:
    return bool(called(parse(text)))


def is_empty(text: str) -> bool:
    return parse(text) == {}


def put_back(now: str, then: str) -> list[str]:
    """The events for which an earlier text has handlers that the present one lacks."""
    present, earlier = (parse(text).get("hooks", {}) for text in (now, then))
    return [event for event, groups in earlier.items() if any(group not in present.get(event, []) for group in groups)]


def found_in(text: str) -> list[str]:
    """Our entries in a text: the events that have our hooks, and the status line if it is ours."""
    settings = parse(text)
    return [*called(settings), *([LINE] if is_ours(settings.get(LINE)) else [])]


def _places(hooks: dict[str, Any], event: str, is_wanted: Wanted) -> Iterator[tuple[str, str, int, str, int]]:
    """The paths in the settings of the handlers that satisfy a predicate."""
    for number, group in enumerate(hooks.get(event, [])):
        handlers = group.get("hooks") if isinstance(group, dict) else None
        for at, handler in enumerate(handlers if isinstance(handlers, list) else []):
            if is_wanted(handler):
                yield "hooks", event, number, "hooks", at


def _added(text: str, event: str, call: Handler) -> str:
    settings = json_edit.parse(text)
    group = {"hooks": [call]}
    if "hooks" not in settings:
        return json_edit.add(text, (), {event: [group]}, "hooks")
    if event not in settings["hooks"]:
        return json_edit.add(text, ("hooks",), [group], event)
    return json_edit.add(text, ("hooks", event), group)


def _without(text: str, event: str, kept: set[Place], is_unwanted: Wanted = is_ours) -> str:
    while place := next(_places(json_edit.parse(text)["hooks"], event, is_unwanted), None):
        alone = len(_at(json_edit.parse(text), place[:4])) == 1
        text = json_edit.remove(text, place[:3] if alone else place)
    for at in (("hooks", event), ("hooks",)):
        if at not in kept and not _at(json_edit.parse(text), at):
            text = json_edit.remove(text, at)
    return text


def _at(settings: Any, place: Place) -> Any:
    for step in place:
        settings = settings[step]
    return settings
