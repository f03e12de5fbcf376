"""Where we are, as a good colleague would say it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from holdfast.core.fold import activity, steps
from holdfast.core.fold.external import said
from holdfast.core.fold.run import interrupted
from holdfast.core.model import Run
from holdfast.core.text import count, one_line
from holdfast.operations import status as standing
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.render.troubles import told_troubles
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line, by, when
from holdfast.system.clock import ago

FILES, DOING = 4, 3  # files that are named, actions that were begun and have not ended
FILL_STYLE = {"warn": "warn", "compact": "bad"}


@renders(standing.Status)
def said_status(found: standing.Status, view: View) -> Said:
    return Said(found, list(_status(found)))


def _status(found: standing.Status) -> Iterator[Line]:
    if found.store is None and found.run is None and not found.others:
        yield "No run here yet."
        yield '`holdfast init` prepares this project for an agent, `holdfast start "GOAL"` begins a run.'
        return
    if found.off:
        way = "unset HOLDFAST" if os.environ.get("HOLDFAST") == "0" else "holdfast on"
        yield ("warn", f"Holdfast is off here: nothing is recorded. `{way}` changes that.")
    if found.run is None:
        way = "switch RUN` chooses" if found.store else "resume RUN` goes on with"  # `switch` needs a store
        yield f"Several runs are open here; `holdfast {way} one:" if found.others else "No run here yet."
    else:
        yield from _where(found.run, found)
    for other in found.others:
        yield f"Also open: {other.id}  {other.status}  {one_line(other.title, 60)}"
    yield from _went_wrong(found)


def _where(run: Run, found: standing.Status) -> Iterator[Line]:
    yield ("title", one_line(run.title, 200))
    yield (terminal.STATUS_STYLE.get(run.status, ""), f"{run.id}  {run.status} since {when(run.status_since)}")
    if run.status_reason:
        yield f"  reason: {one_line(run.status_reason, 200)}"
    if run.evidence:
        yield f"  evidence: {one_line(run.evidence, 200)}"
    if found.silent_since:
        yield ("warn", f"  potentially interrupted: no sign of life since {when(found.silent_since)}")
    for presence in found.present:
        yield f"Session {presence.session.id}{by(presence.session)}: {presence.evidence}"
    if not found.present and found.last_session:
        last = found.last_session
        yield f"Last session {last.id}{by(last)}: {last.how}" + (
            f", {one_line(last.reason, 120)}" if last.reason else ""
        )
        if last.last_action:
            yield f"  its last action: {one_line(last.last_action, 160)}"
    for left in found.running:
        yield ("warn", f"Still running, started by {left.session}: process {left.pid}  {left.command}")
    yield from _doing(run)
    if full := activity.fill_of(run.context_tokens, run.context_window):
        yield (FILL_STYLE.get(full.state, ""), f"context {activity.format_fill(full)}")
    if run.owned:
        yield said(run.owned)
    yield from (f"Steps: {line}" for line in steps.step_lines(run))
    if run.workers:
        yield f"Agents: {steps.progress_text(run)}"
        yield from (f"  {steps.worker_at_work(worker)}" for worker in steps.at_work(run)[-5:])
    for task in run.open_tasks[:5]:
        yield f"Next: {task.id}  {one_line(task.text, 120)}"
    if len(run.open_tasks) > 5:
        yield f"      and {len(run.open_tasks) - 5} more tasks"
    for decision in run.standing_decisions[-3:]:
        yield f"Decided: {decision.id}  {one_line(decision.text, 120)}"
    if made := found.checkpoint:
        yield (
            "dim",
            f"Last checkpoint {made.id}: {ago(made.time)}{f', {one_line(made.name, 60)}' if made.name else ''}",
        )
    yield ("dim", f"{count(run.seq, 'event')}, last {ago(run.updated) if run.updated else 'never'}")


def _doing(run: Run) -> Iterator[Line]:
    """What the agent was asked, what it is or was in the middle of, and what it last said and wrote."""
    if run.prompts and run.prompts[-1].text.strip() != run.goal.strip():
        yield f"Last asked: {one_line(run.prompts[-1].text, 160)}"
    yield from (text[:1].upper() + text[1:] for text, _ in activity.told_underway(run, 160)[-DOING:])
    if run.reply:
        yield f"Last said: {one_line(run.reply, 160)}"
    if run.files:
        newest = [one_line(file, 80) for file in reversed(run.files)]
        more = f" and {len(newest) - FILES:,} more" if len(newest) > FILES else ""
        yield f"Files touched: {', '.join(newest[:FILES])}{more}"


def _went_wrong(found: standing.Status) -> Iterator[Line]:
    if found.unfinished:
        yield ("bad", interrupted(found.unfinished))
    yield from told_troubles(found.troubles)
    if found.untrusted:
        names = ", ".join(one_line(path, 200) for path in found.untrusted)
        yield ("warn", f"Commands are not run until you have allowed them: {names}; `holdfast trust` shows them")
    if found.set_aside:
        aside = f"{found.store}/inbox/aside"
        yield ("warn", f"Set aside, because it could not be read: {count(len(found.set_aside), 'call')} in {aside}")
    if found.unread:
        inbox = f"{found.store}/inbox"
        yield (
            "warn",
            f"Waiting, because it cannot be read for the moment: {count(len(found.unread), 'call')} in {inbox}",
        )
