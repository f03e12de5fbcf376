"""An agent that nobody knows yet: every call is one plain event with the call as its body."""

from __future__ import annotations

from holdfast.agents.protocol import Reading
from holdfast.core.model import Draft
from holdfast.core.text import path_text
from holdfast.project.inbox import Call


def read_call(call: Call) -> Reading:
    body = {
        "agent": call.agent,
        "event": call.event,
        "call": call.payload,
        "directory": path_text(call.directory),
        "process": call.process,
        "boot": call.boot,
        "monotonic": call.monotonic,
    }
    return Reading([Draft("call.kept", body, id=call.id, time=call.time, agent=call.agent or None)])


def command(conversation: str | None) -> list[str]:
    return []
