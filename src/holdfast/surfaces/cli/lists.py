"""Look: runs, show, sessions, log, history."""

from __future__ import annotations

import time

import click

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.text import count, one_line
from holdfast.operations import disk_usage as sizing, look, past_runs
from holdfast.operations.runs import runs as list_runs
from holdfast.operations.runs_everywhere import RunsEverywhere, everywhere
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.decorators import moment, run_option, verb
from holdfast.surfaces.cli.render.details import told_event, told_run
from holdfast.surfaces.cli.render.lists import said_history, said_runs
from holdfast.surfaces.cli.render.sizes import said_sizes
from holdfast.surfaces.cli.runner import Said, print_json
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.clock import ago

PASSED_OVER = 5  # projects that are named
FOLLOW = 0.3  # seconds between two looks at the journal


@verb('holdfast runs --status open --search "retry back*"')
@click.option("--status", multiple=True, metavar="STATUS", help="Only this status, or `open`. Can be repeated.")
@click.option("--layout", multiple=True, metavar="LAYOUT", help="Only runs of this layout.")
@click.option("--agent", metavar="NAME", help="Only runs that this agent worked on.")
@click.option("--tag", metavar="TAG", help="Only runs with this tag.")
@click.option("--since", metavar="WHEN", help="Worked on since: 2026-11-01, or 3d, 12h, 30m.")
@click.option("--until", metavar="WHEN", help="Worked on before.")
@click.option("--search", metavar="TEXT", help='Words in goals, prompts, decisions, files; `begin*`, "a phrase".')
@click.option("--here", is_flag=True, help="Only runs of this worktree.")
@click.option("--limit", type=click.IntRange(1, 10_000), metavar="N", help="At most N rows.")
@click.option("--after", metavar="KEY", help="The page after this key.")
@click.option("--size", is_flag=True, help="What each takes on the disk, the largest first.")
@click.option("--all-projects", is_flag=True, help="Of every project whose store was made here: where did I leave off?")
def runs(
    workspace: Workspace,
    since: str | None,
    until: str | None,
    here: bool,
    after: str | None,
    all_projects: bool,
    size: bool,
    **filters: object,
) -> Said:
    """Runs of this project, newest first. A row's number names its run in the next command."""
    between = {"since": moment(since), "until": moment(until)}
    if size:
        limit = filters.pop("limit")
        _refuse_filters([here, after, all_projects, *between.values(), *filters.values()])
        return said_sizes(sizing.sizes(workspace, limit=limit))  # type: ignore[arg-type]
    if all_projects:
        _refuse_here(here, after)
        return _everywhere(workspace, everywhere(workspace, **between, **filters))  # type: ignore[arg-type]
    return said_runs(list_runs(workspace, here=here, after=after, **between, **filters))  # type: ignore[arg-type]


def _refuse_filters(given: list[object]) -> None:
    if any(given):
        raise WrongUsage("`--size` is about all runs of this project", [], ["`holdfast runs --size --limit 50`"])


def _refuse_here(here: bool, after: str | None) -> None:
    if here or after:
        option = "--here" if here else "--after"
        raise WrongUsage(f"`{option}` is for the runs of this project", [], ["leave `--all-projects` out"])


def _everywhere(workspace: Workspace, found: RunsEverywhere) -> Said:
    talk: list[Line] = [
        ("warn", f"Passed over {one_line(passed.project, 200)}: {one_line(passed.why, 200)}")
        for passed in found.passed_over[:PASSED_OVER]
    ]
    if len(found.passed_over) > PASSED_OVER:
        talk.append(("warn", f"and {count(len(found.passed_over) - PASSED_OVER, 'more project')}"))
    if not found.runs:
        return Said(found, talk=[*talk, "No run fits."])
    rows = [
        [each.run.id, each.run.status, ago(each.run.updated) if each.run.updated else "-",
         each.directory, one_line(workspace.hide(each.run.title), 60)]
        for each in found.runs
    ]  # fmt: skip
    talk.append("Go on with one: `cd` to its directory, then `holdfast resume RUN`")
    return Said(found, lambda: terminal.table(["run", "status", "last", "directory", "goal"], rows), talk)


@verb("holdfast sessions --all")
@run_option
@click.option("--all", "every", is_flag=True, help="Of the whole project.")
@click.option("--limit", type=click.IntRange(1, 10_000), metavar="N", help="At most N rows.")
def sessions(workspace: Workspace, run: str | None, every: bool, limit: int | None) -> Said:
    """Who worked on a run, and how it ended."""
    found = look.sessions(workspace, run=run, every=every, limit=limit)
    if not found.sessions:
        return Said(found, talk=["No session yet."])
    rows = [
        [
            str(number),
            session.id,
            session.agent or "-",
            ago(session.opened),
            session.how or "open",
            session.reason or "",
        ]
        for number, session in enumerate(found.sessions, 1)
    ]
    return Said(found, lambda: terminal.table(["#", "session", "agent", "opened", "how", "what"], rows))


@verb("holdfast log -n 20 -f")
@run_option
@click.option("-n", "newest", type=click.IntRange(1, 2**31), metavar="N", help="Only the newest N.")
@click.option("-f", "--follow", is_flag=True, help="Stay, and print events as they come.")
def log(workspace: Workspace, run: str | None, newest: int | None, follow: bool) -> Said:
    """The events of a run, oldest first. With -f and --json, one object a line."""
    found = look.log(workspace, run=run, newest=newest)
    if not follow:
        return Said(found, [told_event(event) for event in found.events])
    return Said(found, stream=lambda as_json: _follow(workspace, found, as_json))


def _follow(workspace: Workspace, found: look.Logged, as_json: bool) -> None:
    """Print events until somebody presses Ctrl-C; with --json one object a line."""
    seen = 0
    while True:
        for event in found.events:
            print_json(event) if as_json else terminal.emit([told_event(event)])
            seen = event.seq
        time.sleep(FOLLOW)
        found = look.log(workspace, run=found.run, after=seen)


@verb("holdfast history --limit 20")
@click.argument("row", metavar="[N]", type=click.IntRange(1, past_runs.MOST), required=False)
@click.option(
    "--limit", type=click.IntRange(1, past_runs.MOST), default=10, metavar="N", help="How many; 10 by default."
)
@click.option("--here", is_flag=True, help="Only runs of this worktree.")
def history(workspace: Workspace, row: int | None, limit: int, here: bool) -> Said:
    """Runs that were completed, failed, aborted, abandoned or archived, newest first; with N, the one in row N."""
    found = past_runs.past_runs(workspace, max(limit, row or 0), here=here)
    if row is not None:
        return _one_of(workspace, found, row)
    return said_history(found, limit)


def _one_of(workspace: Workspace, found: past_runs.PastRuns, row: int) -> Said:
    """One run of the archive, in full. Going on with it is another matter."""
    if row > len(found.runs):
        raise NotFound(f"The history has no row {row}", [("rows", len(found.runs))], ["`holdfast history`"])
    shown = look.show(workspace, found.runs[row - 1].id)
    return Said(shown, list(told_run(shown)) if isinstance(shown, look.RunShown) else [])
