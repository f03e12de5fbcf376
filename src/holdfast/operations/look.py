"""Looking: one run, one session, one checkpoint, many runs, many sessions, the events."""

from __future__ import annotations

import os
from datetime import datetime

from msgspec import Struct

from holdfast import choosing, history
from holdfast.beside import Beside
from holdfast.checkpointing import shadow_of
from holdfast.clock import micros
from holdfast.errors import NotFound, WrongUsage
from holdfast.journal import Journal
from holdfast.model import Checkpoint, Event, Run, Session, Status
from holdfast.shadow import Shadow
from holdfast.stores.protocol import RunQuery
from holdfast.text import one_line, path_text, sound_text
from holdfast.verbs import verb
from holdfast.workspace import Workspace

MOST = 2**31
STATUSES = [status.value for status in Status]


class RunShown(Struct):
    run: Run
    sessions: list[Session]
    at: int | None


class SessionShown(Struct):
    session: Session
    run: Run
    events: list[Event]


class CheckpointShown(Struct):
    checkpoint: Checkpoint
    goal: str | None  # of its run
    before: str | None  # the checkpoint before it
    nested: dict[str, str]  # repositories inside the worktree, with the commit of each
    skipped: dict[str, int]  # what was left out, with its size in bytes
    code: str | None = None  # what changed since the one before it, with `--diff`

    @property
    def run(self) -> Run:
        """For callers that mean a run, whatever the name they were given turned out to be."""
        raise WrongUsage("This is a checkpoint, not a run", [("checkpoint", self.checkpoint.id)], ["`holdfast runs`"])


class RunsListed(Struct):
    runs: list[Run]
    next: str | None  # the key of the next page


class SessionsListed(Struct):
    run: str | None
    sessions: list[Session]


class Logged(Struct):
    run: str
    events: list[Event]


@verb
def show(
    workspace: Workspace, name: str | None = None, *, at: str | None = None, diff: bool = False
) -> RunShown | SessionShown | CheckpointShown:
    """A run, as it is or as it was at an event; a session with its events; or a checkpoint, with what it changed."""
    with workspace.reading() as journal:
        if name and choosing.is_checkpoint(workspace, journal, name):
            _refuse_useless(at is not None, "--at", "a run")
            return _checkpoint(workspace, journal, choosing.get_checkpoint(workspace, journal, name), diff)
        _refuse_useless(diff, "--diff", "a checkpoint")
        if name and name.startswith("ses-"):
            _refuse_useless(at is not None, "--at", "a run")
            session = choosing.get_session(workspace, journal, name)
            run_of = journal.get_run(session.run)
            events = history.without(journal.events(session.run), run_of.forgotten)
            return SessionShown(session, run_of, [event for event in events if event.session == session.id])
        run = _get_run(workspace, journal, name)
        sessions = journal.list_sessions(run.id, limit=20)
        if at is None:
            return RunShown(run, sessions, None)
        seq = choosing.get_seq(run, at)
        return RunShown(journal.run_at(run.id, seq), [], seq)


def _refuse_useless(given: bool, option: str, noun: str) -> None:
    if given:
        raise WrongUsage(f"Option `{option}` is for {noun}", [], ["`holdfast show --help`"])


def _get_run(workspace: Workspace, journal: Journal, name: str | None) -> Run:
    try:
        return choosing.get_run(workspace, journal, name)
    except NotFound as error:
        if name is None or name.startswith("run-"):
            raise
        message = f'There is no run, session or checkpoint "{one_line(name, 60)}"'
        raise NotFound(message, error.facts, [*error.hints, "`holdfast checkpoints` lists checkpoints"]) from None


def _checkpoint(workspace: Workspace, journal: Journal, found: Checkpoint, diff: bool) -> CheckpointShown:
    run = journal.find_run(found.run) if found.run else None
    earlier = (made for made in journal.list_checkpoints(found.worktree) if made.number < found.number)
    before = max(earlier, key=lambda made: made.number, default=None)
    with shadow_of(workspace) as shadow:
        beside = Beside.decode(shadow.reader.read(found.beside) or b"")
        return CheckpointShown(
            found,
            run.title if run else None,
            before.id if before else None,
            {path_text(os.fsdecode(path)): commit for path, commit in beside.links.items()},
            {path_text(os.fsdecode(path)): size for path, size in beside.skipped.items()},
            _diff(shadow, before, found) if diff else None,
        )


def _diff(shadow: Shadow, before: Checkpoint | None, found: Checkpoint) -> str:
    arguments = ("diff-tree", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "-M")
    with shadow.scratch() as scratch:
        empty = shadow.git.run("mktree", scratch=scratch).decode().strip()
        out = shadow.git.run(*arguments, before.tree if before else empty, found.tree, scratch=scratch)
    return out.decode("utf-8", "replace")


@verb
def runs(
    workspace: Workspace,
    *,
    status: tuple[str, ...] = (),
    layout: tuple[str, ...] = (),
    agent: str | None = None,
    tag: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    search: str | None = None,
    here: bool = False,
    limit: int | None = None,
    after: str | None = None,
) -> RunsListed:
    """Runs of this project, newest first; a page at a time."""
    query = RunQuery(
        statuses=_statuses(status),
        layouts=frozenset(map(sound_text, layout)),
        labels=frozenset(sound_text(label) for label in (agent and f"agent:{agent}", tag and f"tag:{tag}") if label),
        worktree=workspace.worktree if here else None,
        since=micros(since.astimezone()) if since else None,
        until=micros(until.astimezone()) if until else None,
        search=search,
        limit=_limit(workspace, limit),
        after=_page_key(after),
    )
    with workspace.reading() as journal:
        found, page = journal.list_runs(query)
    choosing.remember(workspace, "run", [run.id for run in found])
    return RunsListed(found, f"{page.next[0]}.{page.next[1]}" if page.next else None)


@verb
def sessions(
    workspace: Workspace, *, run: str | None = None, every: bool = False, limit: int | None = None
) -> SessionsListed:
    """Sessions of a run, or of the whole project; newest first."""
    with workspace.reading() as journal:
        id = None if every else choosing.get_run(workspace, journal, run).id
        found = journal.list_sessions(id, limit=_limit(workspace, limit))
    choosing.remember(workspace, "session", [session.id for session in found])
    return SessionsListed(id, found)


@verb
def log(workspace: Workspace, *, run: str | None = None, newest: int | None = None, after: int = 0) -> Logged:
    """The events of a run, in order; only the newest of them, or those after one."""
    with workspace.reading() as journal:
        found = choosing.get_run(workspace, journal, run)
        events = journal.events(
            found.id, after=min(after, MOST), newest=newest if newest is None else min(newest, MOST)
        )
        return Logged(found.id, list(history.without(events, found.forgotten)))


def _limit(workspace: Workspace, limit: int | None) -> int:
    if limit is not None and limit < 1:
        raise WrongUsage("A list has at least one row", [("limit", limit)])
    return limit or workspace.settings.whole("list.limit")


def _statuses(words: tuple[str, ...]) -> frozenset[str]:
    wanted: set[str] = set()
    for word in words:
        if word == "open":
            wanted |= choosing.OPEN_STATUSES
        elif word in STATUSES:
            wanted.add(word)
        else:
            known = ", ".join(["open", *STATUSES])
            raise WrongUsage(
                f'There is no status "{one_line(word, 40)}"', [("known", known)], ["`holdfast runs --help`"]
            )
    return frozenset(wanted)


def _page_key(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, _, second = text.partition(".")
    if not all(part.isdecimal() and len(part) < 19 for part in (first, second)):
        raise WrongUsage(
            "This is not the key of a page", [("key", one_line(text, 40))], ["take `next` from the last page"]
        )
    return int(first), int(second)
