"""Bring the journal up to date: ingest the inbox and other systems' files, and detect dead sessions.

Calls become events in the order in which they were made, exactly once: an event's id is derived from the call's name,
and a call is removed only after its event is committed.
"""

from __future__ import annotations

import time

from msgspec import Struct

from holdfast.agents.registry import adapters
from holdfast.core.errors import Trouble
from holdfast.core.model import Session
from holdfast.core.text import count, one_line, path_text
from holdfast.ingest import detach
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout, present
from holdfast.project import inbox
from holdfast.project.sessions import find_dead, mark_dead
from holdfast.project.workspace import Workspace

FEW = 50  # calls whose removal takes no noticeable time


class CaughtUp(Struct):
    """The result of catching up."""

    taken_in: int = 0  # calls that became events
    set_aside: int = 0
    interrupted: list[str] = []  # runs whose sessions were found dead
    left: set[str] = set()  # ingested calls that are not yet removed
    unread: dict[str, Trouble] = {}  # calls that cannot be read at present, and stay in the inbox


def establish(workspace: Workspace) -> None:
    """Create the store if there is none, and ingest other systems' files before anything else is recorded."""
    if workspace.create() and not workspace.is_off:
        catch_up(workspace)


def catch_up(workspace: Workspace, until: float | None = None, *, hurry: bool = False) -> CaughtUp:
    """Ingest everything and mark dead sessions. `until`, a monotonic time, limits the ingestion of the inbox."""
    for layout in present(workspace):
        layout.ingest(workspace)
    result = ingest_inbox(workspace, until, hurry=hurry)
    result.interrupted = mark_dead_sessions(workspace)
    for run in result.interrupted:
        with workspace.reading() as journal:
            found = journal.get_run(run)
        find_layout(found.layout).keep_interrupted(workspace, found)
    sync_layouts(workspace)
    return result


def sync_layouts(workspace: Workspace) -> None:
    """Bring the files in which other systems show our runs into agreement with the journal."""
    for layout in present(workspace):
        layout.reconcile(workspace)


def ingest_inbox(workspace: Workspace, until: float | None = None, *, hurry: bool = False) -> CaughtUp:
    """Turn all inbox calls into events. One process at a time does it; others wait and find the inbox empty.

    Removing many files takes as long as ingesting them. With `hurry`, the removal is left to the next process, which
    recognises ingested calls by their events.
    """
    result = CaughtUp()
    waiting = inbox.waiting(workspace.inbox)
    if not waiting:
        return result
    from holdfast.ingest.drain import ingest_batch  # lazy: slow to load, and the inbox is mostly empty

    handled = 0
    while waiting:
        with workspace.writing(for_session=False) as journal:
            batch = ingest_batch(workspace, journal, waiting)
        if hurry and len(batch.done) > FEW:
            result.left.update(batch.done)
        else:
            inbox.remove(workspace.inbox, batch.done)
        for name in batch.strange:
            inbox.set_aside(workspace.inbox, name)
        result.taken_in += batch.taken
        result.set_aside += len(batch.strange)
        handled += len(batch.done) + len(batch.strange)
        result.unread |= batch.unread
        stay = result.left | result.unread.keys()
        tried, waiting = waiting, [name for name in inbox.waiting(workspace.inbox) if name not in stay]
        workspace.progress("ingesting calls", handled, handled + len(waiting))  # more may have arrived meanwhile
        if waiting == tried or (until is not None and time.monotonic() > until):
            break
    inbox.clear_leftovers(workspace.inbox, time.time())
    _enforce_quota(workspace)
    if result.unread:
        _warn_of_unread(workspace, result.unread)
    return result


def _warn_of_unread(workspace: Workspace, unread: dict[str, Trouble]) -> None:
    """Warn once of all unreadable calls, with the error of the first one and its remedies."""
    import shlex  # lazy: a failing disk is rare

    name, error = next(iter(unread.items()))
    path = one_line(path_text(workspace.place / "inbox" / name), 300)
    problem = f"{count(len(unread), 'call')} in the inbox cannot be read at present; the others are ingested: {path}"
    hints = [*error.hints, f"`mv {shlex.quote(path)} .` takes it out of the way"]
    workspace.warn(f"{problem}: {error.message}; {'; '.join(hints)}")


def _enforce_quota(workspace: Workspace) -> None:
    """Start the eviction of old data in the background if the journal alone exceeds the quota of the store."""
    size = workspace.store.size()
    if size > workspace.settings.whole("store.cap") * 1_000_000:
        from holdfast.project.quota import has_outgrown

        if has_outgrown(workspace, size):
            detach.go_on_later(str(workspace.root))


def mark_dead_sessions(workspace: Workspace) -> list[str]:
    """Mark dead sessions as interrupted; returns their runs. Silence and odd clocks are no evidence of death."""
    if not workspace.store.has_processes():
        return []
    with workspace.reading() as journal:
        dead = _dead_sessions(journal)
    if not dead:
        return []
    with workspace.writing(for_session=False) as journal:
        return [run for session, evidence in _dead_sessions(journal) if (run := mark_dead(journal, session, evidence))]


def _dead_sessions(journal: Journal) -> list[tuple[Session, str]]:
    return list(find_dead(journal.list_sessions(only_open=True, with_process=True)))


def warn_if_silent(workspace: Workspace) -> None:
    """Warn of agents whose installed hooks no longer run, so that silence is not mistaken for health."""
    for agent in adapters() if not workspace.is_off else ():
        if silence := agent.find_silence(workspace):
            ways = ", or ".join(silence.hints)
            workspace.warn(f"{agent.LABEL} is not recorded here any more: {silence.about}; {ways}")
