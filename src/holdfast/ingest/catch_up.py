"""Making the journal say what is true now: what files of other systems say, what hooks have kept, who has died.

Calls become events in the order in which they were made, exactly once: the event's id comes from the call's name, and
the call is removed only after its event is committed.
"""

from __future__ import annotations

import time

from msgspec import Struct

from holdfast.core.errors import Trouble
from holdfast.core.model import Session
from holdfast.core.text import count, one_line, path_text
from holdfast.ingest import detach
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout, present
from holdfast.project import inbox
from holdfast.project.sessions import find_dead, mark_dead
from holdfast.project.workspace import Workspace

FEW = 50  # calls that are removed in no time


class CaughtUp(Struct):
    """What was taken in and who was found dead."""

    taken_in: int = 0  # calls that became events
    set_aside: int = 0
    interrupted: list[str] = []
    left: set[str] = set()  # calls that were taken in and not removed
    unread: dict[str, Trouble] = {}  # calls that cannot be read for the moment, and wait


def establish(workspace: Workspace) -> None:
    """Make the store where there is none, and ingest the files of other systems before anything else is recorded."""
    if workspace.create() and not workspace.is_off:
        catch_up(workspace)


def catch_up(workspace: Workspace, until: float | None = None, *, hurry: bool = False) -> CaughtUp:
    """Take in and notice; no longer than `until`, a moment of the monotonic clock."""
    for layout in present(workspace):
        layout.ingest(workspace)
    result = take_in(workspace, until, hurry=hurry)
    result.interrupted = sweep(workspace)
    for run in result.interrupted:
        with workspace.reading() as journal:
            found = journal.get_run(run)
        find_layout(found.layout).keep_interrupted(workspace, found)
    face(workspace)
    return result


def face(workspace: Workspace) -> None:
    """Let the files that show our runs to other systems say what the journal says."""
    for layout in present(workspace):
        layout.reconcile(workspace)


def take_in(workspace: Workspace, until: float | None = None, *, hurry: bool = False) -> CaughtUp:
    """Turn every kept call into events. One process does it; others wait for it, and find nothing left.

    Removing many files takes as long as taking them in. Whoever is in a hurry leaves that to the next one, who knows
    them by their events.
    """
    result = CaughtUp()
    waiting = inbox.waiting(workspace.inbox)
    if not waiting:
        return result
    from holdfast.ingest.drain import take_batch  # what calls mean takes its time to load, and mostly none wait

    handled = 0
    while waiting:
        with workspace.writing(for_session=False) as journal:
            batch = take_batch(workspace, journal, waiting)
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
        workspace.progress("taking in calls", handled, handled + len(waiting))  # more may have come meanwhile
        if waiting == tried or (until is not None and time.monotonic() > until):
            break
    inbox.clear_leftovers(workspace.inbox, time.time())
    _hold_later(workspace)
    if result.unread:
        _tell_unread(workspace, result.unread)
    return result


def _tell_unread(workspace: Workspace, unread: dict[str, Trouble]) -> None:
    """Say of all of them at once that they wait, what is wrong with the first, and what can be done."""
    import shlex  # a disk that fails is rare

    name, error = next(iter(unread.items()))
    path = one_line(path_text(workspace.place / "inbox" / name), 300)
    told = f"{count(len(unread), 'kept call')} cannot be read for the moment; the others are taken in: {path}"
    ways = [*error.hints, f"`mv {shlex.quote(path)} .` takes it out of the way"]
    workspace.warn(f"{told}: {error.message}; {'; '.join(ways)}")


def _hold_later(workspace: Workspace) -> None:
    """Where the journal alone is larger than the store may be, let it be tidied where nobody waits."""
    size = workspace.store.size()
    if size > workspace.settings.whole("store.cap") * 1_000_000:
        from holdfast.project.quota import has_outgrown

        if has_outgrown(workspace, size):
            detach.go_on_later(str(workspace.root))


def sweep(workspace: Workspace) -> list[str]:
    """Mark as interrupted what died. Only evidence counts: silence and odd clocks prove nothing."""
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
