"""The steps of a run."""

from __future__ import annotations

from holdfast.core.text import one_line
from holdfast.layouts.registry import find_layout
from holdfast.operations.step import Stepped, StepsListed
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line, when


@renders(StepsListed)
def said_steps(found: StepsListed, view: View) -> Said:
    if not found.steps:
        return Said(found, talk=["No step yet."])
    rows = [
        [str(number), one.status, one.name, one.agent or "-", when(one.ended or one.started), one.error or ""]
        for number, one in enumerate(found.steps, 1)
    ]
    return Said(found, lambda: terminal.table(["#", "state", "step", "agent", "since", "what"], rows))


@renders(Stepped)
def said_step(found: Stepped, view: View) -> Said:
    now = "is" if found.changed else "was"
    already = "" if found.changed else " already"
    talk: list[Line] = [f"Step {one_line(found.step.name, 80)} of {found.run} {now} {found.step.status}{already}"]
    if found.checkpoint:
        talk.append(f"It is kept as {found.checkpoint}")
    if found.left:
        names = ", ".join(one_line(name, 60) for name in found.left[:5])
        talk.append(
            ("warn", f"{found.run} stays open, because these are not completed: {names}; `holdfast complete` ends it")
        )
    if found.completed:
        talk.append(f"It was the last one: {found.run} is completed")
        if found.checkpoint:
            with view.workspace.reading() as journal:
                run = journal.get_run(found.run)
            talk += find_layout(run.layout).completed_screen(run)
    return Said(found, [found.step.name], talk)
