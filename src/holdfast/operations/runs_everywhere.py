"""Where did I leave off? Runs of all projects of this user, newest first."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import UTC, datetime
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import Busy, HoldfastError
from holdfast.core.model import Run
from holdfast.ingest import catch_up
from holdfast.journal.store import RunQuery
from holdfast.operations.parameters import option
from holdfast.operations.verb import verb
from holdfast.project import known_projects
from holdfast.project.known_projects import Claim
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import locate
from holdfast.system.safe_paths import real_path

PATIENCE = 1.0  # seconds for what another project's hooks have kept
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)


class Elsewhere(Struct):
    """A run, and its project."""

    project: str
    run: Run
    directory: str  # where one goes on with it: its own, if that is still one of this project


class PassedOver(Struct):
    """A project that could not be looked at."""

    project: str
    why: str


class RunsEverywhere(Struct):
    runs: list[Elsewhere]
    passed_over: list[PassedOver]


@verb("runs --all-projects", changes=False)
def everywhere(
    workspace: Workspace,
    *,
    status: Annotated[
        tuple[str, ...], option(metavar="STATUS", help="Only this status, or `open`. Can be repeated.")
    ] = (),
    layout: Annotated[tuple[str, ...], option(metavar="LAYOUT", help="Only runs of this layout.")] = (),
    agent: Annotated[str | None, option(metavar="NAME", help="Only runs that this agent worked on.")] = None,
    tag: Annotated[str | None, option(metavar="TAG", help="Only runs with this tag.")] = None,
    since: Annotated[
        datetime | None, option(metavar="WHEN", help="Worked on since: 2026-11-01, or 3d, 12h, 30m.")
    ] = None,
    until: Annotated[datetime | None, option(metavar="WHEN", help="Worked on before.")] = None,
    search: Annotated[
        str | None, option(metavar="TEXT", help='Words in goals, prompts, decisions, files; `begin*`, "a phrase".')
    ] = None,
    limit: Annotated[int | None, option(least=1, most=10_000, metavar="N", help="At most N rows.")] = None,
) -> RunsEverywhere:
    """Runs of every project whose store was made here: where did I leave off?

    What cannot be looked at is named.
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
        workspace.progress("looking at projects", number, len(known))
        try:
            found = _look(workspace, claim, query)
            result.runs += [Elsewhere(claim.root, run, _directory_of(run, claim)) for run in found]
        except HoldfastError as error:
            result.passed_over.append(PassedOver(claim.root, error.message))
    result.runs.sort(key=lambda found: found.run.updated or LONG_AGO, reverse=True)
    del result.runs[query.limit :]
    return result


def _directory_of(run: Run, claim: Claim) -> str:
    """A run may have come from another machine, and its worktree may be gone: then its project is the place."""
    if not os.path.isabs(run.directory) or not os.path.isdir(run.directory):
        return claim.root
    _, store = locate.locate_store(real_path(run.directory))
    return run.directory if store == claim.path else claim.root


def _look(workspace: Workspace, claim: Claim, query: RunQuery) -> list[Run]:
    known_projects.check_there(claim)
    other = Workspace(
        claim.project, claim.place, clock=workspace.clock, environ=workspace.environ, rules_of=workspace.rules_of
    )
    with other:
        other.check_ours()
        if not other.is_off:
            with contextlib.suppress(Busy):  # somebody else takes in just now
                catch_up.ingest_inbox(other, time.monotonic() + PATIENCE)
                catch_up.mark_dead_sessions(other)
        with other.reading() as journal:
            return journal.list_runs(query)[0]
