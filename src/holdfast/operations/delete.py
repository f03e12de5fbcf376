"""Remove a run with everything that belongs to it alone."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing, departed, purging, teampurging
from holdfast.attending import attended
from holdfast.errors import Busy
from holdfast.journal import Journal
from holdfast.model import Run
from holdfast.purging import Purge, Purged
from holdfast.teamwork import LAYOUT
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Deleted(Struct):
    run: str
    goal: str
    events: int
    purge: Purged | None = None  # what `--purge` removed beside


@verb
def delete(workspace: Workspace, run: str, *, purge: bool = False) -> Deleted:
    """Delete a run. Refused while somebody who is alive works on it.

    With `purge`, its checkpoints go too, and no byte of it stays in the store. One that was interrupted is finished.
    """
    if purge and (begun := _begun(workspace)):
        done = Deleted(begun.run, "", 0, purging.finish(workspace, begun))
        if purging.is_meant(begun, run):
            return done
    with workspace.writing(for_session=False) as journal:
        found = choosing.find_by_name(workspace, journal, run)
        _refuse_while_alive(journal, found)
        result = Deleted(found.id, found.goal, found.seq)
        plan = purging.begin(workspace, journal, found) if purge else None
        if plan is None:
            shown = list(teampurging.ours(workspace, found))
            _forget(workspace, journal, found)
    if plan is not None:
        result.purge = purging.finish(workspace, plan)
    elif found.layout == LAYOUT:  # its files would bring it back
        teampurging.forget(workspace, found.id, shown)
    return result


def _begun(workspace: Workspace) -> Purge | None:
    """A purge that was interrupted. Where the journal still has the run, nothing is gone, and nothing need be."""
    found = purging.find_pending(workspace.place)
    with workspace.reading() as journal:
        return found if found and journal.find_run(found.run) is None else None


def _forget(workspace: Workspace, journal: Journal, run: Run) -> None:
    conversations = {session.agent_session for session in journal.list_sessions(run.id) if session.agent_session}
    departed.note_deleted(workspace.place, run.id, conversations)
    journal.delete(run.id)


def _refuse_while_alive(journal: Journal, run: Run) -> None:
    for session in attended(journal, run.id):
        assert session.process is not None
        raise Busy(
            f"Run {run.id} is being worked on",
            [("session", session.id), ("process", session.process.pid), ("host", session.process.host)],
            ["end that process first", f"`holdfast abandon --run {run.id}` gives the run up and keeps it"],
        )
