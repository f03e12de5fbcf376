"""Contract of every adapter for a recorded call: it yields at least one event, and never fails."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from holdfast.agents import registry
from holdfast.agents.protocol import GENERIC, Agent
from holdfast.core import ids
from holdfast.core.model import Body, Draft, Process
from holdfast.core.text import sound
from holdfast.journal import codec
from holdfast.project.inbox import Call

PAYLOADS = Path(__file__).parents[1] / "payloads"
RECORDED = sorted(
    path.relative_to(PAYLOADS).as_posix() for path in PAYLOADS.glob("**/*.json") if path.parent != PAYLOADS
)
NAMES = {"codex-notify": "codex", "copilot-via-claude": "copilot"}  # recorded separately from the client's own hooks
CONVERSATIONS = {
    "session_id",
    "sessionId",
    "sessionID",
    "thread-id",
}  # some calls of OpenCode have none
ADAPTERS: dict[str, Agent] = {"generic": GENERIC, **{agent.NAME: agent for agent in registry.adapters()}}

EVERY_ADAPTER = pytest.mark.parametrize("agent", ADAPTERS.values(), ids=ADAPTERS.keys())


def a_call(**changes: Any) -> Call:
    fields = {
        "name": "00000000000000000001-abcdef01-123-00000000",
        "agent": "robot",
        "event": "Did",
        "time": datetime(2026, 1, 1, tzinfo=UTC),
        "boot": "abcdef01-0000",
        "monotonic": 1,
        "directory": "/project",
        "environment": {},
        "process": Process(122, "5000", "abcdef01-0000", "pid:[1]"),
        "payload": {},
    }
    return Call(**{**fields, **changes})


def check_drafts(call: Call, drafts: list[Draft]) -> None:
    assert drafts
    assert drafts[0].id == call.id == ids.event_of_call(call.name)
    known = [draft.id for draft in drafts if draft.id]
    assert len(known) == len(set(known))
    for draft in drafts:
        body = cast(Body, sound(msgspec.to_builtins(draft.body)))
        data, blobs = codec.pack(body)
        assert codec.unpack(data, blobs.get) == body


def test_every_adapter_is_under_this_contract() -> None:
    assert {agent.NAME for agent in registry.adapters()} <= ADAPTERS.keys()
    assert registry.find_agent("an agent nobody has heard of") is GENERIC


@EVERY_ADAPTER
@pytest.mark.parametrize("recorded", RECORDED)
def test_recorded_call_becomes_events_that_can_be_stored(agent: Agent, recorded: str) -> None:
    record = json.loads((PAYLOADS / recorded).read_bytes())
    environment = {name: str(value) for name, value in record["env"].items()}
    call = a_call(agent=record["client"], event=record["event"], payload=record["payload"], environment=environment)
    check_drafts(call, agent.read_call(call).drafts)


@pytest.mark.parametrize("recorded", RECORDED)
@pytest.mark.defect("Codex was recorded as Claude Code when a conversation began and when it ended")
def test_recorded_call_is_attributed_to_its_client_whatever_the_command_line_says(recorded: str) -> None:
    record = json.loads((PAYLOADS / recorded).read_bytes())
    client = NAMES.get(record["client"], record["client"])
    environment = {name: str(value) for name, value in record["env"].items()}
    for named in ("claude", "codex", "copilot", client) if CONVERSATIONS & set(record["payload"]) else (client,):
        for inherited in ({}, {"CLAUDECODE": "1", "CLAUDE_PID": "1"}, {"COPILOT_CLI": "1"}, {"GEMINI_SESSION_ID": "x"}):
            told = {**inherited, **environment}
            call = a_call(agent=named, event="Named", payload=record["payload"], environment=told)
            registry.identify(call)
            names = [record["payload"].get(key) for key in ("hook_event_name", "hookName")]
            assert (call.agent, call.event) == (client, next(filter(None, names), "Named"))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
ANY_JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
KEYS = st.sampled_from(["hook_event_name", "session_id", "cwd", "prompt", "tool_name", "tool_input", "transcript_path"])


@EVERY_ADAPTER
@settings(max_examples=150)
@given(payload=ANY_JSON | st.dictionaries(KEYS, ANY_JSON, max_size=7), name=st.text())
@pytest.mark.promise(19)
def test_any_payload_becomes_events_that_can_be_stored(agent: Agent, payload: Any, name: str) -> None:
    call = a_call(payload=payload, agent=name, event=name, directory=name, process=None, boot=name)
    check_drafts(call, agent.read_call(call).drafts)


@EVERY_ADAPTER
def test_same_call_becomes_the_same_events_again(agent: Agent) -> None:
    assert agent.read_call(a_call()) == agent.read_call(a_call())
    assert agent.read_call(a_call()).drafts[0].id != agent.read_call(a_call(name="another")).drafts[0].id


def test_plain_call_keeps_all_that_is_known_of_it() -> None:
    (draft,) = GENERIC.read_call(a_call(payload={"a": [1]})).drafts
    assert (draft.kind, draft.agent, draft.time) == ("call.kept", "robot", datetime(2026, 1, 1, tzinfo=UTC))
    assert draft.body == {
        "agent": "robot",
        "event": "Did",
        "call": {"a": [1]},
        "directory": "/project",
        "process": Process(122, "5000", "abcdef01-0000", "pid:[1]"),
        "boot": "abcdef01-0000",
        "monotonic": 1,
    }
