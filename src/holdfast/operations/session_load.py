"""Loading and saving a session: in a run of a system that has records of sessions, as its documents say.

For a run of our own, loading is the brief and saving is `save`.
"""

from __future__ import annotations

import re

from holdfast.core.brief import Brief
from holdfast.core.errors import WrongUsage
from holdfast.core.text import one_line
from holdfast.layouts.protocol import Layout
from holdfast.layouts.registry import layouts
from holdfast.layouts.save import Saved, save_run
from holdfast.layouts.session_reports import Reloaded, SessionSaved
from holdfast.operations.brief import brief
from holdfast.operations.verb import verb
from holdfast.project.workspace import Workspace

TRIGGER = re.compile(r"session_start|manual|phase_start|phase_transition:[a-z_-]+->[a-z_-]+|compaction_detected")
REASONS = ("compaction", "normal", "manual")


@verb
def session_load(
    workspace: Workspace,
    *,
    run: str | None = None,
    trigger: str = "manual",
    artifacts: tuple[str, ...] = (),
    force: bool = False,
    dry_run: bool = False,
    budget: int | None = None,
) -> Brief | Reloaded:
    """What a session needs to go on with a run."""
    if not TRIGGER.fullmatch(trigger):
        facts = [("trigger", one_line(trigger, 80))]
        raise WrongUsage("There is no such trigger", facts, ["`--trigger phase_transition:architect->build`"])
    layout, named = _find_session_run(workspace, run)
    if layout is None:
        return brief(workspace, run=run, budget=budget)
    most = budget or workspace.settings.whole("load.budget")
    return layout.load_session(
        workspace, named, trigger=trigger, artifacts=artifacts, force=force, dry_run=dry_run, budget=most
    )


@verb
def session_save(workspace: Workspace, *, run: str | None = None, reason: str = "manual") -> Saved | SessionSaved:
    """Keep what a session did."""
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
