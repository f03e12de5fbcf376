"""Look: runs, show, sessions, log, history."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import click

from holdfast.cli import words
from holdfast.cli.command import complete_run, run_option, verb
from holdfast.cli.outcome import Said, print_json
from holdfast.cli.saying import coloured
from holdfast.cli.words import Line, ago, by, when
from holdfast.errors import NotFound
from holdfast.fill import fill_of, told
from holdfast.model import Event, Run, Session
from holdfast.narration import headline
from holdfast.operations import look, past
from holdfast.owning import said
from holdfast.text import count, one_line
from holdfast.workspace import Workspace

FOLLOW = 0.3  # seconds between two looks at the journal


@verb('holdfast runs --status open --search "retry back*"')
@click.option("--status", multiple=True, metavar="STATUS", help="Only this status, or `open`. Can be repeated.")
@click.option("--layout", multiple=True, metavar="LAYOUT", help="Only runs of this layout.")
@click.option("--agent", metavar="NAME", help="Only runs that this agent worked on.")
@click.option("--tag", metavar="TAG", help="Only runs with this tag.")
@click.option("--since", metavar="WHEN", help="Worked on since: 2026-11-01, or 3d, 12h, 30m.")
@click.option("--until", metavar="WHEN", help="Worked on before.")
@click.option("--search", metavar="TEXT", help='Words in goals, prompts, decisions, files; `begin*`, "a phrase".')
@click.option("--here", is_flag=True, help="Only runs of this worktree.")
@click.option("--limit", type=click.IntRange(1, 10_000), metavar="N", help="At most N rows.")
@click.option("--after", metavar="KEY", help="The page after this key.")
def runs(workspace: Workspace, since: str | None, until: str | None, **filters: object) -> Said:
    """Runs of this project, newest first. A row's number names its run in the next command."""
    found = look.runs(workspace, since=moment(since), until=moment(until), **filters)  # type: ignore[arg-type]
    if not found.runs:
        return Said(found, talk=["No run fits."])
    rows = [
        [str(number), run.id, run.status, ago(run.updated) if run.updated else "-", one_line(run.title, 80)]
        for number, run in enumerate(found.runs, 1)
    ]
    talk = [f"More: `holdfast runs --after {found.next}` (with the same filters)"] if found.next else []
    return Said(found, lambda: words.table(["#", "run", "status", "last", "goal"], rows), talk)


def moment(text: str | None) -> datetime | None:
    """A point in time: a date, a date with time, or how long ago."""
    if text is None:
        return None
    unit = {"d": "days", "h": "hours", "m": "minutes"}.get(text[-1:])
    if unit and text[:-1].isdecimal() and len(text) < 8:
        return _long_ago(unit, int(text[:-1]))
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        sentence = f'"{one_line(text, 40)}" is not a time; 2026-11-01, 3d, 12h or 30m are'
        raise click.UsageError(sentence, click.get_current_context(silent=True)) from None


def _long_ago(unit: str, number: int) -> datetime:
    try:
        return datetime.now(UTC) - timedelta(**{unit: number})
    except OverflowError:
        return datetime(1970, 1, 1, tzinfo=UTC)


@verb("holdfast show run-4x9k2m7pq3 --at 12")
@click.argument("name", metavar="[RUN|SESSION|CHECKPOINT]", required=False, shell_complete=complete_run)
@click.option("--at", metavar="EVENT", help="A run as it was after this event.")
@click.option("--diff", is_flag=True, help="What a checkpoint changed, against the one before it.")
def show(workspace: Workspace, name: str | None, at: str | None, diff: bool) -> Said:
    """A run, as it is or as it was; a session with its events; or a checkpoint."""
    found = look.show(workspace, name, at=at, diff=diff)
    if isinstance(found, look.SessionShown):
        return Said(found, list(_session(found)))
    if isinstance(found, look.CheckpointShown):
        return Said(found, list(_checkpoint(found)))
    return Said(found, list(_told_run(found)))


def _told_run(found: look.RunShown) -> Iterator[Line]:
    """A run in full."""
    run = found.run
    yield ("title", one_line(run.title, 200))
    yield f"{run.id}  {run.status}" + (f"  as it was after event {found.at}" if found.at else "")
    if run.name:
        yield f"goal       {one_line(run.goal, 200)}"
    yield f"started    {when(run.created)}"
    yield f"last       {when(run.updated)}"
    yield f"directory  {one_line(run.directory)}"
    if run.owned:
        yield f"file       {one_line(run.owned.path, 300)}: {said(run.owned)}"
    for name, values in (("tags", run.tags), ("agents", run.agents)):
        if values:
            yield f"{name.ljust(9)}  {', '.join(one_line(value, 60) for value in values)}"
    for reason in filter(None, (run.status_reason, run.evidence)):
        yield f"because    {one_line(reason, 200)}"
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
        yield f"action     {one_line(action.text, 200)}"
    if run.reply:
        yield f"said       {one_line(run.reply, 200)}"
    for file in list(run.files)[-10:]:
        yield f"file       {one_line(file, 200)}"
    if run.last_call:
        yield f"calls      {run.calls:,}, the last: {one_line(run.last_call, 120)}"


def _entry(id: str, pinned: bool, text: str) -> str:
    return f"{id}{' (pinned)' if pinned else ''}  {one_line(text, 400)}"


def _session(found: look.SessionShown) -> Iterator[Line]:
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
    for event in found.events:
        yield _event(event)


def _used(session: Session) -> Iterator[Line]:
    if session.model:
        yield f"model      {one_line(session.model, 80)}"
    if full := fill_of(session.context_tokens, session.context_window):
        yield f"context    {told(full)}"
    if session.tokens_read or session.tokens_written:
        yield f"tokens     {session.tokens_read:,} read, {session.tokens_written:,} written"
    if session.cost is not None:
        yield f"cost       {session.cost:,.4f} US dollars"


def _checkpoint(found: look.CheckpointShown) -> Iterator[Line]:
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


@verb("holdfast sessions --all")
@run_option
@click.option("--all", "every", is_flag=True, help="Of the whole project.")
@click.option("--limit", type=click.IntRange(1, 10_000), metavar="N", help="At most N rows.")
def sessions(workspace: Workspace, run: str | None, every: bool, limit: int | None) -> Said:
    """Who worked on a run, and how it ended."""
    found = look.sessions(workspace, run=run, every=every, limit=limit)
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
    return Said(found, lambda: words.table(["#", "session", "agent", "opened", "how", "what"], rows))


@verb("holdfast log -n 20 -f")
@run_option
@click.option("-n", "newest", type=click.IntRange(1, 2**31), metavar="N", help="Only the newest N.")
@click.option("-f", "--follow", is_flag=True, help="Stay, and print events as they come.")
def log(workspace: Workspace, run: str | None, newest: int | None, follow: bool) -> Said:
    """The events of a run, oldest first. With -f and --json, one object a line."""
    found = look.log(workspace, run=run, newest=newest)
    if not follow:
        return Said(found, [_event(event) for event in found.events])
    return Said(found, stream=lambda as_json: _follow(workspace, found, as_json))


def _follow(workspace: Workspace, found: look.Logged, as_json: bool) -> None:
    """Print events until somebody presses Ctrl-C; with --json one object a line."""
    seen = 0
    while True:
        for event in found.events:
            print_json(event) if as_json else words.emit([_event(event)])
            seen = event.seq
        time.sleep(FOLLOW)
        found = look.log(workspace, run=found.run, after=seen)


def _event(event: Event) -> str:
    return f"#{event.seq:<5} {event.time.astimezone():%Y-%m-%d %H:%M:%S}  {headline(event)}"


@verb("holdfast history --limit 20")
@click.argument("row", metavar="[N]", type=click.IntRange(1, past.MOST), required=False)
@click.option("--limit", type=click.IntRange(1, past.MOST), default=10, metavar="N", help="How many; 10 by default.")
@click.option("--here", is_flag=True, help="Only runs of this worktree.")
def history(workspace: Workspace, row: int | None, limit: int, here: bool) -> Said:
    """Runs that were completed, failed, aborted, abandoned or archived, newest first; with N, the one in row N."""
    found = past.past_runs(workspace, max(limit, row or 0), here=here)
    if row is not None:
        return _one_of(workspace, found, row)
    if not found.runs:
        return Said(found, talk=["No run has ended yet."])
    rows = [
        [str(row), run.id, run.status, ago(run.status_since) if run.status_since else "-", one_line(run.title, 80)]
        for row, run in enumerate(found.runs, 1)
    ]
    talk = [f"There are more: `holdfast history --limit {min(past.MOST, 10 * limit)}`"] if found.more else []
    return Said(found, lambda: words.table(["#", "run", "status", "ended", "goal"], rows), talk)


def _one_of(workspace: Workspace, found: past.PastRuns, row: int) -> Said:
    """One run of the archive, in full. Going on with it is another matter."""
    if row > len(found.runs):
        raise NotFound(f"The history has no row {row}", [("rows", len(found.runs))], ["`holdfast history`"])
    shown = look.show(workspace, found.runs[row - 1].id)
    return Said(shown, list(_told_run(shown)) if isinstance(shown, look.RunShown) else [])
