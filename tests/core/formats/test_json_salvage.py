"""What is left of a text that is no JSON any more."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.core.formats.json_salvage import salvage
from holdfast.layouts.orchestrator.schema import INNER, MEMBERS, read_state
from tests.orchestrator_files import schema_1_0

TEXT = json.dumps(schema_1_0(), indent=2)


def test_all_of_a_whole_text_is_found() -> None:
    assert salvage(TEXT, MEMBERS, INNER) == {name: value for name, value in schema_1_0().items() if name in MEMBERS}


def test_a_text_that_breaks_off_gives_what_came_before_with_the_entries_that_are_whole() -> None:
    text = TEXT[: TEXT.index('"Implement primary method"')]
    found = salvage(text, MEMBERS)
    assert found["goal"] == schema_1_0()["goal"]
    assert [agent["id"] for agent in found["agents"]] == ["arch-1"]
    assert "pending_tasks" not in found


def test_what_stands_behind_the_broken_place_is_found_too() -> None:
    text = TEXT.replace('"goal": "Add', '"goal": Add', 1)
    found = salvage(text, MEMBERS)
    assert "goal" not in found
    assert found["pending_tasks"] == schema_1_0()["pending_tasks"]


def test_what_stands_inside_a_value_is_no_member_of_the_file() -> None:
    file = {name: value for name, value in schema_1_0().items() if name != "status"}
    assert "status" not in salvage(json.dumps(file), MEMBERS)
    broken = json.dumps(file).replace('"context_tokens": 1500', '"context_tokens": 15x0')
    assert "status" not in salvage(broken, MEMBERS, INNER)


def test_an_entry_that_is_broken_costs_the_others_nothing() -> None:
    found = salvage(TEXT.replace('"context_tokens": 1500', '"context_tokens": 15x0'), MEMBERS)
    assert [agent["id"] for agent in found["agents"]] == ["code-1"]


@pytest.mark.parametrize("text", ["", "null", "{", "[[[[", '"', '{"goal": ', '{"goal"', "\0" * 100, "<<<<<<< HEAD"])
def test_of_nothing_nothing_is_left(text: str) -> None:
    assert salvage(text, MEMBERS) == {}


def test_deep_nesting_ends_in_nothing_and_not_in_a_failure() -> None:
    assert salvage('{"agents": ' + "[" * 100_000, MEMBERS).get("agents", []) == []


@given(st.integers(0, len(TEXT)), st.text(max_size=5), st.integers(0, 40))
def test_whatever_is_found_in_a_broken_text_can_be_read(at: int, put: str, cut: int) -> None:
    found: dict[str, Any] = salvage(TEXT[:at] + put + TEXT[at + cut :], MEMBERS)
    assert set(found) <= set(MEMBERS)
    read_state({**found, "schema_version": "1.0"})
