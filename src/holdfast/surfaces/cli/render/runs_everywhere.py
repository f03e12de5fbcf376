"""Runs of every project in a table."""

from __future__ import annotations

from holdfast.core.text import count, one_line
from holdfast.operations.runs_everywhere import RunsEverywhere
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.clock import ago

PASSED_OVER = 5  # projects that are named


@renders(RunsEverywhere)
def said_everywhere(found: RunsEverywhere, view: View) -> Said:
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
         each.directory, one_line(view.workspace.hide(each.run.title), 60)]
        for each in found.runs
    ]  # fmt: skip
    talk.append("Go on with one: `cd` to its directory, then `holdfast resume RUN`")
    return Said(found, lambda: terminal.table(["run", "status", "last", "directory", "goal"], rows), talk)
