"""Reports and pictures of a run."""

from __future__ import annotations

from holdfast.operations.report import Pictured, Reported
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said


@renders(Reported)
def said_report(found: Reported, view: View) -> Said:
    return Said(found, found.markdown.splitlines())


@renders(Pictured)
def said_picture(found: Pictured, view: View) -> Said:
    return Said(found, [found.path] if found.path else found.svg.splitlines())
