"""Critical artifacts: which are declared, and which of them a load takes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.core.errors import WorkflowError
from holdfast.layouts.faber.artifact_rules import DEFAULTS, Asked, Choice, Declared, choose, read_declared
from holdfast.project.artifacts.protocol import KINDS
from tests.faber_states import a_state
from tests.strategies import JSON, WILD_TEXT, many_examples

BY_HAND = Asked()
NOW = datetime(2026, 1, 7, 17, 0, 0, tzinfo=UTC)


def never_fresh(id: str, now: datetime) -> None:
    return None


def an_artifact(id: str = "a", **over: Any) -> dict[str, Any]:
    return {"id": id, "type": "markdown", "path": f"{id}.md", **over}


def declared(*artifacts: object, **lists: object) -> list[Declared]:
    return read_declared({"always_load": list(artifacts), **lists}, [])


def taken(choices: list[Choice]) -> list[str]:
    return [choice.artifact.id for choice in choices if choice.load]


def chosen(found: list[Declared], asked: Asked = BY_HAND, **over: Any) -> list[Choice]:
    return choose(found, a_state(**over), asked, never_fresh, NOW, [])


# S15: triggers filter automatic loads only

TRIGGERED = ["session_start", "phase_start:build", "phase_transition:architect->build", "compaction_detected"]
WANTED = [
    ("manual", None, [*TRIGGERED, "none"]),
    ("session_start", None, ["session_start", "none"]),
    ("compaction_detected", None, ["session_start", "compaction_detected", "none"]),
    ("phase_start", "build", ["phase_start:build", "none"]),
    ("phase_start", "frame", ["none"]),
    ("phase_start", None, ["none"]),
    ("phase_transition:architect->build", "build", ["phase_transition:architect->build", "none"]),
    ("phase_transition:frame->architect", "build", ["none"]),
]


@pytest.mark.parametrize(("trigger", "phase", "wanted"), WANTED, ids=[f"{row[0]} in {row[1]}" for row in WANTED])
def test_s15_triggers_filter_automatic_loads_only(trigger: str, phase: str | None, wanted: list[str]) -> None:
    artifacts = declared(*(an_artifact(name, reload_triggers=[name]) for name in TRIGGERED), an_artifact("none"))
    assert taken(chosen(artifacts, Asked(trigger, phase=phase))) == wanted
    assert taken(chosen(artifacts, Asked(trigger, phase=phase, force=True))) == [*TRIGGERED, "none"]


def test_s15_what_is_not_loaded_on_a_trigger_says_so() -> None:
    choice = chosen(declared(an_artifact(reload_triggers=["session_start"])), Asked("phase_start"))[0]
    assert (choice.load, choice.why) == (False, "not loaded on phase_start")


# S31: the same decision, dry or not; freshness


def test_s31_what_is_fresh_is_skipped_with_its_age_unless_forced() -> None:
    artifacts = declared(an_artifact("old"), an_artifact("new"))
    ages = {"new": NOW - timedelta(seconds=90), "old": None}

    def decide(asked: Asked) -> list[Choice]:
        return choose(artifacts, a_state(), asked, lambda name, now: ages[name], NOW, [])

    assert [(choice.load, choice.why) for choice in decide(Asked())] == [
        (True, ""),
        (False, "loaded 1 min ago in this session"),
    ]
    assert taken(decide(Asked(force=True))) == ["old", "new"]


def test_s31_a_choice_is_the_same_however_often_it_is_made() -> None:
    artifacts = declared(an_artifact("a", condition="state.work_id != null"), an_artifact("b", condition="1 >"))
    assert chosen(artifacts) == chosen(artifacts)


# S32: no workflow, no condition, no required


def test_s32_the_defaults_are_the_state_the_specification_and_the_protocol() -> None:
    warnings: list[str] = []
    found = {artifact.id: artifact.required for artifact in read_declared(DEFAULTS, warnings)}
    assert found == {"workflow-state": True, "orchestration-protocol": False, "specification": False}
    assert warnings == []


@pytest.mark.parametrize(
    ("artifacts", "wanted"),
    [({"spec_path": "a.md"}, True), ({"spec_path": None}, False), ({}, False), (None, False)],
)
def test_s32_the_default_specification_is_taken_where_the_state_names_one(artifacts: object, wanted: bool) -> None:
    found = chosen(read_declared(DEFAULTS, []), artifacts=artifacts)
    assert ("specification" in taken(found)) is wanted


@pytest.mark.parametrize("required", ["yes", 1, None, "true", []])
def test_s32_no_condition_is_true_and_no_required_is_false(required: object) -> None:
    artifact = declared(an_artifact(required=required))[0]
    assert (artifact.required, taken(chosen([artifact]))) == (False, ["a"])


# The lists


def test_all_three_lists_are_read_in_their_order() -> None:
    block = {
        "phase_specific": {"build": [an_artifact("c")], "frame": [an_artifact("d")]},
        "conditional_load": [an_artifact("b", condition="state.work_id == '7'")],
        "always_load": [an_artifact("a")],
    }
    artifacts = read_declared(block, [])
    assert [artifact.id for artifact in artifacts] == ["a", "b", "c", "d"]
    choices = chosen(artifacts, Asked(phase="build"))
    assert taken(choices) == ["a", "b", "c"]
    assert choices[3].why == "only for phase frame"
    assert taken(chosen(artifacts, Asked(phase="build"), work_id="8")) == ["a", "c"]


def test_duplicates_across_lists_count_once_with_a_warning() -> None:
    warnings: list[str] = []
    block = {
        "always_load": [an_artifact(path="first.md")],
        "phase_specific": {"build": [an_artifact(path="second.md")]},
    }
    assert [artifact.path for artifact in read_declared(block, warnings)] == ["first.md"]
    assert warnings == ["the artifact a is declared twice; the first declaration counts"]


def test_only_the_artifacts_that_were_asked_for_are_taken() -> None:
    artifacts = declared(an_artifact("a"), an_artifact("b"), an_artifact("c"))
    choices = chosen(artifacts, Asked(only=("c", "a")))
    assert taken(choices) == ["a", "c"]
    assert choices[1].why == "not asked for"


def test_an_unknown_artifact_id_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(WorkflowError) as raised:
        chosen(declared(an_artifact("a"), an_artifact("b")), Asked(only=("a", "x\x1b", "y")))
    assert raised.value.message == "Unknown artifact"
    assert raised.value.facts == [("Artifact", "x, y"), ("Known", "a, b")]
    assert any("session-load --dry-run" in hint for hint in raised.value.hints)


def test_a_condition_that_cannot_be_read_is_false_and_points_at_the_character() -> None:
    warnings: list[str] = []
    artifact = declared(an_artifact(condition="state.a = 1"))
    choices = choose(artifact, a_state(), Asked(), never_fresh, NOW, warnings)
    assert (choices[0].load, choices[0].why) == (False, "its condition does not hold")
    said, text, caret = warnings[0].split("\n")[:3]
    assert said == "the condition of a cannot be read, so it does not hold:"
    assert text[caret.index("^")] == "="


MALFORMED = [
    ("no object", "text", "an artifact of the workflow has no id; it is passed over"),
    ("no id", {"type": "json"}, "an artifact of the workflow has no id; it is passed over"),
    ("an id that is none", {"id": 7, "type": "json"}, "an artifact of the workflow has no id; it is passed over"),
    ("an empty id", {"id": " ", "type": "json"}, "an artifact of the workflow has no id; it is passed over"),
    ("no type", {"id": "a"}, "the artifact a has the unknown type None; it is passed over"),
    ("a type of its own", {"id": "a", "type": "yaml"}, "the artifact a has the unknown type yaml; it is passed over"),
]


@pytest.mark.parametrize(("item", "warning"), [row[1:] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_what_is_malformed_is_passed_over_with_a_warning(item: object, warning: str) -> None:
    warnings: list[str] = []
    found = read_declared({"always_load": [item, an_artifact("b")]}, warnings)
    assert [artifact.id for artifact in found] == ["b"]
    assert warnings == [warning]


def test_a_strategy_that_nobody_knows_loads_all() -> None:
    warnings: list[str] = []
    found = read_declared({"always_load": [an_artifact(load_strategy="newest")]}, warnings)
    assert (found[0].strategy, warnings) == (
        "all",
        ["the artifact a has an unknown load_strategy; all of it is loaded"],
    )


@pytest.mark.parametrize("value", ["text", {}, 7])
def test_a_list_that_is_none_is_passed_over_with_a_warning(value: object) -> None:
    warnings: list[str] = []
    assert read_declared({"always_load": value}, warnings) == []
    assert warnings == ["always_load of the workflow is not a list; it is passed over"]


# Any declaration

FIELDS = ("id", "type", "path", "path_from_state", "command", "condition", "required", "reload_triggers", "description")
ITEMS = JSON | st.dictionaries(st.sampled_from(FIELDS), JSON | WILD_TEXT | st.sampled_from(KINDS), max_size=9)
BLOCKS = st.fixed_dictionaries(
    {},
    optional={
        "always_load": JSON | st.lists(ITEMS, max_size=3),
        "conditional_load": JSON | st.lists(ITEMS, max_size=3),
        "phase_specific": JSON | st.dictionaries(WILD_TEXT, JSON | st.lists(ITEMS, max_size=3), max_size=3),
    },
)


@many_examples
@given(BLOCKS, st.dictionaries(st.text(max_size=5), JSON, max_size=3), st.sampled_from([row[0] for row in WANTED]))
def test_any_declaration_and_any_condition_has_a_clear_answer(
    block: dict[str, Any], state: dict[str, Any], trigger: str
) -> None:
    warnings: list[str] = []
    found = read_declared(block, warnings)
    assert len({artifact.id for artifact in found}) == len(found)
    choices = choose(found, state, Asked(trigger, phase="build"), never_fresh, NOW, warnings)
    assert all(choice.load is (choice.why == "") for choice in choices)
    for text in [*(choice.why for choice in choices), *warnings]:
        assert "\x1b" not in text
        text.encode()
    for artifact in found:
        for value in (artifact.id, artifact.about, artifact.path, artifact.command, artifact.condition):
            (value or "").encode()
