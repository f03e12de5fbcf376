"""FABER's hooks, called as a client calls them: always exit 0, and what is said to be loaded was told."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.faber_states import ACTIVE, RUN, RUNS, a_state, put, put_state
from tests.surfaces.test_hook_replies import Ask, ask, context
from tests.tools import Command

__all__ = ["ask"]  # a fixture
STATE = f"{RUNS}/{RUN}/state.json"


@pytest.fixture
def state(repository: Path) -> Path:
    """The state file of an active run."""
    Command.run("init", directory=repository).ok()
    put(repository, ACTIVE, RUN)
    return put_state(repository)


def records(state: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(state.read_bytes())["sessions"]["session_history"]
    return found


def test_precompact_sessionend_and_a_manual_save_leave_one_record(ask: Ask, repository: Path, state: Path) -> None:
    ask("SessionStart", source="startup")
    ask("PreCompact", trigger="manual")
    ask("SessionEnd", reason="other")
    Command.run("session-save", directory=repository).ok()
    (record,) = records(state)
    assert record["end_reason"] == "compaction"


def test_a_session_that_is_compacted_has_two_records(ask: Ask, state: Path) -> None:
    ask("SessionStart", source="startup")
    ask("PreCompact", trigger="auto")
    ask("SessionStart", source="compact")
    ask("SessionEnd", reason="prompt_input_exit")
    assert [record["end_reason"] for record in records(state)] == ["compaction", "normal"]
    assert records(state)[1]["agent_end_reason"] == "prompt_input_exit"


def test_compaction_of_which_nobody_told_closes_the_record_at_the_next_start(ask: Ask, state: Path) -> None:
    ask("SessionStart", source="startup")
    ask("SessionStart", source="compact")
    before, now = records(state)
    assert (before["end_reason"], "ended_at" in now) == ("compaction", False)


def test_a_conversation_that_is_resumed_goes_on_with_its_record(ask: Ask, state: Path) -> None:
    ask("SessionStart", source="startup")
    ask("SessionStart", source="resume")
    assert len(records(state)) == 1


@pytest.mark.parametrize("event", ["SessionStart", "PreCompact", "SessionEnd"])
@pytest.mark.parametrize("text", ["", "{", "null", "[]", '{"run_id": "other"}', '{"a": 1, "a": 2}'])
def test_no_state_makes_a_hook_fail(ask: Ask, state: Path, event: str, text: str) -> None:
    state.write_text(text)
    done = ask(event, source="startup", reason="other", trigger="auto")
    assert (done.returncode, done.stderr, state.read_text()) == (0, "", text)


def test_a_state_that_cannot_be_read_is_told_to_the_agent_with_the_way_out(ask: Ask, state: Path) -> None:
    state.write_text("{")
    told = context(ask("SessionStart", source="startup"))
    assert "ERROR: Cannot read state file" in told
    assert f"holdfast repair {RUN}" in told


def test_a_save_that_fails_in_a_hook_is_told_by_the_next_status(ask: Ask, repository: Path, state: Path) -> None:
    ask("SessionStart", source="startup")
    state.write_text("{")
    ask("SessionEnd", reason="other")
    said = Command.run("status", directory=repository).ok()
    assert "Cannot parse state file" in said.out + said.err


@pytest.mark.defect("a load that failed in the SessionStart hook was told to the model only, not by `status`")
def test_a_load_that_fails_in_a_hook_is_told_by_the_next_status(ask: Ask, repository: Path, state: Path) -> None:
    spec = {"id": "spec", "type": "markdown", "path": "spec.md", "required": True}
    put(repository, ".fractary/faber/workflows/default.json", {"critical_artifacts": {"always_load": [spec]}})
    assert "ERROR: Required artifact not found" in context(ask("SessionStart", source="startup"))
    said = Command.run("status", directory=repository).ok()
    assert "A hook could not load FABER's context: " in said.out
    assert "claude session-load Required artifact not found: spec\n" in said.out
    assert "hooks failed 1 time; the last: " in Command.run("doctor", directory=repository).out
    swept = Command.run("sweep", directory=repository).ok()
    assert AT.fullmatch(next(line for line in swept.err.splitlines() if line.startswith("A hook")))
    assert "A hook could not" not in Command.run("status", directory=repository).ok().out


AT = re.compile(
    r"A hook could not load FABER's context: \d{4}-\d\d-\d\d \d\d:\d\d \(just now\): "
    r"claude session-load Required artifact not found: spec"
)


@pytest.mark.defect("`sweep`, `doctor` and `*status` printed when a hook failed as seconds since 1970")
@pytest.mark.parametrize("arguments", [("status",), ("sweep",), ("doctor",), ("command", "*status")])
def test_when_a_hook_failed_is_told_as_a_time(
    arguments: tuple[str, ...], repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    Command.run("init", directory=repository).ok()
    noted = b"1767268800 claude session-load Required artifact not found: spec".ljust(127) + b"\n"
    (repository / ".git/holdfast/trouble").write_bytes(noted)
    done = Command.run(*arguments, directory=repository)
    (line,) = [line for line in (done.out + done.err).splitlines() if "artifact not found" in line]
    assert "2026-01-01 12:00" in line
    assert "1767268800" not in line


def test_what_counts_as_loaded_was_told_in_full(ask: Ask, repository: Path, state: Path) -> None:
    """Else an agent would be believed to know what it was never told."""
    texts = {f"note-{number}": f"begin-{number} {'x' * 150} end-{number}" for number in range(60)}
    for name, text in texts.items():
        put(repository, f"{name}.md", text)
    artifacts = [{"id": name, "type": "markdown", "path": f"{name}.md"} for name in texts]
    put(repository, ".fractary/faber/workflows/default.json", {"critical_artifacts": {"always_load": artifacts}})
    told = context(ask("SessionStart", source="startup"))
    assert len(told) <= 10_000
    loaded = records(state)[0]["artifacts_loaded"]
    assert 5 < len(loaded) < 60
    assert [name for name in loaded if texts[name] not in told] == []
    assert "session-load --force" in told


@pytest.mark.parametrize(("event", "why"), [("SessionEnd", {"reason": "other"}), ("PreCompact", {"trigger": "auto"})])
def test_a_client_leaves_a_record_alone_that_a_command_opened(
    event: str, why: dict[str, str], ask: Ask, repository: Path, state: Path
) -> None:
    ask("SessionStart", source="startup")
    Command.run("session-save", directory=repository).ok()
    assert "and another session" in context(ask("SessionStart", "c2", source="startup"))
    Command.run("session-load", directory=repository).ok()
    before = state.read_bytes()
    ask(event, "c2", **why)
    assert state.read_bytes() == before
    ask(event, **why)
    assert state.read_bytes() == before


def test_a_run_without_an_active_file_is_left_alone(ask: Ask, repository: Path, state: Path) -> None:
    """A state that was committed while it was in progress would speak up in every conversation for ever."""
    (repository / ACTIVE).unlink()
    before = state.read_bytes()
    ask("SessionStart", source="startup")
    ask("SessionEnd", reason="other")
    assert state.read_bytes() == before


def test_a_project_that_is_switched_off_is_left_alone(ask: Ask, repository: Path, state: Path) -> None:
    Command.run("off", directory=repository).ok()
    before = state.read_bytes()
    assert ask("SessionStart", source="startup").stdout == ""
    assert state.read_bytes() == before


def test_a_hook_in_a_project_without_a_store_writes_nothing(ask: Ask, repository: Path) -> None:
    put(repository, ACTIVE, RUN)
    state = put(repository, STATE, a_state())
    before = state.read_bytes()
    assert ask("SessionStart", source="startup").stdout == ""
    assert state.read_bytes() == before
    assert "holdfast" not in os.listdir(repository / ".git")
