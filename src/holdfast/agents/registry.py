"""The agents whose hooks we understand, and the identification of the client that made a call.

Clients run each other's hooks, so the name on the command line is only a claim. The payload decides, then the variable
that marks a client. Variables are inherited by a client that another one starts, so they count only where the payload
names nobody.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from holdfast.agents import generic, generic_client
from holdfast.agents.payloads import text_of
from holdfast.agents.protocol import Agent
from holdfast.core.model import Body
from holdfast.project.inbox import Call
from holdfast.project.workspace import Caller
from holdfast.system.lazy_adapter import LazyAdapter

# In the order of recognition: Kimi's turns have a number like Codex's, and Qwen's transcripts lie below a directory
# `projects` like Claude's.
NAMES = ("kimi", "cursor", "copilot", "opencode", "codex", "gemini", "qwen", "claude")
DEFAULT = "claude"  # for runs that name no agent


class Client(Protocol):
    """A client as hooks see it: its `client.py`."""

    NAME: str
    LABEL: str
    MOMENTS: dict[str, str]
    CONVERSATION: str | None
    PROCESS: str | None
    MARK: str | None
    RECORDED: tuple[str, ...]
    TOOL: str | None
    PLACES: tuple[str, ...]

    def is_caller(self, payload: Body) -> bool: ...


def find_client(name: str) -> Client:
    module = import_module(f"holdfast.agents.{name}.client") if name in NAMES else generic_client
    return cast(Client, module)


@functools.cache
def find_agent(name: str | None) -> Agent:
    """The adapter of that name; calls of an agent without one are recorded as they are."""
    members = import_module(f"holdfast.agents.{name}").__dict__.get("MEMBERS") if name in NAMES else None
    return cast(Agent, LazyAdapter(f"holdfast.agents.{name}", members, generic) if members else generic)


def adapters() -> list[Agent]:
    """The agents that can be installed."""
    return [agent for name in NAMES if (agent := find_agent(name)) is not generic]


def identify(call: Call) -> None:
    """Correct the agent, the event and the process of a call by its payload."""
    payload = call.payload if isinstance(call.payload, dict) else {}
    call.agent = caller(call)
    call.event = text_of(payload, "hook_event_name") or text_of(payload, "hookName") or call.event
    if find_client(call.agent).PROCESS is None:
        call.process = call.parent or call.process


def caller(call: Call) -> str:
    """The agent that made a call. A name that no client here has is never contradicted."""
    if call.agent not in NAMES:
        return call.agent
    payload = call.payload if isinstance(call.payload, dict) else {}
    if found := next((name for name in NAMES if find_client(name).is_caller(payload)), None):
        return found
    runs_ours = find_client(call.agent).RECORDED  # the marks of clients that run its hooks are among these
    marks = ((name, find_client(name).MARK) for name in NAMES)
    return next((name for name, mark in marks if mark in runs_ours and mark in call.environment), call.agent)


def label(name: str) -> str:
    """The name of an agent as people know it."""
    return find_client(name).LABEL if name in NAMES else name


def find_callers(environ: Mapping[str, str]) -> tuple[Caller, ...]:
    """The clients that started this command, as far as the environment tells: one may have started another."""
    named = ((name, find_client(name).CONVERSATION) for name in reversed(NAMES))
    return tuple(Caller(name, environ[variable]) for name, variable in named if variable and environ.get(variable))


def variables_of(name: str | None) -> tuple[str | None, str | None]:
    """The variables in which a client tells its tools the conversation and its own process."""
    client = find_client(name or "")
    return client.CONVERSATION, client.PROCESS


def find_tool_mark(environ: Mapping[str, str]) -> str | None:
    """The variable which shows that an agent's tool started this command; None where a person may have typed it."""
    names = (mark for name in NAMES for mark in (find_client(name).TOOL, find_client(name).CONVERSATION))
    return next((name for name in names if name and name in environ), None)
