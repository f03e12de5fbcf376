"""Registry of the supported agents, and identification of the client that made a call.

Clients run each other's hooks, so the name on the command line is only a claim. The payload decides; if it identifies
no client, the environment variable that marks one does. It comes second, since a client inherits the variables of the
client that started it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import import_module
from typing import Protocol, cast

from holdfast.agents import generic_client
from holdfast.agents.generic_client import text_of
from holdfast.agents.protocol import GENERIC, Agent
from holdfast.agents.recognised import CLIENTS
from holdfast.core.model import Body, object_of
from holdfast.project.inbox import Call
from holdfast.project.workspace import Caller
from holdfast.system.lazy_adapter import LazyAdapter

# In the order of identification: Kimi's turns have a number like Codex's, and Qwen's transcripts are in a directory
# `projects` like Claude's.
NAMES = ("kimi", "cursor", "copilot", "opencode", "codex", "gemini", "qwen", "claude")
DEFAULT = "claude"  # for runs without an agent


class Client(Protocol):
    """The description of a client for hooks: a `client.py`, or a row in `recognised.py`."""

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
    if name not in NAMES:
        return cast(Client, generic_client)
    return cast(Client, CLIENTS.get(name) or import_module(f"holdfast.agents.{name}.client"))


@functools.cache
def find_agent(name: str | None) -> Agent:
    """The adapter of that name, or the generic one."""
    if name not in NAMES or name in CLIENTS:
        return GENERIC
    package = f"holdfast.agents.{name}"
    return cast(Agent, LazyAdapter(package, import_module(package).MEMBERS, GENERIC))


def adapters() -> list[Agent]:
    """The agents that can be installed."""
    return [find_agent(name) for name in NAMES if name not in CLIENTS]


def identify(call: Call) -> None:
    """Correct the agent, event and process of a call from its payload."""
    payload = object_of(call.payload)
    call.agent = caller(call)
    call.event = text_of(payload, "hook_event_name") or text_of(payload, "hookName") or call.event
    if find_client(call.agent).PROCESS is None:
        call.process = call.parent or call.process


def caller(call: Call) -> str:
    """The agent that made a call. The claim of an unsupported agent is never overruled."""
    if call.agent not in NAMES:
        return call.agent
    payload = object_of(call.payload)
    if found := next((name for name in NAMES if find_client(name).is_caller(payload)), None):
        return found
    runs_ours = find_client(call.agent).RECORDED  # includes the marks of other clients that run its hooks
    marks = ((name, find_client(name).MARK) for name in NAMES)
    return next((name for name, mark in marks if mark in runs_ours and mark in call.environment), call.agent)


def label(name: str) -> str:
    """The display name of an agent."""
    return find_client(name).LABEL if name in NAMES else name


def find_callers(environ: Mapping[str, str]) -> tuple[Caller, ...]:
    """The clients that started this command, according to the environment: one may have started another."""
    named = ((name, find_client(name).CONVERSATION) for name in reversed(NAMES))
    return tuple(Caller(name, environ[variable]) for name, variable in named if variable and environ.get(variable))


def variables_of(name: str | None) -> tuple[str | None, str | None]:
    """The variables in which a client passes its conversation and its process id to its tools."""
    client = find_client(name or "")
    return client.CONVERSATION, client.PROCESS


def find_tool_mark(environ: Mapping[str, str]) -> str | None:
    """The variable that shows that an agent's tool started this command; None if a person may have typed it."""
    names = (mark for name in NAMES for mark in (find_client(name).TOOL, find_client(name).CONVERSATION))
    return next((name for name in names if name and name in environ), None)
