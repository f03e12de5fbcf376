"""Details of one run, session or checkpoint; the sessions of a run; its events; reports of it."""

from __future__ import annotations

import os
from bisect import bisect_right
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from holdfast.core import report as timeline
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.fold import run as fold
from holdfast.core.fold.activity import Spent, total_usage
from holdfast.core.model import Checkpoint, Event, Run, Session
from holdfast.core.question import Choose
from holdfast.core.text import one_line, path_text
from holdfast.journal.journal import Journal
from holdfast.operations.parameters import Kind, RunName, argument, flag, option
from holdfast.operations.runs import Limit, runs, which_run
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.briefs import without_secrets
from holdfast.project.checkpoints import describe
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import TreeMetadata

MOST = 2**31
CHOICES = 500  # runs offered by `--pick`
SESSIONS, CHECKPOINTS = 1_000, 1_000  # the newest ones in a report
MODE = 0o644  # a timeline is made to be shared
HEAD = 512  # bytes of a file that identify our own timeline


class RunShown(Struct):
    run: Run
    sessions: list[Session]
    at: int | None


class SessionShown(Struct):
    session: Session
    run: Run
    events: list[Event]
    before: str | None = None  # with `--diff`: the last checkpoint before it
    after: str | None = None  # the first checkpoint after it, or the last one in it
    code: str | None = None  # the changes between them, by any process
    checkpoints: dict[int, str] = {}  # the event after which each was made -> its id


class CheckpointShown(Struct):
    checkpoint: Checkpoint
    goal: str | None  # of its run
    before: str | None  # the checkpoint before it
    nested: dict[str, str]  # repositories inside the worktree, with the commit of each
    skipped: dict[str, int]  # files that were left out, with their size in bytes
    code: str | None = None  # with `--diff`: the changes since the one before it
    prompt: str | None = None  # the first words of the prompt that it belongs to

    @property
    def run(self) -> Run:
        """Refuse a checkpoint where a run is needed: the name that a caller was given may be that of either."""
        raise WrongUsage("This is a checkpoint, not a run", [("checkpoint", self.checkpoint.id)], ["`holdfast runs`"])


class SessionsListed(Struct):
    run: str | None
    sessions: list[Session]


class Logged(Struct):
    run: str
    events: list[Event]
    checkpoints: dict[int, str] = {}  # the event after which each was made -> its id


def _ask_which(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    if not given.get("pick") or "name" in given:
        return None
    return which_run("name", runs(workspace, limit=CHOICES).runs)


@verb(
    group=Group.SEE,
    example="holdfast show run-4x9k2m7pq3 --at 12",
    about="details of a run, a session or a checkpoint",
    common=True,
    options=(flag("--pick", help="Select the run from a list, even if there is a current one."),),
    previews=True,
    asks=_ask_which,
)
def show(
    workspace: Workspace,
    name: Annotated[str | None, argument(metavar="[RUN|SESSION|CHECKPOINT]", kind=Kind.RUN)] = None,
    *,
    at: Annotated[str | None, option(metavar="EVENT", help="The run as it was after this event.")] = None,
    diff: Annotated[bool, option(help="The code changes of a checkpoint or a session.")] = False,
) -> RunShown | SessionShown | CheckpointShown:
    """Show a run, now or at an earlier event; a session with its events; or a checkpoint."""
    with workspace.reading() as journal:
        if name and select.is_checkpoint(workspace, journal, name):
            _refuse_useless(at is not None, "--at", "a run")
            return _checkpoint(workspace, journal, select.get_checkpoint(workspace, journal, name), diff)
        if name and name.startswith("ses-"):
            _refuse_useless(at is not None, "--at", "a run")
            return _session(workspace, journal, select.get_session(workspace, journal, name), diff)
        _refuse_useless(diff, "--diff", "a checkpoint or a session")
        run = _get_run(workspace, journal, name)
        sessions = journal.list_sessions(run.id, limit=20)
        if at is None:
            return RunShown(run, sessions, None)
        seq = select.get_seq(run, at)
        return RunShown(journal.run_at(run.id, seq), [], seq)


def _session(workspace: Workspace, journal: Journal, session: Session, diff: bool) -> SessionShown:
    run = journal.get_run(session.run)
    events = fold.without(journal.events(session.run), set(run.forgotten))
    shown = SessionShown(session, run, [event for event in events if event.session == session.id])
    shown.checkpoints = _made_after(journal, session.run, shown.events, session.id)
    if diff:
        before, after = _around(journal, session, run.worktree)
        with shadow_of(workspace) as shadow:
            shown.before, shown.after = before.id, after.id
            shown.code = _diff(shadow, before, after)
    return shown


def _made_after(journal: Journal, run: str, events: list[Event], session: str | None = None) -> dict[int, str]:
    """Map the last event before each checkpoint to it; of several there, the newest that is no safety checkpoint.

    After the last event of a session, only its own checkpoints count.
    """
    found: dict[int, str] = {}
    seqs = [event.seq for event in events]
    for made in sorted(journal.list_checkpoints(run=run), key=lambda made: (not made.reason.is_way_back, made.number)):
        at = bisect_right(seqs, made.seq or 0)
        is_inside = at < len(seqs) or session in (None, made.session)
        if at and (is_inside or made.seq == seqs[-1]):
            found[seqs[at - 1]] = made.id
    return found


def _around(journal: Journal, session: Session, worktree: str) -> tuple[Checkpoint, Checkpoint]:
    """Return the checkpoints around a session; where there is none before or after it, the first or last one in it."""
    made = sorted(journal.list_checkpoints(worktree), key=lambda found: found.number)
    end = session.ended or datetime.max.replace(tzinfo=UTC)
    before = [found for found in made if found.time <= session.opened]
    inside = [found for found in made if session.opened < found.time < end]
    after = [found for found in made if found.time >= end]
    around = [*(before[-1:] or inside[:1]), *(after[:1] or inside[-1:])]
    if len({found.id for found in around}) < 2:
        facts = [("session", session.id), ("checkpoints in it", len(inside))]
        hints = ["`holdfast checkpoint` makes one now", f"`holdfast show {session.id}` lists its events"]
        raise NotFound("The changes of this session are unknown: no two checkpoints enclose it", facts, hints)
    return around[0], around[1]


def _refuse_useless(given: bool, option: str, noun: str) -> None:
    if given:
        raise WrongUsage(f"Option `{option}` is for {noun}", [], ["`holdfast show --help`"])


def _get_run(workspace: Workspace, journal: Journal, name: str | None) -> Run:
    try:
        return select.get_run(workspace, journal, name)
    except NotFound as error:
        if name is None or name.startswith("run-"):
            raise
        message = f'There is no run, session or checkpoint "{one_line(name, 60)}"'
        raise NotFound(message, error.facts, [*error.hints, "`holdfast checkpoints` lists checkpoints"]) from None


def _checkpoint(workspace: Workspace, journal: Journal, found: Checkpoint, diff: bool) -> CheckpointShown:
    run = journal.find_run(found.run) if found.run else None
    earlier = (made for made in journal.list_checkpoints(found.worktree) if made.number < found.number)
    before = max(earlier, key=lambda made: made.number, default=None)
    event = describe.last_events(journal, [found], (describe.PROMPT,)).get(found.id)
    with shadow_of(workspace) as shadow:
        beside = TreeMetadata.decode(shadow.reader.read(found.beside) or b"")
        return CheckpointShown(
            found,
            run.title if run else None,
            before.id if before else None,
            {path_text(os.fsdecode(path)): commit for path, commit in beside.links.items()},
            {path_text(os.fsdecode(path)): size for path, size in beside.skipped.items()},
            _diff(shadow, before, found) if diff else None,
            workspace.hide(describe.first_words(event)) if event else None,
        )


def _diff(shadow: Shadow, before: Checkpoint | None, found: Checkpoint) -> str:
    arguments = ("diff-tree", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "-M")
    with shadow.scratch() as scratch:
        empty = shadow.git.run("mktree", scratch=scratch).decode().strip()
        out = shadow.git.run(*arguments, before.tree if before else empty, found.tree, scratch=scratch)
    return out.decode("utf-8", "replace")


@verb(group=Group.SEE, example="holdfast sessions --all", previews=True)
def sessions(
    workspace: Workspace,
    *,
    run: RunName = None,
    every: Annotated[bool, option("--all", help="All sessions of the project.")] = False,
    limit: Limit = None,
) -> SessionsListed:
    """List the sessions of a run, and how each ended."""
    with workspace.reading() as journal:
        id = None if every else select.get_run(workspace, journal, run).id
        found = journal.list_sessions(id, limit=select.length(workspace, limit))
    select.remember(workspace, "session", [session.id for session in found])
    return SessionsListed(id, found)


@verb(
    group=Group.SEE,
    example="holdfast log -n 20 -f",
    about="the events of a run; follow them with -f",
    common=True,
    options=(flag("-f", "--follow", help="Keep printing events as they arrive."),),
    previews=True,
)
def log(
    workspace: Workspace,
    *,
    run: RunName = None,
    newest: Annotated[int | None, option("-n", least=1, most=MOST, metavar="N", help="Only the newest N.")] = None,
    after: int = 0,
) -> Logged:
    """List the events of a run, oldest first. With -f and --json, one object a line."""
    with select.reading(workspace, run) as (journal, found):
        events = journal.events(
            found.id, after=min(after, MOST), newest=newest if newest is None else min(newest, MOST)
        )
        listed = list(fold.without(events, found.forgotten))
        return Logged(found.id, listed, _made_after(journal, found.id, listed))


class Reported(Struct):
    run: str
    markdown: str
    spent: Spent  # by all sessions of the run


class Pictured(Struct):
    run: str
    path: str | None  # of the file; null: it was not written
    svg: str


@verb("show --markdown", previews=True)
def report(workspace: Workspace, run: Annotated[str | None, argument(kind=Kind.RUN)] = None) -> Reported:
    """Print a report of a run in Markdown, fit for a pull request.

    It lists the work, decisions, changed files, open tasks, sessions and cost.
    """
    found, sessions, checkpoints = _gather(workspace, run)
    return Reported(found.id, timeline.recount(found, sessions, checkpoints), total_usage(sessions))


@verb("show --svg", previews=True)
def picture(
    workspace: Workspace,
    run: Annotated[str | None, argument(kind=Kind.RUN)] = None,
    file: Annotated[
        str | None,
        option(
            "--svg", metavar="FILE", kind=Kind.OUTPUT, help="Write a run's timeline into an SVG file; `-`: print it."
        ),
    ] = None,
) -> Pictured:
    """Draw a run's sessions over time, in SVG, into a file if one is named."""
    found, sessions, checkpoints = _gather(workspace, run)
    with workspace.reading() as journal:
        events = fold.without(journal.events(found.id), set(found.forgotten))
        events = (without_secrets(workspace, event) for event in events)  # safeguard: hide-picture-events
        svg = timeline.draw(found, sessions, timeline.marks_of(events, checkpoints))
    if file is None:
        return Pictured(found.id, None, svg)
    path = Path(file).absolute()
    with files.os_errors(path):
        _refuse_to_replace(path)
        files.write(path, svg.encode(), MODE)
    return Pictured(found.id, path_text(path), svg)


def _refuse_to_replace(path: Path) -> None:
    """Refuse to overwrite anything but an earlier timeline or an empty file: a typo must not destroy work."""
    if not os.path.lexists(path):
        return
    facts = [("path", path_text(path))]
    if path.is_symlink() or not path.is_file():
        raise Refused("There is something other than a file", facts, ["name another file"])
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head and not timeline.is_drawn(head):  # safeguard: picture-place-taken
        raise Refused("There is something other than a timeline of ours", facts, ["name a new file"])


def _gather(workspace: Workspace, name: str | None) -> tuple[Run, list[Session], list[Checkpoint]]:
    with select.reading(workspace, name) as (journal, run):
        sessions = journal.list_sessions(run.id, limit=SESSIONS)
        checkpoints = list(journal.list_checkpoints(run=run.id, limit=CHECKPOINTS))
    return (
        without_secrets(workspace, run),  # safeguard: hide-report-run
        [without_secrets(workspace, session) for session in reversed(sessions)],  # safeguard: hide-report-sessions
        # safeguard: hide-report-checkpoints
        [without_secrets(workspace, checkpoint) for checkpoint in reversed(checkpoints)],
    )
