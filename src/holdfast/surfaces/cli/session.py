"""A session's two ends: save, session-load, session-save."""

from __future__ import annotations

import click

from holdfast.operations import save as saving, session_load as session
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.decorators import complete_run, run_option, verb
from holdfast.surfaces.cli.render.session import load_session, said_saved
from holdfast.surfaces.cli.runner import Said


@verb("holdfast save")
@run_option
def save(workspace: Workspace, run: str | None) -> Said:
    """Save the open run: code and state, if anything changed. Prints the id of the checkpoint that holds it.

    In a FABER run this is `session-save`.
    """
    return said_saved(saving.save(workspace, run=run))


_run_id_option = click.option(
    "--run-id", "--run", "run", metavar="ID", shell_complete=complete_run, help="The run; else the active one."
)


def _load_command(name: str) -> click.Command:
    @verb(f"holdfast {name} --trigger session_start", name)
    @_run_id_option
    @click.option("--trigger", default="manual", metavar="TRIGGER", help="Why it is loaded; `manual` by default.")
    @click.option("--artifacts", metavar="A,B", help="Only these artifacts.")
    @click.option("--force", is_flag=True, help="Also what was loaded a moment ago.")
    @click.option("--dry-run", is_flag=True, help="Only say what would be loaded.")
    @click.option("--budget", type=click.IntRange(500, 100_000_000), metavar="BYTES", help="Room for all artifacts.")
    def command(
        workspace: Workspace,
        run: str | None,
        trigger: str,
        artifacts: str | None,
        force: bool,
        dry_run: bool,
        budget: int | None,
    ) -> Said:
        """Load what a session needs to go on: a FABER run's critical artifacts, or the brief of a run of our own.

        TRIGGER is session_start, manual, phase_start, phase_transition:A->B or compaction_detected.
        """
        return load_session(
            workspace, run=run, trigger=trigger, artifacts=artifacts, force=force, dry_run=dry_run, budget=budget
        )

    return command


def _save_command(name: str) -> click.Command:
    @verb(f"holdfast {name} --reason normal", name)
    @_run_id_option
    @click.option("--reason", type=click.Choice(session.REASONS), default="manual", help="Why the session ends.")
    def command(workspace: Workspace, run: str | None, reason: str) -> Said:
        """Keep what a session did: a FABER run's session record is closed; a run of our own is saved."""
        return said_saved(session.session_save(workspace, run=run, reason=reason))

    return command


session_load = _load_command("session-load")
load = _load_command("load")
prime_context = _load_command("prime-context")
session_save = _save_command("session-save")
session_end = _save_command("session-end")
