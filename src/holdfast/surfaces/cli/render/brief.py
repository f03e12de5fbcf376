"""The brief."""

from __future__ import annotations

from holdfast.core.brief import Brief
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said


@renders(Brief)
def said_brief(found: Brief, view: View) -> Said:
    return Said(found, [found.text], fenced=True)
