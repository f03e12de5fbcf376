"""The agent's context: how full it is, and that it was compacted."""

from __future__ import annotations

from collections.abc import Iterator

import click

from holdfast.core.fold.usage import told
from holdfast.core.text import count, one_line
from holdfast.operations import budget as measuring, compacted as compacting
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import run_option, verb
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line, when

STYLE_OF = {"warn": "warn", "compact": "bad"}
TOKENS = click.IntRange(0, 1_000_000_000)


@verb("holdfast budget --used 86000 --window 200000")
@click.option("--used", type=TOKENS, metavar="N", help="Tokens in the context now, where nothing measures it.")
@click.option("--window", type=click.IntRange(1, 1_000_000_000), metavar="N", help="Tokens that it holds.")
@run_option
def budget(workspace: Workspace, used: int | None, window: int | None, run: str | None) -> Said:
    """How full the agent's context is, and what to do about it."""
    found = measuring.budget(workspace, used=used, window=window, run=run)
    if found.fill is None:
        hint = "`holdfast budget --used N --window N` tells it by hand"
        return Said(found, list(_more(found)), [f"Nothing has measured the context of {found.run} yet; {hint}"])
    style = STYLE_OF.get(found.fill.state, "good")
    lines: list[Line] = [(style, f"context {told(found.fill)}: {found.fill.state}"), *_more(found)]
    return Said(found, lines, [f"Advice: {advice}" for advice in found.advice])


def _more(found: measuring.Budget) -> Iterator[Line]:
    if found.mode or found.compacted:
        yield f"last compression {when(found.compacted) if found.compacted else 'never'}"
    for agent, tokens in found.by_agent.items():
        yield f"agent {one_line(agent, 60)} {tokens:,} tokens"
    if found.mode:
        yield f"mode {found.mode}: {count(found.at_once or 0, 'agent')} at once, compress at {found.compress_at} %"


@verb('holdfast compressed --summary "Kept the plan and the open tasks"')
@click.option("--summary", metavar="TEXT", help="What was kept of it.")
@run_option
def compressed(workspace: Workspace, summary: str | None, run: str | None) -> Said:
    """Record that the agent's context was compacted. Prints the event's number."""
    found = compacting.compressed(workspace, summary=summary, run=run)
    return Said(found, [str(found.seq)], [f"{found.run} has {count(found.compactions, 'compaction')}"])
