"""A Go Team run: hand-offs, breakpoints, outputs, metrics; and old files."""

from __future__ import annotations

from holdfast.core.text import count, one_line
from holdfast.operations.team import Breakpoint, Cleaned, Given, Handed
from holdfast.surfaces.cli.render import View, previews, renders
from holdfast.surfaces.cli.runner import Said


@renders(Handed)
def said_handoff(found: Handed, view: View) -> Said:
    before = f", from {one_line(found.before, 60)}" if found.before else ""
    said = f"{found.run} was handed to {found.agent}{before}" if found.changed else f"{found.agent} had it already"
    return Said(found, [found.agent], [said])


@renders(Breakpoint)
def said_breakpoint(found: Breakpoint, view: View) -> Said:
    word = "waits at a breakpoint" if found.on else "goes on"
    now = f"{found.run} {word}" if found.changed else "It was so already"
    return Said(found, ["on" if found.on else "off"], [now])


@renders(Given)
def said_given(found: Given, view: View) -> Said:
    if view.verb.name == "metric":
        said, data = f"{found.key} of {found.run} is {found.value}", str(found.value)
    else:
        size = (
            count(len(found.value), "item")
            if isinstance(found.value, list)
            else count(len(str(found.value)), "character")
        )
        said, data = f"Kept {size} on {found.run}", found.key
    return Said(found, [data], [said if found.changed else "It was so already"])


@renders(Cleaned)
def said_cleaned(found: Cleaned, view: View) -> Said:
    number = count(len(found.runs), "run")
    if not found.runs:
        return Said(found, talk=["Nothing to clean up"])
    if found.dry_run:
        return Said(found, _rows(found), [f"{number} would go, {found.kept} stay"])
    return Said(found, found.runs, [f"{number} cleaned up; the journal keeps them"])


@previews(Cleaned)
def _rows(found: Cleaned) -> list[str]:
    return [f"{id}  {one_line(topic, 80)}" for id, topic in zip(found.runs, found.topics, strict=True)]
