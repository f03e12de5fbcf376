"""What an adapter is: a module that says what one kept call means."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from msgspec import Struct

from holdfast.core.model import Draft
from holdfast.project.inbox import Call

ENTRY = Path(__file__).parents[1] / "surfaces/hooks/entry.py"  # the script that hooks run
ACTING = ("action.begun", "action.taken", "subagent.started")


class Reading(Struct):
    """What a call says: its events, and the conversation that it is part of, where the agent has such a thing."""

    drafts: list[Draft]  # the first one carries the call's own id
    conversation: str | None = None
    begins: str | None = None  # how a conversation begins: startup, resume, clear, compact, fork
    ends: str | None = None  # why it ends
    transcript: str | None = None  # the file in which the agent itself keeps it
    goal: str | None = None  # what a run would be about that has to be started for it

    @property
    def acts(self) -> bool:
        """Whether the agent does something: its conversation has more than begun, whether or not a prompt was seen."""
        return any(draft.kind in ACTING for draft in self.drafts)


class Agent(Protocol):
    def read_call(self, call: Call) -> Reading:
        """What a call means. Whatever is in it, there is an answer."""
        ...

    def command(self, conversation: str | None) -> list[str]:
        """What goes on with a conversation, or begins one; empty where nobody knows."""
        ...
