"""A subagent of the client is a note on the card."""

from __future__ import annotations

from holdfast.agents.protocol import Reading
from holdfast.core.model import Draft, Run, Session


def follow(run: Run, session: Session | None, reading: Reading) -> list[Draft]:
    told = [draft for draft in reading.drafts if draft.kind == "subagent.started"]
    return [Draft("note.added", {"text": f"helper {draft.body.get('type')}"}, time=draft.time) for draft in told]
