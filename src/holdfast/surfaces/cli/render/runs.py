"""Runs: how they begin, rest and end; lists of them; events that a search finds."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holdfast.core.model import Run, Session
from holdfast.core.text import count, one_line
from holdfast.layouts.registry import find_layout
from holdfast.surfaces.cli.render import View, listed, renders, say
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.clock import ago, shown

if TYPE_CHECKING:
    from holdfast.operations import lifecycle, run, runs, search, start

PASSED_OVER = 5  # projects that are named


def megabytes(number: int) -> str:
    return f"{number / 1_000_000:,.1f} MB"


def told_session(session: Session) -> str:
    return f"Its session is {session.id}; hand it on with `export HOLDFAST_SESSION={session.id}`"


def _settled(found: lifecycle.Settled) -> str:
    now = f"{found.run.id} is {found.run.status}" if found.changed else f"{found.run.id} was {found.run.status} already"
    return f"{now}: {one_line(found.run.title, 80)}"


say(
    {
        "lifecycle.Settled": lambda found: (found.run.id, _settled(found)),
        "lifecycle.Left": lambda found: (
            found.session.id,
            f"Ended {found.session.id}" if found.changed else "It had ended already",
        ),
    }
)


@renders
def said_started(found: start.Started, view: View) -> Said:
    layout = find_layout(found.run.layout)
    talk: list[Line] = list(view.given.get("earlier", ()))
    talk += layout.started_screen(found.run, view.workspace.settings.number("save.interval"))
    is_shown = bool(talk)
    if not is_shown:
        talk.append(f"Started {found.run.id}: {one_line(found.run.goal, 80)}")
    talk += [f"Paused {id}" for id in found.paused]
    talk += [f"Archived {id}" for id in found.archived]
    for run in () if is_shown else found.resumable:
        talk.append(f"Could go on instead: `holdfast switch {run.id}`  {run.status}, {one_line(run.title, 60)}")
    if found.session:
        talk.append(told_session(found.session))
    return Said(found, [found.run.id], talk)


@renders
def said_switched(found: lifecycle.Switched, view: View) -> Said:
    moved = [f"It moved here from {found.moved_from}"] if found.moved_from else []
    return Said(found, [found.run.id], [f"Now on {found.run.id}: {one_line(found.run.title, 80)}", *moved])


@renders
def said_joined(found: lifecycle.Joined, view: View) -> Said:
    talk: list[Line] = [f"Joined {found.run.id}: {one_line(found.run.title, 80)}", told_session(found.session)]
    talk += [f"Taken over from {session.id}" for session in found.taken_from]
    talk += [f"Also on it: {session.id}" for session in found.others]
    return Said(found, [found.session.id], talk)


@renders
def said_ran(found: run.Ran, view: View) -> Said:
    cause = f"{found.run} is {found.status}: the command was ended by {found.signal}"
    return Said(found, talk=[("warn", cause)] if found.signal else [], code=found.code)


def _last(run: Run) -> str:
    return ago(run.updated) if run.updated else "-"


@renders
def said_runs(found: runs.RunsListed, view: View) -> Said:
    rows = [
        [str(number), run.id, run.status, _last(run), one_line(run.title, 80)]
        for number, run in enumerate(found.runs, 1)
    ]
    talk = [f"More: `holdfast runs --after {found.next}` (with the same filters)"] if found.next else []
    if found.partial:
        talk.append("No event has all words; these runs have events with most of them, the best first.")
    talk += _suggested(found)
    return listed(found, "# run status last goal", rows, talk, none="No run fits.")


@renders
def said_everywhere(found: runs.RunsEverywhere, view: View) -> Said:
    talk: list[Line] = list(_passed_over(found.passed_over))
    if found.runs:
        talk.append("Go on with one: `cd` to its directory, then `holdfast resume RUN`")
    rows = [
        [each.run.id, each.run.status, _last(each.run), each.directory, _title(each.run, view)] for each in found.runs
    ]
    return listed(found, "run status last directory goal", rows, talk, none="No run fits.")


def _passed_over(projects: Sequence[runs.PassedOver]) -> Iterator[Line]:
    for passed in projects[:PASSED_OVER]:
        yield ("warn", f"Passed over {one_line(passed.project, 200)}: {one_line(passed.why, 200)}")
    if len(projects) > PASSED_OVER:
        yield ("warn", f"and {count(len(projects) - PASSED_OVER, 'more project')}")


def _title(run: Run, view: View) -> str:
    return one_line(view.workspace.hide(run.title), 60)


@renders
def said_past_runs(found: runs.PastRuns, view: View) -> Said:
    return said_history(found, view.given.get("number", 10))


def said_history(found: runs.PastRuns, limit: int) -> Said:
    """Runs of the archive in a table, with the date on which each was created."""
    rows = [
        [
            str(number),
            run.id,
            found.words.get(run.id, run.status),
            shown(run.created) if run.created else "-",
            ago(run.status_since) if run.status_since and not run.status.is_open else "-",
            one_line(run.title, 80),
        ]
        for number, run in enumerate(found.runs, 1)
    ]
    talk = [f"There are more: `holdfast history --limit {min(10_000, 10 * limit)}`"] if found.more else []
    return listed(found, "# run status created ended goal", rows, talk, none="No run has ended yet.")


@renders
def said_sizes(found: runs.RunsSized, view: View) -> Said:
    rows = [
        [run.run, *map(megabytes, (run.total, run.events, run.values, run.checkpoints)), one_line(run.title, 60)]
        for run in found.runs
    ]
    talk: list[Line] = [f"Other runs: {megabytes(found.others)}"] if found.others else []
    talk += [f"No run's own: {what}, {megabytes(size)}" for what, size in found.rest.items() if size >= 50_000]
    talk.append(f"All together: {megabytes(found.room.total)} of {megabytes(found.cap)}")
    return listed(found, "run takes events values checkpoints goal", rows, talk)


@renders
def said_found(found: search.Searched, view: View) -> Said:
    if not found.found:
        return Said(found, talk=[*_suggested(found), _nothing(found.search)])
    return Said(found, list(_by_run(found.found)), [_order(found), *_suggested(found)])


@renders
def said_found_everywhere(found: search.SearchedEverywhere, view: View) -> Said:
    talk: list[Line] = list(_passed_over(found.passed_over))
    if not found.found:
        looked = f"No event of any project holds all of: {one_line(found.search, 80)}"
        return Said(found, talk=[*talk, *_suggested(found), looked])
    return Said(found, list(_by_run(found.found)), [*talk, _order(found), *_suggested(found)])


def _order(found: search.Searched | search.SearchedEverywhere) -> str:
    order = "the best first" if found.ranked else "the newest first"
    if found.partial:
        order = f"none with all words; these have most of them, {order}"
    return f"{count(len(found.found), 'event')}, {order}"


def _suggested(found: search.Searched | search.SearchedEverywhere | runs.RunsListed) -> Iterator[str]:
    if found.suggestion:
        yield f"Did you mean: {found.suggestion}"


def _nothing(text: str) -> str:
    """The message of a search without a match, with a hint."""
    looked = f"No event of this project that was asked about holds all of: {one_line(text, 80)}"
    beginning = next((word[:4] for word in text.split() if len(word) > 4 and word.isalnum()), None)
    if beginning is None:
        return f"{looked}. `holdfast search --all-projects {shlex.quote(one_line(text, 80))}` searches every project"
    return f"{looked}. `holdfast search '{beginning}*'` finds every word that begins so"


def _by_run(hits: Sequence[search.Found]) -> Iterator[Line]:
    """Events in groups: the run with the best one first."""
    groups: dict[tuple[str, str], list[search.Found]] = {}
    for hit in hits:
        groups.setdefault((getattr(hit, "directory", ""), hit.run), []).append(hit)
    for (directory, run), group in groups.items():
        about = [run, group[0].status, one_line(group[0].title, 60), one_line(directory)]
        yield ("dim", "  ".join(filter(None, about)))
        for hit in group:
            yield from _hit(hit)


def _hit(hit: search.Found) -> Iterator[Line]:
    checkpoint = f"  {hit.checkpoint}" if hit.checkpoint else ""
    yield ("dim", f"  #{hit.seq}  {hit.kind}  {shown(hit.time)}{checkpoint}")
    pieces, at = [("", "    ")], 0
    for first, last in hit.marks:
        pieces += [("", hit.text[at:first]), ("match", hit.text[first:last])]
        at = last
    yield [*pieces, ("", hit.text[at:])]
