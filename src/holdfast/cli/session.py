"""A session's two ends, and the archive: save, session-load, session-save, history."""

from __future__ import annotations

import click

from holdfast.cli import words
from holdfast.cli.command import run_option, verb
from holdfast.cli.outcome import Said
from holdfast.cli.words import ago
from holdfast.operations import past, save as saving, session
from holdfast.text import one_line
from holdfast.workspace import Workspace


@verb("holdfast save")
@run_option
def save(workspace: Workspace, run: str | None) -> Said:
    """Save the open run: code and state, if anything changed. Prints the id of the checkpoint that holds it."""
    return _said(saving.save(workspace, run=run))


def _load_command(name: str) -> click.Command:
    @verb(f"holdfast {name} --budget 4000", name)
    @run_option
    @click.option("--budget", type=click.IntRange(500, 1_000_000), metavar="N", help="At most N characters.")
    def command(workspace: Workspace, run: str | None, budget: int | None) -> Said:
        """Load what a session needs to go on: the brief of its run."""
        found = session.session_load(workspace, run=run, budget=budget)
        return Said(found, [found.text])

    return command


def _save_command(name: str) -> click.Command:
    @verb(f"holdfast {name}", name)
    @run_option
    def command(workspace: Workspace, run: str | None) -> Said:
        """Keep what a session did, as `holdfast save` does."""
        return _said(session.session_save(workspace, run=run))

    return command


session_load = _load_command("session-load")
load = _load_command("load")
prime_context = _load_command("prime-context")
session_save = _save_command("session-save")
session_end = _save_command("session-end")


def _said(found: saving.Saved) -> Said:
    where = f"{found.run} at event {found.seq:,}"
    talk = f"Saved {where} as {found.checkpoint.id}" if found.changed else f"Nothing changed since {where}"
    return Said(found, [found.checkpoint.id], [talk])


@verb("holdfast history 20")
@click.argument("number", metavar="[N]", type=click.IntRange(1, past.MOST), default=10)
@click.option("--here", is_flag=True, help="Only runs of this worktree.")
def history(workspace: Workspace, number: int, here: bool) -> Said:
    """The last N runs that were completed, failed, aborted or abandoned."""
    found = past.past_runs(workspace, number, here=here)
    if not found.runs:
        return Said(found, talk=["No run has ended yet."])
    rows = [
        [str(row), run.id, run.status, ago(run.status_since) if run.status_since else "-", one_line(run.title, 80)]
        for row, run in enumerate(found.runs, 1)
    ]
    talk = [f"There are more: `holdfast history {min(past.MOST, 10 * number)}`"] if found.more else []
    return Said(found, lambda: words.table(["#", "run", "status", "ended", "goal"], rows), talk)
