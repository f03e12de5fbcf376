"""Conversion of Parrot's hook payloads to events."""

from __future__ import annotations

from typing import Any

from holdfast.agents.generic_client import text_of
from holdfast.agents.protocol import Moment, Reading
from holdfast.core import chat_commands
from holdfast.core.model import Beginning, Body, Draft
from holdfast.project.inbox import Call

from .client import CONVERSATION, MOMENTS

BEGINNINGS = {"new": Beginning.STARTUP, "again": Beginning.RESUME}


def read_call(call: Call) -> Reading:
    payload = call.payload if isinstance(call.payload, dict) else {}
    moment = Moment(MOMENTS.get(call.event, Moment.OTHER))
    kind, body = _told(moment, payload) or ("call.kept", {"agent": call.agent, "event": call.event, "call": payload})
    words = text_of(payload, "words")
    return Reading(
        [Draft(kind, body, id=call.id, time=call.time, agent=call.agent)],
        moment,
        conversation=conversation_in(payload) or call.environment.get(CONVERSATION or ""),
        begins=BEGINNINGS.get(text_of(payload, "how"), Beginning.STARTUP) if moment is Moment.START else None,
        ends=(text_of(payload, "why") or "closed") if moment is Moment.END else None,
        transcript=text_of(payload, "log") or None,
        goal=words if moment is Moment.PROMPT and words and not chat_commands.parse(words) else None,
        prompt=words if moment is Moment.PROMPT else None,
        waits=moment is Moment.TURN,
    )


def conversation_in(payload: Any) -> str | None:
    return text_of(payload, "talk") or None


def _told(moment: Moment, payload: Body) -> tuple[str, Body] | None:
    words = text_of(payload, "words")
    if moment is Moment.PROMPT and words:
        return ("command.typed" if chat_commands.parse(words) else "prompt.given"), {"text": words}
    if moment is Moment.TURN:
        return "turn.ended", {"text": words}
    if moment is Moment.COMPACTED:
        return "context.compacted", {"trigger": "auto", "summary": words}
    if moment is Moment.ACTION:
        file = text_of(payload, "file")
        done = "action.taken" if payload.get("done") is True else "action.begun"
        return done, {
            "text": text_of(payload, "act"),
            "key": text_of(payload, "number"),
            "files": [file] if file else [],
        }
    return None
