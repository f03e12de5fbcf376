"""Deletion of a run, and its purge: no byte of it stays in the store."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Struct

from holdfast.core.errors import Busy, NotFound
from holdfast.core.model import Run
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import one_line
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_rules
from holdfast.maintenance import purge as purging
from holdfast.maintenance.purge import Purge, Purged
from holdfast.operations.parameters import YES, Kind, argument, option
from holdfast.operations.show import show
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.runs import select, tombstones
from holdfast.project.sessions import is_own, live_sessions
from holdfast.project.workspace import Workspace


class Deleted(Struct):
    run: str
    goal: str
    events: int
    purge: Purged | None = None  # with `--purge`: what else was removed


def _ask_to_delete(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    run, purge = given["run"], given.get("purge", False)
    if given.get("yes") or (
        purge and (purging.is_meant(purging.find_pending(workspace.place), run) or purging.find_gone(workspace, run))
    ):
        return None
    found = show(workspace, run).run
    scope = "all its checkpoints and every copy of it" if purge else "all its events"
    prompt = f"Delete {found.id} ({one_line(found.title, 60)}) with {scope}, for good?"
    return confirmation(prompt, f"holdfast delete {found.id}{' --purge' if purge else ''}")


@verb(
    group=Group.CARE,
    example="holdfast delete run-4x9k2m7pq3 --yes",
    about="delete a run for good",
    asks=_ask_to_delete,
    options=(YES,),
)
def delete(
    workspace: Workspace,
    run: Annotated[str, argument(kind=Kind.RUN)],
    *,
    purge: Annotated[bool, option(help="Its checkpoints too; no byte of it stays in the store.")] = False,
) -> Deleted:
    """Delete a run with all its events, for good."""
    if purge and (begun := _find_interrupted(workspace)):
        done = Deleted(begun.run, "", 0, purging.finish(workspace, begun))
        if purging.is_meant(begun, run):
            return done
    if purge and (gone := purging.find_gone(workspace, run)):
        with workspace.writing(for_session=False) as journal:
            purging.begin_again(workspace, journal, gone)
        return Deleted(gone.run, "", 0, purging.finish(workspace, gone))
    with workspace.writing(for_session=False) as journal:
        found = _find(workspace, journal, run, purge)
        _refuse_while_alive(workspace, journal, found)
        result = Deleted(found.id, found.goal, found.seq)
        plan = purging.begin(workspace, journal, found) if purge else _forget(workspace, journal, found)
    if purge:
        result.purge = purging.finish(workspace, plan)
    elif find_rules(found.layout).returns:
        purging.purge_files(workspace, plan)
    return result


def _find(workspace: Workspace, journal: Journal, run: str, purge: bool) -> Run:
    try:
        return select.find_by_name(workspace, journal, run)
    except NotFound as error:
        if purge:
            error.hints.append(
                "nothing here was deleted under this name; `holdfast uninit --purge` deletes the whole store"
            )
        raise


def _find_interrupted(workspace: Workspace) -> Purge | None:
    """Return an interrupted purge. While the journal still has the run, nothing was deleted and it need not finish."""
    found = purging.find_pending(workspace.place)
    with workspace.reading() as journal:
        return found if found and journal.find_run(found.run) is None else None


def _forget(workspace: Workspace, journal: Journal, run: Run) -> Purge:
    plan = purging.plan_purge(workspace, journal, run)
    conversations = {session.agent_session for session in journal.list_sessions(run.id) if session.agent_session}
    tombstones.note_deleted(workspace.here, run.id, conversations, msgspec.json.encode(plan))
    journal.delete(run.id)
    return plan


def _refuse_while_alive(workspace: Workspace, journal: Journal, run: Run) -> None:
    for session in live_sessions(journal, run.id):
        assert session.process is not None
        is_ours = is_own(workspace, session)
        which = "This" if is_ours else "Another"
        end = "end this session first, then delete the run from outside" if is_ours else "end that process first"
        raise Busy(
            f"{which} session works on run {run.id}",
            [("session", session.id), ("process", session.process.pid), ("host", session.process.host)],
            [end, f"`holdfast abandon --run {run.id}` gives the run up but keeps it"],
        )
