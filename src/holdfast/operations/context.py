"""The agent's context: brief, fill of its window, compactions; and a session's two ends, loading and saving."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

from msgspec import Struct

from holdfast.core.brief import Brief
from holdfast.core.errors import WrongUsage
from holdfast.core.fold import steps
from holdfast.core.fold.activity import COMPACTED, MEASURED, MOST_TOKENS, UNTOLD, Fill, fill_of
from holdfast.core.model import Draft, Run
from holdfast.core.text import checked, one_line
from holdfast.ingest.open import readable
from holdfast.layouts.protocol import Layout
from holdfast.layouts.registry import find_layout, layouts
from holdfast.layouts.results import LoadRequest, Reloaded, SessionSaved
from holdfast.layouts.save import Saved, save_run
from holdfast.operations.parameters import DryRun, Kind, RunName, option
from holdfast.operations.verb import Group, verb
from holdfast.project import settings
from holdfast.project.briefs import make_brief
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

TRIGGER = re.compile(r"session_start|manual|phase_start|phase_transition:[a-z_-]+->[a-z_-]+|compaction_detected")
REASONS = ("compaction", "normal", "manual")

SessionRun = Annotated[
    str | None, option("--run-id", "--run", metavar="ID", kind=Kind.RUN, help="The run; else the active one.")
]


class Budget(Struct):
    run: str
    session: str | None  # in which it was measured
    model: str | None
    fill: Fill | None  # null: not measured yet
    compacted: datetime | None = None  # the last compaction
    by_agent: dict[str, int] = {}  # tokens that each agent of the run used
    mode: str | None = None  # of an orchestrator
    at_once: int | None = None  # concurrent agents that its mode advises
    compress_at: int | None = None  # per cent of the window
    advice: list[str] = []


class Compressed(Struct):
    run: str
    seq: int
    compactions: int  # of this run so far


@verb(group=Group.SEE, example="holdfast budget --used 86000 --window 200000")
def budget(
    workspace: Workspace,
    *,
    used: Annotated[
        int | None,
        option(least=0, most=MOST_TOKENS, metavar="N", help="Tokens in the context now, if not measured."),
    ] = None,
    window: Annotated[
        int | None, option(least=1, most=MOST_TOKENS, metavar="N", help="The size of the context.")
    ] = None,
    run: RunName = None,
) -> Budget:
    """Show how full the agent's context is, and what to do about it."""
    if used is None and window is not None:
        raise WrongUsage("Option `--window` needs `--used`", [], ["`holdfast budget --used N --window N`"])
    if used is not None:
        _record_measure(workspace, used, window, run)
        return _measured(workspace, run)
    with readable(workspace) as found:
        return _measured(found, run)


def _measured(workspace: Workspace, run: str | None) -> Budget:
    with select.reading(workspace, run) as (journal, found):
        session = next((known for known in journal.list_sessions(found.id, limit=20) if known.context_window), None)
    fill = fill_of(found.context_tokens, found.context_window)
    result = Budget(found.id, session.id if session else None, session.model if session else None, fill)
    result.compacted = found.compacted
    result.by_agent = {worker.id: worker.tokens for worker in found.workers if worker.tokens is not None}
    result.advice = [fill.advice] if fill else []
    if found.mode and (mode := find_layout(found.layout).MODES.get(found.mode)):
        result.mode, result.at_once, result.compress_at = found.mode, mode.at_once, mode.compress_at
        result.advice += list(_advice_of_mode(found, fill, result))
    return result


def _advice_of_mode(run: Run, fill: Fill | None, result: Budget) -> Iterator[str]:
    """Advice of an orchestrator's mode. Nothing is refused because of it."""
    at_work = sum(worker.status == steps.IN_PROGRESS for worker in run.workers)
    if result.at_once is not None and at_work > result.at_once:
        yield f"{at_work} agents are at work; mode {result.mode} advises {result.at_once} at once"
    if fill and result.compress_at is not None and fill.percent >= result.compress_at:
        yield f"mode {result.mode} compresses at {result.compress_at} %: save, then compress"


def _record_measure(workspace: Workspace, used: int, window: int | None, run: str | None) -> None:
    if not 0 <= used <= MOST_TOKENS or not (window is None or 1 <= window <= MOST_TOKENS):
        hint = "`holdfast budget --used N --window N`"
        raise WrongUsage("The number of tokens is out of range", [("most", MOST_TOKENS)], [hint])
    with select.writing(workspace, run) as (journal, found):
        known = window or workspace.settings.whole("context.window") or found.context_window or UNTOLD
        if (used, known) != (found.context_tokens, found.context_window):
            journal.append(found.id, Draft(MEASURED, {"tokens": used, "window": known, "origin": "told"}))


@verb(
    group=Group.ORCHESTRATOR,
    example='holdfast compressed --summary "Kept the plan and the open tasks"',
    prints="the event's number",
)
def compressed(
    workspace: Workspace,
    *,
    summary: Annotated[str | None, option(metavar="TEXT", help="Summary of the part that was kept.")] = None,
    run: RunName = None,
) -> Compressed:
    """Record a compaction of the agent's context, where no hook does."""
    body = {"trigger": "told", "summary": checked(summary, "summary") if summary is not None else ""}
    with select.writing(workspace, run) as (journal, found):
        (event,) = journal.append(found.id, Draft(COMPACTED, body))
        return Compressed(found.id, event.seq, journal.get_run(found.id).compactions)


@verb(
    group=Group.SEE,
    example="holdfast brief --budget 4000",
    about="the brief that the next session would get",
    common=True,
    previews=True,
)
def brief(
    workspace: Workspace,
    *,
    run: RunName = None,
    budget: Annotated[int | None, option(least=500, most=1_000_000, metavar="N", help="At most N characters.")] = None,
) -> Brief:
    """Print the brief exactly as the next session would get it."""
    if budget is not None:
        settings.check("brief.budget", budget, "the budget")
    with select.reading(workspace, run) as (journal, found):
        last = journal.find_session(found.last_session or "")
    return make_brief(workspace, found, last, budget or workspace.settings.whole("brief.budget"), runs=True)


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
