"""Runs of all projects of this user, newest first."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import UTC, datetime

from msgspec import Struct

from holdfast.core.errors import Busy, HoldfastError
from holdfast.core.model import Run
from holdfast.ingest import catch_up
from holdfast.journal.store import RunQuery
from holdfast.operations.runs import AgentName, Layouts, Limit, Since, Statuses, Tag, Until, Words
from holdfast.operations.verb import verb
from holdfast.project import known_projects
from holdfast.project.known_projects import Claim
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import locate
from holdfast.system.safe_paths import real_path

PATIENCE = 1.0  # seconds to ingest the inbox of another project
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Elsewhere(Struct):
    """A run and its project."""

    project: str
    run: Run
    directory: str  # to resume it in: its own, if that still belongs to the project


class PassedOver(Struct):
    """A project that could not be read."""

    project: str
    why: str


class RunsEverywhere(Struct):
    runs: list[Elsewhere]
    passed_over: list[PassedOver]


@verb("runs --all-projects", changes=False)
def everywhere(
    workspace: Workspace,
    *,
    status: Statuses = (),
    layout: Layouts = (),
    agent: AgentName = None,
    tag: Tag = None,
    since: Since = None,
    until: Until = None,
    search: Words = None,
    limit: Limit = None,
) -> RunsEverywhere:
    """List the runs of every project of this user on this machine, newest first.

    Projects that cannot be read are named.
    """
    query = RunQuery(
        statuses=select.statuses(status, "runs"),
        layouts=select.layouts(layout),
        labels=select.labels(agent, tag),
        since=select.moment(since),
        until=select.moment(until),
        search=search,
        limit=select.length(workspace, limit),
    )
    result = RunsEverywhere([], [])
    known = known_projects.known(workspace.user_directory("state") / "stores")
    for number, claim in enumerate(known):
        workspace.progress("reading projects", number, len(known))
        try:
            found = _list_runs(workspace, claim, query)
            result.runs += [Elsewhere(claim.root, run, _directory_of(run, claim)) for run in found]
        except HoldfastError as error:
            result.passed_over.append(PassedOver(claim.root, error.message))
    result.runs.sort(key=lambda found: found.run.updated or LONG_AGO, reverse=True)
    del result.runs[query.limit :]
    return result


def _directory_of(run: Run, claim: Claim) -> str:
    """Return the run's directory; the project's if the run is of another machine or its worktree is gone."""
    if not os.path.isabs(run.directory) or not os.path.isdir(run.directory):
        return claim.root
    _, store = locate.locate_store(real_path(run.directory))
    return run.directory if store == claim.path else claim.root


def _list_runs(workspace: Workspace, claim: Claim, query: RunQuery) -> list[Run]:
    known_projects.check_there(claim)
    other = Workspace(
        claim.project, claim.place, clock=workspace.clock, environ=workspace.environ, rules_of=workspace.rules_of
    )
    with other:
        other.check_ours()
        if not other.is_off:
            with contextlib.suppress(Busy):  # another process ingests at the moment
                catch_up.ingest_inbox(other, time.monotonic() + PATIENCE)
                catch_up.mark_dead_sessions(other)
        with other.reading() as journal:
            return journal.list_runs(query)[0]
