"""Replies in the form that Parrot expects from its hooks."""

from __future__ import annotations

import json

from holdfast.agents.protocol import Moment

BRIEF_LIMIT = 5_000
ANSWERS = frozenset({Moment.START})


def reply(event: str, text: str, notice: str | None) -> str:
    return json.dumps({"tell": text, "show": notice}) + "\n"


def refuse_prompt(text: str) -> str:
    return json.dumps({"stop": text}) + "\n"
