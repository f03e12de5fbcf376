"""What runs take on the disk, in words."""

from __future__ import annotations

from holdfast.core.text import one_line
from holdfast.operations.disk_usage import RunsSized
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


def megabytes(number: int) -> str:
    return f"{number / 1_000_000:,.1f} MB"


@renders(RunsSized)
def said_sizes(found: RunsSized, view: View) -> Said:
    rows = [
        [
            run.run,
            megabytes(run.total),
            megabytes(run.events),
            megabytes(run.values),
            megabytes(run.checkpoints),
            one_line(run.title, 60),
        ]
        for run in found.runs
    ]
    talk: list[Line] = [f"Other runs: {megabytes(found.others)}"] if found.others else []
    talk += [f"No run's own: {what}, {megabytes(size)}" for what, size in found.rest.items() if size >= 50_000]
    total = f"All together: {megabytes(found.room.total)} of {megabytes(found.cap)}"
    head = ["run", "takes", "events", "values", "checkpoints", "goal"]
    return Said(found, lambda: terminal.table(head, rows), [*talk, total])
