"""Settings."""

from __future__ import annotations

from holdfast.operations.config import Configured, Set
from holdfast.project.settings import Value
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said


@renders(Configured)
def said_settings(found: Configured, view: View) -> Said:
    columns = ["setting", "value", "origin"] if view.given.get("origin") else ["setting", "value"]
    rows = [[value.key, str(value.value), value.origin][: len(columns)] for value in found.settings]
    return Said(found, lambda: terminal.table(columns, rows))


@renders(Value)
def said_setting(found: Value, view: View) -> Said:
    return Said(found, [str(found.value)])


@renders(Set)
def said_set(found: Set, view: View) -> Said:
    return Said(found, [str(found.value)], [f"Written to {found.file}"])
