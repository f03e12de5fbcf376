"""Replies in the form that Claude Code expects from its hooks."""

from __future__ import annotations

import json

from holdfast.agents.protocol import Moment

BRIEF_LIMIT = 10_000  # characters; the client saves a longer text to a file that no model reads
ANSWERS = frozenset({Moment.START, Moment.COMPACTING})
PLAIN = ("PreCompact",)  # the client adds the plain output to the instructions for the summary


def reply(event: str, text: str, notice: str | None) -> str:
    if event in PLAIN:
        return text
    shown = {"systemMessage": notice} if notice else {}
    return json.dumps({**shown, "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}) + "\n"


def refuse_prompt(text: str) -> str:
    return json.dumps({"decision": "block", "reason": text}) + "\n"
