"""Remove a run with everything that belongs to it alone."""

from __future__ import annotations

from msgspec import Struct

from holdfast import choosing
from holdfast.attending import attended
from holdfast.errors import Busy
from holdfast.journal import Journal
from holdfast.model import Run
from holdfast.verbs import verb
from holdfast.workspace import Workspace


class Deleted(Struct):
    run: str
    goal: str
    events: int


@verb
def delete(workspace: Workspace, run: str) -> Deleted:
    """Delete a run. Refused while somebody who is alive works on it."""
    with workspace.writing(for_session=False) as journal:
        found = choosing.find_by_name(workspace, journal, run)
        _refuse_while_alive(journal, found)
        result = Deleted(found.id, found.goal, found.seq)
        journal.delete(found.id)
        return result


def _refuse_while_alive(journal: Journal, run: Run) -> None:
    for session in attended(journal, run.id):
        assert session.process is not None
        raise Busy(
            f"Run {run.id} is being worked on",
            [("session", session.id), ("process", session.process.pid), ("host", session.process.host)],
            ["end that process first", f"`holdfast abandon --run {run.id}` gives the run up and keeps it"],
        )
