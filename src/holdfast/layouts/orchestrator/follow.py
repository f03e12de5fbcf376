"""Record the subagents of a client as agents of the orchestrator's run."""

from __future__ import annotations

import re

from holdfast.agents.protocol import Reading
from holdfast.core.fold import steps
from holdfast.core.model import Draft, Run, Session
from holdfast.core.text import one_line

NOT_IN_A_TYPE = re.compile(r"[^a-z0-9_-]+")


def follow(run: Run, session: Session | None, reading: Reading) -> list[Draft]:
    tellers = {"subagent.started": _sent, "subagent.ended": _returned}
    known = (draft for draft in reading.drafts if draft.kind in tellers)
    return [told for draft in known for told in tellers[draft.kind](run, draft)]


def _sent(run: Run, draft: Draft) -> list[Draft]:
    key = str(draft.body.get("key") or "")
    if not key or steps.find_by_key(run, key):
        return []
    type = NOT_IN_A_TYPE.sub("-", str(draft.body.get("type") or "").lower()).strip("-_")[:40] or "agent"
    task = f"{draft.body.get('type')} of the client"
    body = {"entry": steps.next_id(run, type), "type": type, "task": one_line(task, 200), "key": key}
    return [Draft("agent.started", body, time=draft.time, session=draft.session, agent=draft.agent)]


def _returned(run: Run, draft: Draft) -> list[Draft]:
    worker = steps.find_by_key(run, str(draft.body.get("key") or ""))
    if worker is None or worker.status != steps.IN_PROGRESS:
        return []
    body = {"entry": worker.id, "key": worker.key, "result": one_line(str(draft.body.get("text") or ""), 500)}
    return [Draft("agent.completed", body, time=draft.time, session=draft.session, agent=draft.agent)]
