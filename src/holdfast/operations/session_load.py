"""Loading and saving a session: in a run of a system that has records of sessions, as its documents say.

For a run of our own, loading is the brief and saving is `save`.
"""

from __future__ import annotations

import re
from typing import Annotated

from holdfast.core.brief import Brief
from holdfast.core.errors import WrongUsage
from holdfast.core.text import one_line
from holdfast.layouts.protocol import Layout
from holdfast.layouts.registry import layouts
from holdfast.layouts.results import LoadRequest, Reloaded, SessionSaved
from holdfast.layouts.save import Saved, save_run
from holdfast.operations.brief import brief
from holdfast.operations.parameters import Kind, option
from holdfast.operations.verb import Group, verb
from holdfast.project.workspace import Workspace

TRIGGER = re.compile(r"session_start|manual|phase_start|phase_transition:[a-z_-]+->[a-z_-]+|compaction_detected")
REASONS = ("compaction", "normal", "manual")


@verb(
    "session-load",
    group=Group.FABER,
    example="holdfast session-load --trigger session_start",
    about="what a session needs to go on",
    aliases=("load", "prime-context"),
)
def session_load(
    workspace: Workspace,
    *,
    run: Annotated[
        str | None, option("--run-id", "--run", metavar="ID", kind=Kind.RUN, help="The run; else the active one.")
    ] = None,
    trigger: Annotated[str, option(metavar="TRIGGER", help="Why it is loaded; `manual` by default.")] = "manual",
    artifacts: Annotated[tuple[str, ...], option(metavar="A,B", kind=Kind.LIST, help="Only these artifacts.")] = (),
    force: Annotated[bool, option(help="Also what was loaded a moment ago.")] = False,
    dry_run: Annotated[bool, option(help="Only say what would be loaded.")] = False,
    budget: Annotated[
        int | None, option(least=500, most=100_000_000, metavar="BYTES", help="Room for all artifacts.")
    ] = None,
) -> Brief | Reloaded:
    """Load what a session needs to go on: a FABER run's critical artifacts, or the brief of a run of our own.

    TRIGGER is session_start, manual, phase_start, phase_transition:A->B or compaction_detected.
    """
    if not TRIGGER.fullmatch(trigger):
        facts = [("trigger", one_line(trigger, 80))]
        raise WrongUsage("There is no such trigger", facts, ["`--trigger phase_transition:architect->build`"])
    layout, named = _find_session_run(workspace, run)
    if layout is None:
        return brief(workspace, run=run, budget=budget)
    most = budget or workspace.settings.whole("load.budget")
    return layout.load_session(workspace, LoadRequest(named, trigger, artifacts, force, dry_run, most))


@verb(
    "session-save",
    group=Group.FABER,
    example="holdfast session-save --reason normal",
    about="keep what a session did",
    aliases=("session-end",),
)
def session_save(
    workspace: Workspace,
    *,
    run: Annotated[
        str | None, option("--run-id", "--run", metavar="ID", kind=Kind.RUN, help="The run; else the active one.")
    ] = None,
    reason: Annotated[str, option(choices=REASONS, help="Why the session ends.")] = "manual",
) -> Saved | SessionSaved:
    """Keep what a session did: a FABER run's session record is closed; a run of our own is saved."""
    if reason not in REASONS:
        raise WrongUsage(
            "There is no such reason", [("reason", one_line(reason, 80))], [f"one of {', '.join(REASONS)}"]
        )
    layout, named = _find_session_run(workspace, run)
    if layout is None:
        return save_run(workspace, run)
    return layout.save_session(workspace, named, reason)


def _find_session_run(workspace: Workspace, run: str | None) -> tuple[Layout | None, str | None]:
    """The layout whose run is meant, and its name there; None where it is a run without such records."""
    for layout in layouts():
        is_meant, named = layout.find_session_run(workspace, run)
        if is_meant:
            return layout, named
    return None, run
