"""Saving a run, and the session verbs of FABER: `session-load` and `session-save` also work on our own runs."""

from __future__ import annotations

import re
from typing import Annotated

from holdfast.core.brief import Brief
from holdfast.core.errors import WrongUsage
from holdfast.core.text import one_line
from holdfast.layouts.protocol import Layout
from holdfast.layouts.registry import find_layout, layouts
from holdfast.layouts.results import LoadRequest, Reloaded, SessionSaved
from holdfast.layouts.save import Saved, save_run
from holdfast.operations.context import brief
from holdfast.operations.parameters import DryRun, Kind, RunName, option
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

TRIGGER = re.compile(r"session_start|manual|phase_start|phase_transition:[a-z_-]+->[a-z_-]+|compaction_detected")
REASONS = ("compaction", "normal", "manual")

SessionRun = Annotated[
    str | None, option("--run-id", "--run", metavar="ID", kind=Kind.RUN, help="The run; else the active one.")
]


@verb(group=Group.GO, about="save the open run: code and state")
def save(workspace: Workspace, *, run: RunName = None) -> Saved | SessionSaved:
    """Save the open run, code and state, if anything changed. Prints the id of the checkpoint that holds it.

    In a FABER run this is `session-save`.
    """
    if run is None and not workspace.exists:
        for layout in layouts():
            if active := layout.find_active(workspace):
                return layout.save_session(workspace, active, "manual")
    meant = select.read_run(workspace, run)
    layout = find_layout(meant.layout)
    name = layout.own_id(workspace, meant)
    return save_run(workspace, run) if name is None else layout.save_session(workspace, name, "manual")


@verb(
    "session-load",
    group=Group.FABER,
    example="holdfast session-load --trigger session_start",
    about="load the context that a session needs",
    aliases=("load", "prime-context"),
)
def session_load(
    workspace: Workspace,
    *,
    run: SessionRun = None,
    trigger: Annotated[str, option(metavar="TRIGGER", help="Why it is loaded; `manual` by default.")] = "manual",
    artifacts: Annotated[tuple[str, ...], option(metavar="A,B", kind=Kind.LIST, help="Only these artifacts.")] = (),
    force: Annotated[bool, option(help="Also artifacts that were loaded a moment ago.")] = False,
    dry_run: DryRun = False,
    budget: Annotated[
        int | None, option(least=500, most=100_000_000, metavar="BYTES", help="At most N bytes of artifacts.")
    ] = None,
) -> Brief | Reloaded:
    """Load the context that a session needs: a FABER run's critical artifacts, or the brief of a run of our own.

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
    about="save a session's work and close its record",
    aliases=("session-end",),
)
def session_save(
    workspace: Workspace,
    *,
    run: SessionRun = None,
    reason: Annotated[str, option(choices=REASONS, help="Why the session ends.")] = "manual",
) -> Saved | SessionSaved:
    """Save a session's work: close the session record of a FABER run, or save a run of our own."""
    if reason not in REASONS:
        facts = [("reason", one_line(reason, 80))]
        raise WrongUsage("There is no such reason", facts, [f"one of {', '.join(REASONS)}"])
    layout, named = _find_session_run(workspace, run)
    return save_run(workspace, run) if layout is None else layout.save_session(workspace, named, reason)


def _find_session_run(workspace: Workspace, run: str | None) -> tuple[Layout | None, str | None]:
    """Return the layout of the session's run and the run's name there; no layout for runs without session records."""
    for layout in layouts():
        is_meant, named = layout.find_session_run(workspace, run)
        if is_meant:
            return layout, named
    return None, run
