"""Merge our part of a Go Team file with the rest of it, so that no write loses data of another program.

The rest consists of unknown keys of every object, entries of lists that are not ours, and values that no run can hold.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

from holdfast.core.model import Body
from holdfast.core.recovery_options import DESCRIBED

VERSION = "1.0.0"
PASSING = ("completed_at", "recovery_type")  # keys that depend on the status
NAMED_BY = {
    **dict.fromkeys(("sessions", "checkpoints", "history", "rollback_history"), "id"),
    "recovery_options": "type",
}
TAKEN_IN = ("history", "rollback_history")  # their named entries are ingested by the run
GIVEN: dict[str, tuple[type, ...]] = {"outputs": (str,), "metrics": (bool, int, float, str)}


def merged(before: Any, ours: Body) -> Body:
    return put_beside(ours, beside(before, ours))


def beside(before: Any, ours: Body, inside: str = "") -> Body:
    """The rest of a file: the part that is not ours."""
    found: Body = {}
    for name, value in before.items() if isinstance(before, dict) else ():
        mine = ours.get(name)
        if isinstance(mine, dict) and isinstance(value, dict):
            if rest := beside(value, mine, name):
                found[name] = rest
        elif isinstance(mine, list) and isinstance(value, list):
            if left := _entries_beside(name, value, mine):
                found[name] = left
        elif mine is None and _is_strange(name, value, ours, inside):
            found[name] = value
    return found


def put_beside(ours: Body, rest: Body) -> Body:
    """Merge our part with the rest of a file, the result of `beside`."""
    result = dict(ours)
    for name, value in rest.items():
        mine = ours.get(name)
        if isinstance(mine, dict) and isinstance(value, dict):
            result[name] = put_beside(mine, value)
        elif isinstance(mine, list) and isinstance(value, list):
            result[name] = _entries_with(name, mine, value)
        elif mine is None:
            result[name] = value
    return result


def registry(before: Any, entries: Iterable[Body], active: str | None, gone: Container[str] = ()) -> Body:
    """The registry with our entries in their places, new ones at the end, without those that are `gone`."""
    mine = {body["id"]: body for body in entries}
    listed: list[Any] = []
    for item in sessions(before):
        id = str(item.get("id")) if isinstance(item, dict) else ""
        if id in mine:
            listed.append(merged(item, mine.pop(id)))
        elif id not in gone:
            listed.append(item)
    ours: Body = {"version": VERSION, "sessions": [*listed, *mine.values()], "last_active_session": active}
    rest = before if isinstance(before, dict) else {}
    return {**ours, **{name: value for name, value in rest.items() if name not in ours}}


def registry_beside(before: Any, entries: list[Body]) -> Body:
    ours: Body = {"version": VERSION, "sessions": entries, "last_active_session": None}
    return beside({**before, "sessions": sessions(before)}, ours)


def sessions(registry: Any) -> list[Any]:
    """The sessions of a registry, which may be a list or an object by id."""
    found = registry.get("sessions") if isinstance(registry, dict) else None
    if isinstance(found, dict):
        return [{"id": id, **item} if isinstance(item, dict) else item for id, item in found.items()]
    return found if isinstance(found, list) else []


def _is_strange(name: str, value: Any, ours: Body, inside: str) -> bool:
    """Return whether a value is another program's. One of our own kind that our part lacks was removed by us."""
    if name in PASSING:
        return False
    if forms := GIVEN.get(inside):
        is_texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        return value is not None and not isinstance(value, forms) and not is_texts
    return name not in ours


def _entries_beside(name: str, value: list[Any], mine: list[Any]) -> list[Any]:
    key = NAMED_BY.get(name)
    if key is None:
        return [item for item in value if not isinstance(item, str)]
    ours = {str(item.get(key)): item for item in mine}
    found = []
    for item in value:
        id = item.get(key) if isinstance(item, dict) else None
        if not isinstance(id, str):
            found.append(item)
        elif id in ours:
            if rest := beside(item, ours[id]):
                found.append({key: id, **rest})
        elif name not in TAKEN_IN and id not in DESCRIBED:
            found.append(item)
    return found


def _entries_with(name: str, mine: list[Any], rest: list[Any]) -> list[Any]:
    key = NAMED_BY.get(name)
    if key is None:
        return [*mine, *rest]
    extra = {item[key]: item for item in rest if isinstance(item, dict) and isinstance(item.get(key), str)}
    known = [item.get(key) for item in mine]
    together = [put_beside(item, extra.pop(str(item.get(key)), {})) for item in mine]
    return [*together, *(item for item in rest if not isinstance(item, dict) or item.get(key) not in known)]
