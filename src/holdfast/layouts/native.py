"""Our own runs: their events say all that there is to say."""

from __future__ import annotations

from holdfast.agents.protocol import Reading
from holdfast.core import lifecycle
from holdfast.core.model import Draft, Run, Session

NAME = "native"
RULES = lifecycle.NATIVE


def follow(run: Run, session: Session | None, reading: Reading) -> list[Draft]:
    return []
