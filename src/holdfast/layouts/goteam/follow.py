"""Events of a Go Team run that follow from a client's calls, beside the actions that every run has.

The run is handed off to a subagent that starts. While the client waits for an answer, the run is at a breakpoint.
"""

from __future__ import annotations

from typing import Any

from holdfast.agents.protocol import Reading
from holdfast.core.model import Draft, Run, Session
from holdfast.core.text import one_line

ANSWERED = ("prompt.given", "action.taken", "action.begun")


def follow(run: Run, session: Session | None, reading: Reading) -> list[Draft]:
    found: list[Draft] = []
    waiting = run.standing.is_waiting
    for draft in reading.drafts:
        if draft.kind == "subagent.started" and (agent := one_line(str(draft.body.get("type") or ""), 100)):
            if agent != run.standing.agent:
                found.append(_like(draft, "handoff.made", {"agent": agent}))
        elif draft.kind in ANSWERED and waiting:
            found.append(_like(draft, "breakpoint.set", {"on": False}))
            waiting = False
    if reading.waits and not waiting:
        found.append(_like(reading.drafts[0], "breakpoint.set", {"on": True}))
    return found


def _like(draft: Draft, kind: str, body: dict[str, Any]) -> Draft:
    return Draft(kind, body, time=draft.time, session=draft.session, agent=draft.agent)
