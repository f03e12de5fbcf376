"""The agent's context: how full it is, and that it was compacted."""

from __future__ import annotations

import click

from holdfast.cli.command import run_option, verb
from holdfast.cli.outcome import Said
from holdfast.fill import told
from holdfast.operations import budget as measuring, compressed as compacting
from holdfast.text import count
from holdfast.workspace import Workspace

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
        return Said(found, talk=[f"Nothing has measured the context of {found.run} yet; {hint}"])
    style = STYLE_OF.get(found.fill.state, "good")
    return Said(found, [(style, f"context {told(found.fill)}: {found.fill.state}")], [f"Advice: {found.fill.advice}"])


@verb('holdfast compressed --summary "Kept the plan and the open tasks"')
@click.option("--summary", metavar="TEXT", help="What was kept of it.")
@run_option
def compressed(workspace: Workspace, summary: str | None, run: str | None) -> Said:
    """Record that the agent's context was compacted. Prints the event's number."""
    found = compacting.compressed(workspace, summary=summary, run=run)
    return Said(found, [str(found.seq)], [f"{found.run} has {count(found.compactions, 'compaction')}"])
