"""The agents of a run."""

from __future__ import annotations

from holdfast.core.model import Worker
from holdfast.core.text import one_line
from holdfast.operations.agent import AgentsListed, AgentTold
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said


@renders(AgentTold)
def said_agent(found: AgentTold, view: View) -> Said:
    one, now = found.agent, "is" if found.changed else "was already"
    far = f" at {one.progress} %" if one.progress is not None and one.completed is None else ""
    return Said(found, [one.id], [f"Agent {one.id} of {found.run} {now} {one.status}{far}: {one_line(one.task, 80)}"])


@renders(AgentsListed)
def said_agents(found: AgentsListed, view: View) -> Said:
    if not found.agents:
        return Said(found, talk=["No agent yet."])
    rows = [[one.id, one.status, _far(one), one.task, one.result or one.error or ""] for one in found.agents]
    advised = f"; mode advises {found.at_once} at once" if found.at_once else ""
    talk = [f"{found.progress} % complete, {found.at_work} at work{advised}"]
    return Said(found, lambda: terminal.table(["agent", "state", "done", "what", "outcome"], rows), talk)


def _far(worker: Worker) -> str:
    return f"{worker.progress or 0} %" if worker.completed is None else ""
