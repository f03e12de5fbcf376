"""Events that a search finds, each with the piece of it in which the words stand."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.text import count, one_line
from holdfast.operations.search import Found, Searched
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.clock import ago


@renders(Searched)
def said_found(found: Searched, view: View) -> Said:
    if not found.found:
        return Said(found, talk=[_nothing(found.search)])
    lines = [line for hit in found.found for line in _hit(hit)]
    order = "the best first" if found.ranked else "the newest first"
    return Said(found, lines, [f"{count(len(found.found), 'event')}, {order}"])


def _nothing(text: str) -> str:
    """What was looked at in vain, and one way on."""
    looked = f"No event of this project that was asked about holds all of: {one_line(text, 80)}"
    beginning = next((word[:4] for word in text.split() if len(word) > 4 and word.isalnum()), None)
    if beginning is None:
        return f"{looked}. `holdfast runs --all-projects` lists the runs of every project"
    return f"{looked}. `holdfast search '{beginning}*'` finds every word that begins so"


def _hit(hit: Found) -> Iterator[Line]:
    yield ("dim", f"{hit.run} #{hit.seq}  {hit.kind}  {ago(hit.time)}  {one_line(hit.title, 60)}")
    pieces, at = [("", "  ")], 0
    for first, last in hit.marks:
        pieces += [("", hit.text[at:first]), ("match", hit.text[first:last])]
        at = last
    yield [*pieces, ("", hit.text[at:])]
