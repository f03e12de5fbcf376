"""One run, one session, one checkpoint or one event in words."""

from __future__ import annotations

import time
from collections.abc import Iterator

from holdfast.core.event_text import headline
from holdfast.core.fold.activity import fill_of, format_fill, format_usage, total_usage
from holdfast.core.fold.external import said
from holdfast.core.model import Event, Run, Session
from holdfast.core.text import count, one_line
from holdfast.operations import show
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.render.patch import coloured
from holdfast.surfaces.cli.runner import Said, print_json
from holdfast.surfaces.cli.terminal import Line, by, when
from holdfast.system.clock import ago, shown

FOLLOW = 0.3  # seconds between two looks at the journal


def told_event(event: Event) -> str:
    return f"#{event.seq:<5} {shown(event.time, seconds=True)}  {headline(event)}"


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
    if used := format_usage(total_usage(found.sessions)):
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
        yield told_event(event)


def _used(session: Session) -> Iterator[Line]:
    if session.model:
        yield f"model      {one_line(session.model, 80)}"
    if full := fill_of(session.context_tokens, session.context_window):
        yield f"context    {format_fill(full)}"
    if session.tokens_read or session.tokens_written:
        yield f"tokens     {session.tokens_read:,} read, {session.tokens_written:,} written"
    if session.cost is not None:
        yield f"cost       {session.cost:,.4f} US dollars"


def told_checkpoint(found: show.CheckpointShown) -> Iterator[Line]:
    made = found.checkpoint
    yield ("title", made.id + (f"  {one_line(made.name, 200)}" if made.name else ""))
    yield f"made       {when(made.time)}"
    yield f"why        {made.kind}" + (f": {one_line(made.message, 400)}" if made.message else "")
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


@renders(show.RunShown)
def said_run(found: show.RunShown, view: View) -> Said:
    return Said(found, list(told_run(found)))


@renders(show.SessionShown)
def said_session(found: show.SessionShown, view: View) -> Said:
    return Said(found, list(told_session(found)))


@renders(show.CheckpointShown)
def said_checkpoint(found: show.CheckpointShown, view: View) -> Said:
    return Said(found, list(told_checkpoint(found)))


@renders(show.SessionsListed)
def said_sessions(found: show.SessionsListed, view: View) -> Said:
    if not found.sessions:
        return Said(found, talk=["No session yet."])
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
    return Said(found, lambda: terminal.table(["#", "session", "agent", "opened", "how", "what"], rows))


@renders(show.Logged)
def said_log(found: show.Logged, view: View) -> Said:
    if not view.given.get("follow"):
        return Said(found, [told_event(event) for event in found.events])
    return Said(found, stream=lambda as_json: _follow(view.workspace, found, as_json))


def _follow(workspace: Workspace, found: show.Logged, as_json: bool) -> None:
    """Print events until somebody presses Ctrl-C; with --json one object a line."""
    seen = 0
    while True:
        for event in found.events:
            print_json(event) if as_json else terminal.emit([told_event(event)])
            seen = event.seq
        time.sleep(FOLLOW)
        found = show.log(workspace, run=found.run, after=seen)
