"""The status; one run, one session, one checkpoint or one event in words; reports and pictures of a run."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from holdfast.core.event_text import headline
from holdfast.core.fold import activity, steps
from holdfast.core.fold.external import said
from holdfast.core.fold.run import interrupted
from holdfast.core.model import Event, Run, Session
from holdfast.core.text import count, one_line
from holdfast.project.inbox import parse_failure
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, listed, renders, say, shows
from holdfast.surfaces.cli.runner import Said, print_json
from holdfast.surfaces.cli.terminal import FILL_STYLE, Line, by, coloured, when
from holdfast.system.clock import ago, shown

if TYPE_CHECKING:
    from holdfast.operations import show, status

FILES, DOING = 4, 3  # files that are named, actions that were begun and have not ended
FOLLOW = 0.3  # seconds between two looks at the journal


@shows
def told_status(found: status.Status) -> Iterator[Line]:
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


def _where(run: Run, found: status.Status) -> Iterator[Line]:
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


def _went_wrong(found: status.Status) -> Iterator[Line]:
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


def told_troubles(troubles: Iterable[str]) -> Iterator[Line]:
    """The failures of hooks."""
    for title, moment, about in map(parse_failure, troubles):
        yield ("warn", f"{title}: {when(moment)}: {one_line(about, 120)}")


def told_event(event: Event, checkpoint: str | None = None) -> Line:
    """An event, with the checkpoint that was made after it."""
    line = f"#{event.seq:<5} {shown(event.time, seconds=True)}  {headline(event)}"
    return [("", line), ("dim", f"  {checkpoint}")] if checkpoint else line


@shows
def told_run(found: show.RunShown) -> Iterator[Line]:
    """A run in full."""
    run = found.run
    yield ("title", one_line(run.title, 200))
    yield f"{run.id}  {run.status}" + (f"  as it was after event {found.at}" if found.at else "")
    if run.name:
        yield f"goal       {one_line(run.goal, 200)}"
    yield f"started    {when(run.created)}"
    yield f"last       {when(run.updated)}"
    yield f"directory  {one_line(run.directory)}"
    if run.forked_from:
        yield f"forked     from {one_line(run.forked_from, 130)} after event {run.forked_at}"
    if run.owned:
        yield f"file       {one_line(run.owned.path, 300)}: {said(run.owned)}"
    for name, values in (("tags", run.tags), ("agents", run.agents)):
        if values:
            yield f"{name.ljust(9)}  {', '.join(one_line(value, 60) for value in values)}"
    for reason in filter(None, (run.status_reason, run.evidence)):
        yield f"because    {one_line(reason, 200)}"
    if used := activity.format_usage(activity.total_usage(found.sessions)):
        yield f"used       {used}"
    yield from _entries(run)
    for session in found.sessions:
        yield f"session    {session.id}{by(session)}  {when(session.opened)}  {session.how or 'open'}"


def _entries(run: Run) -> Iterator[Line]:
    for step in run.steps:
        agent = f" ({one_line(step.agent, 60)})" if step.agent else ""
        error = f": {one_line(step.error, 200)}" if step.error else ""
        yield f"step       {step.status:<9}  {one_line(step.name, 120)}{agent}{error}"
    for task in run.tasks:
        outcome = f": {one_line(task.outcome, 120)}" if task.outcome else ""
        yield f"{'done' if task.done else 'task'}       {_entry(task.id, task.pinned, task.text)}{outcome}"
    for worker in run.workers:
        outcome = f": {one_line(worker.result or worker.error or '', 120)}".rstrip(": ")
        yield f"agent      {one_line(worker.id, 60)}  {worker.status}  {one_line(worker.task, 200)}{outcome}"
    for decision in run.decisions:
        because = f" (because {one_line(decision.because, 200)})" if decision.because else ""
        word = "revoked" if decision.revoked else "decided"
        yield f"{word}    {_entry(decision.id, decision.pinned, decision.text)}{because}"
    for note in run.notes:
        yield f"note       {_entry(note.id, note.pinned, note.text)}"
    for prompt in run.prompts[-5:]:
        yield f"prompt     {one_line(prompt.text, 200)}"
    for action in run.actions[-10:]:
        yield f"action     {one_line(action.headline, 200)}"
    if run.reply:
        yield f"said       {one_line(run.reply, 200)}"
    for file in list(run.files)[-10:]:
        yield f"file       {one_line(file, 200)}"
    if run.last_call:
        yield f"calls      {run.calls:,}, the last: {one_line(run.last_call, 120)}"


def _entry(id: str, pinned: bool, text: str) -> str:
    return f"{id}{' (pinned)' if pinned else ''}  {one_line(text, 400)}"


@shows
def told_session(found: show.SessionShown) -> Iterator[Line]:
    session = found.session
    yield ("title", f"{session.id}{by(session)} on {found.run.id}")
    yield f"goal       {one_line(found.run.title, 200)}"
    yield f"opened     {when(session.opened)}"
    yield f"ended      {when(session.ended)}" if session.ended else "ended      no"
    if session.how:
        yield f"how        {session.how}" + (f": {one_line(session.reason, 200)}" if session.reason else "")
    if session.process:
        yield f"process    {session.process.pid} on {one_line(session.process.host, 60)}"
    yield from _used(session)
    if found.code is not None:
        yield f"changed    from {found.before} to {found.after}"
        yield from coloured(found.code)
        return
    for event in found.events:
        yield told_event(event, found.checkpoints.get(event.seq))


def _used(session: Session) -> Iterator[Line]:
    if session.model:
        yield f"model      {one_line(session.model, 80)}"
    if full := activity.fill_of(session.context_tokens, session.context_window):
        yield f"context    {activity.format_fill(full)}"
    if session.tokens_read or session.tokens_written:
        yield f"tokens     {session.tokens_read:,} read, {session.tokens_written:,} written"
    if session.cost is not None:
        yield f"cost       {session.cost:,.4f} US dollars"


@shows
def told_checkpoint(found: show.CheckpointShown) -> Iterator[Line]:
    made = found.checkpoint
    yield ("title", made.id + (f"  {one_line(made.name, 200)}" if made.name else ""))
    yield f"made       {when(made.time)}"
    yield f"why        {made.kind}" + (f": {one_line(made.message, 400)}" if made.message else "")
    if found.prompt:
        yield f"prompt     {one_line(found.prompt, 200)}"
    if made.pinned:
        yield "pinned     yes"
    if made.run:
        yield f"run        {made.run} after event {made.seq}" + (f"  {one_line(found.goal, 120)}" if found.goal else "")
    yield f"worktree   {one_line(made.directory)}"
    if made.commit or made.branch:
        yield f"commit     {made.commit or 'none yet'}" + (f" on {one_line(made.branch, 120)}" if made.branch else "")
    if made.under_way:
        yield f"under way  {made.under_way}"
    yield f"changed    {count(made.changes, 'file')} since {found.before or 'what was last added to git'}"
    yield from (f"  {one_line(path)}" for path in made.changed)
    if made.changes > len(made.changed):
        yield f"  and {made.changes - len(made.changed):,} more"
    yield from (f"skipped    {one_line(path)} ({size:,} bytes)" for path, size in found.skipped.items())
    yield from (f"nested     {one_line(path)} at {commit or 'no commit'}" for path, commit in found.nested.items())
    if found.code is not None:
        yield from coloured(found.code)


@renders
def said_sessions(found: show.SessionsListed, view: View) -> Said:
    rows = [
        [
            str(number),
            session.id,
            session.agent or "-",
            ago(session.opened),
            session.how or "open",
            session.reason or "",
        ]
        for number, session in enumerate(found.sessions, 1)
    ]
    return listed(found, "# session agent opened how what", rows, none="No session yet.")


@renders
def said_log(found: show.Logged, view: View) -> Said:
    if not view.given.get("follow"):
        return Said(found, [told_event(event, found.checkpoints.get(event.seq)) for event in found.events])
    return Said(found, stream=lambda as_json: _follow(view.workspace, found, as_json))


def _follow(workspace: Workspace, found: show.Logged, as_json: bool) -> None:
    """Print events until somebody presses Ctrl-C; with --json one object a line."""
    from holdfast.operations.show import log

    seen = 0
    while True:
        for event in found.events:
            print_json(event) if as_json else terminal.emit([told_event(event, found.checkpoints.get(event.seq))])
            seen = event.seq
        time.sleep(FOLLOW)
        found = log(workspace, run=found.run, after=seen)


say(
    {
        "show.Reported": lambda found: (found.markdown.splitlines(),),
        "show.Pictured": lambda found: (found.path or found.svg.splitlines(),),
    }
)
