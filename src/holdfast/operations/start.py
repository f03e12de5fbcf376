"""Begin a run. The one that was open here before is paused and stays."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from holdfast import choosing, history, ids, steps as planning
from holdfast.attending import attend, attended
from holdfast.journal import Journal
from holdfast.lifecycle import Move
from holdfast.model import Draft, Run, Session, Status
from holdfast.stores.protocol import RunQuery
from holdfast.text import path_text
from holdfast.verbs import verb
from holdfast.wording import as_tuple, checked
from holdfast.workspace import Workspace


class Started(Struct):
    run: Run
    session: Session | None
    paused: list[str]
    resumable: list[Run]


@verb
def start(
    workspace: Workspace, goal: str, *, steps: Sequence[str] = (), pid: int | None = None, agent: str | None = None
) -> Started:
    """Begin a run in this worktree, and make it the one that commands here mean.

    With `steps`, these are planned, and the last of them that is completed completes the run. With `pid`, a session
    that lives and dies with that process is opened on it.
    """
    checked(goal, "goal")
    plan = planning.checked_plan(as_tuple(steps))
    workspace.create()
    worktree = workspace.worktree
    with workspace.writing() as journal:
        paused = _pause_earlier(journal, worktree)
        resumable, _ = journal.list_runs(RunQuery(worktree=worktree, statuses=choosing.OPEN_STATUSES, limit=5))
        body = {"goal": goal, "layout": "native", "worktree": worktree, "directory": path_text(workspace.root)}
        run = journal.start(ids.make("run"), Draft("run.started", body, time=workspace.clock.now()))
        if plan:
            journal.append(run.id, Draft("step.planned", {"steps": plan}))
        journal.point(worktree, run.id)
        session = attend(workspace, journal, run, pid, agent) if pid is not None else None
        return Started(run, session, paused, resumable)


def _pause_earlier(journal: Journal, worktree: str) -> list[str]:
    """Pause the runs that are active here, except those on which somebody is at work."""
    statuses = frozenset({Status.ACTIVE.value, Status.CREATED.value})
    runs, _ = journal.list_runs(RunQuery(worktree=worktree, statuses=statuses, limit=1000))
    paused = [run.id for run in runs if not attended(journal, run.id)]
    for id in paused:
        journal.append(id, history.status_draft(Move.PAUSE, "another run was started"))
    return paused
