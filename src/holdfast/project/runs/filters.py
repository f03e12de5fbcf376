"""Which runs a list or a search is about, from what people say: statuses, layouts, agents, tags, times."""

from __future__ import annotations

from datetime import datetime

from holdfast.core.errors import WrongUsage
from holdfast.core.model import Status
from holdfast.core.text import one_line, sound_text
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system.clock import micros

STATUSES = [status.value for status in Status]


def statuses(words: tuple[str, ...], command: str) -> frozenset[str]:
    """Statuses by their names; `open` is all that are."""
    wanted: set[str] = set()
    for word in words:
        if word == "open":
            wanted |= select.OPEN_STATUSES
        elif word in STATUSES:
            wanted.add(word)
        else:
            known = ", ".join(["open", *STATUSES])
            raise WrongUsage(
                f'There is no status "{one_line(word, 40)}"', [("known", known)], [f"`holdfast {command} --help`"]
            )
    return frozenset(wanted)


def layouts(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(sound_text, words))


def labels(agent: str | None, tag: str | None) -> frozenset[str]:
    """What the store calls runs of an agent, or with a tag."""
    return frozenset(sound_text(label) for label in (agent and f"agent:{agent}", tag and f"tag:{tag}") if label)


def moment(time: datetime | None) -> int | None:
    return micros(time.astimezone()) if time else None


def length(workspace: Workspace, limit: int | None) -> int:
    """How many rows a list has at most."""
    if limit is not None and limit < 1:
        raise WrongUsage("A list has at least one row", [("limit", limit)])
    return limit or workspace.settings.whole("list.limit")
