"""The agent's context: how full it is, and that it was compacted."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.fold.activity import format_fill
from holdfast.core.text import count, one_line
from holdfast.operations.budget import Budget, Compressed
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line, when

STYLE_OF = {"warn": "warn", "compact": "bad"}


@renders(Budget)
def said_budget(found: Budget, view: View) -> Said:
    if found.fill is None:
        hint = "`holdfast budget --used N --window N` tells it by hand"
        return Said(found, list(_more(found)), [f"Nothing has measured the context of {found.run} yet; {hint}"])
    style = STYLE_OF.get(found.fill.state, "good")
    lines: list[Line] = [(style, f"context {format_fill(found.fill)}: {found.fill.state}"), *_more(found)]
    return Said(found, lines, [f"Advice: {advice}" for advice in found.advice])


def _more(found: Budget) -> Iterator[Line]:
    if found.mode or found.compacted:
        yield f"last compression {when(found.compacted) if found.compacted else 'never'}"
    for agent, tokens in found.by_agent.items():
        yield f"agent {one_line(agent, 60)} {tokens:,} tokens"
    if found.mode:
        yield f"mode {found.mode}: {count(found.at_once or 0, 'agent')} at once, compress at {found.compress_at} %"


@renders(Compressed)
def said_compressed(found: Compressed, view: View) -> Said:
    return Said(found, [str(found.seq)], [f"{found.run} has {count(found.compactions, 'compaction')}"])
