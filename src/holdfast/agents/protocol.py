"""What an adapter is: a module that turns one kept call into events."""

from __future__ import annotations

from typing import Protocol

from holdfast.intake import Call
from holdfast.model import Draft


class Agent(Protocol):
    def read_call(self, call: Call) -> list[Draft]:
        """The events that a call stands for, the first one carrying the call's own id."""
        ...
