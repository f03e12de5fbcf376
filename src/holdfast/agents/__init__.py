"""The agents whose hooks we understand, and which of them really called."""

from __future__ import annotations

from holdfast.agents import claude, plain
from holdfast.agents.protocol import Agent
from holdfast.intake import Call

AGENTS: dict[str, Agent] = {"claude": claude}
MARKS = {"COPILOT_CLI": "copilot", "GEMINI_SESSION_ID": "gemini", "CURSOR_VERSION": "cursor"}


def caller(call: Call) -> str:
    """The agent that made a call. Some clients run the hooks that were meant for another one."""
    if call.agent != "claude":
        return call.agent
    payload = call.payload if isinstance(call.payload, dict) else {}
    if "turn_id" in payload:  # which only Codex sends
        return "codex"
    return next((name for mark, name in MARKS.items() if mark in call.environment), call.agent)


def find_agent(name: str) -> Agent:
    """The adapter of that name; an agent that nobody knows yet is kept plainly."""
    return AGENTS.get(name, plain)
