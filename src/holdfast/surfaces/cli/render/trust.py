"""What was allowed, and what is not allowed any more."""

from __future__ import annotations

from holdfast.core.text import one_line
from holdfast.operations.trust import TrustListed, Untrusted
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line
from holdfast.surfaces.cli.trust import literal

STYLE_OF = {"trusted": "good", "changed": "bad", "waiting": "warn"}


@renders(TrustListed)
def said_grants(found: TrustListed, view: View) -> Said:
    lines: list[Line] = []
    for grant in found.grants:
        lines.append((STYLE_OF.get(grant.state, "dim"), f"{grant.state:<8} {one_line(grant.path)}"))
        lines += [f"           {literal(command)}" for command in grant.commands]
    return Said(found, lines, [] if lines else ["Nothing is allowed"])


@renders(Untrusted)
def said_untrusted(found: Untrusted, view: View) -> Said:
    lines: list[Line] = [one_line(place) for place in found.paths]
    return Said(found, lines, ["Not trusted any more" if lines else "Nothing here was trusted"])
