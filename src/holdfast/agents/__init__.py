"""The agents whose hooks we understand, by the name their hooks call us with."""

from __future__ import annotations

from holdfast.agents import plain
from holdfast.agents.protocol import Agent

AGENTS: dict[str, Agent] = {}


def find_agent(name: str) -> Agent:
    """The adapter of that name; an agent that nobody knows yet is kept plainly."""
    return AGENTS.get(name, plain)
