"""What runs take on the disk, in words."""

from __future__ import annotations

from holdfast.cli import words
from holdfast.cli.outcome import Said
from holdfast.cli.words import Line
from holdfast.operations.sizes import RunsSized
from holdfast.text import one_line


def megabytes(number: int) -> str:
    return f"{number / 1_000_000:,.1f} MB"


def said_sizes(found: RunsSized) -> Said:
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
    return Said(found, lambda: words.table(head, rows), [*talk, total])
