"""What a layout is: a module that says what an agent's doings mean for a run of its system."""

from __future__ import annotations

from typing import Protocol

from holdfast.agents.protocol import Reading
from holdfast.core.lifecycle import Rules
from holdfast.core.model import Draft, Run, Session


class Layout(Protocol):
    NAME: str
    RULES: Rules

    def follow(self, run: Run, session: Session | None, reading: Reading) -> list[Draft]:
        """What follows for the run from a conversation that begins, is compacted, acts or ends: events to be added."""
        ...
