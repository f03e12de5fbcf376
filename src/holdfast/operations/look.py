"""Looking: one run, one session, many runs, many sessions, the events."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from holdfast import choosing, history
from holdfast.clock import micros
from holdfast.errors import WrongUsage
from holdfast.model import Event, Run, Session, Status
from holdfast.stores.protocol import RunQuery
from holdfast.text import one_line, sound_text
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
def show(workspace: Workspace, name: str | None = None, *, at: str | None = None) -> RunShown | SessionShown:
    """A run, as it is or as it was at an event; or a session with its events."""
    with workspace.reading() as journal:
        if name and name.startswith("ses-"):
            session = choosing.get_session(workspace, journal, name)
            run_of = journal.get_run(session.run)
            events = history.without(journal.events(session.run), run_of.forgotten)
            return SessionShown(session, run_of, [event for event in events if event.session == session.id])
        run = choosing.get_run(workspace, journal, name)
        sessions = journal.list_sessions(run.id, limit=20)
        if at is None:
            return RunShown(run, sessions, None)
        seq = choosing.get_seq(run, at)
        return RunShown(journal.run_at(run.id, seq), [], seq)


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
