"""Events that nobody would write on purpose: one odd event must never make a run unreadable."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from holdfast.core import event_text
from holdfast.core.fold import activity, run as fold
from holdfast.core.model import Event, Run, Session
from holdfast.core.text import one_line
from tests.strategies import BODIES, KEYS, KINDS, PLAIN_STORIES, STORIES, TEXT, examples, many_examples, some_examples
from tests.tools import a_session, an_event

RUN = "run-0000000000"
ODD_VALUES: list[Any] = [None, True, 0, -1, 1.5, 10**30, "", "x", [], [[]], [1], {}, {"a": [1]}]


def copy_of(run: Run) -> Run:
    return msgspec.json.decode(msgspec.json.encode(run), type=Run)


@pytest.mark.promise(19)
@pytest.mark.parametrize("kind", KINDS)
@examples
@given(body=BODIES)
def test_no_body_of_any_kind_makes_a_run_unreadable(kind: str, body: dict[str, Any]) -> None:
    event = an_event(kind, body, 2, session="ses-1", agent="robot")
    run = fold.fold(RUN, [an_event("run.started", {"goal": "x"}), event])
    assert run.seq == 2
    assert copy_of(run) == run


@pytest.mark.promise(19)
@pytest.mark.parametrize("kind", KINDS)
def test_no_key_of_the_wrong_type_makes_a_run_unreadable(kind: str) -> None:
    bodies = [{key: value} for key in KEYS for value in ODD_VALUES]
    events = [an_event(kind, body, number, session="ses-1") for number, body in enumerate(bodies, 1)]
    for event in events:
        assert fold.fold(RUN, [event]).seq == event.seq
    assert fold.fold(RUN, events).seq == len(events)


@pytest.mark.promise(19)
@some_examples
@given(STORIES)
def test_any_story_folds_to_a_state_that_can_be_stored(events: list[Event]) -> None:
    run = fold.fold(RUN, events)
    assert run.seq == len(events)
    assert copy_of(run) == run


@some_examples
@given(STORIES)
def test_the_fold_is_a_function_of_its_events_alone(events: list[Event]) -> None:
    first = fold.fold(RUN, events)
    before = msgspec.json.encode(first)
    second = fold.fold(RUN, iter(events))
    assert first == second
    for event in events:
        fold.apply(second, event)  # whatever happens to one state leaves the other alone
    assert msgspec.json.encode(first) == before == msgspec.json.encode(fold.fold(RUN, events))


@some_examples
@given(PLAIN_STORIES, st.data())
def test_a_state_and_the_rest_of_the_events_add_up_to_the_whole(events: list[Event], data: st.DataObject) -> None:
    middle = data.draw(st.integers(0, len(events)))
    run = copy_of(fold.fold(RUN, events[:middle]))  # as a snapshot would give it back
    for event in events[middle:]:
        fold.apply(run, event)
    assert run == fold.fold(RUN, events)


@some_examples
@given(STORIES)
def test_no_story_outgrows_the_bounds_or_repeats_an_entry(events: list[Event]) -> None:
    run = fold.fold(RUN, events)
    assert len(run.prompts) <= activity.KEPT_PROMPTS
    assert len(run.actions) <= activity.KEPT_ACTIONS
    assert len(run.files) <= activity.KEPT_FILES
    assert len(run.pinnable) == len(run.notes) + len(run.decisions) + len(run.tasks)
    assert len(set(run.tags)) == len(run.tags)


@many_examples
@given(st.sampled_from(KINDS), BODIES)
def test_what_a_run_forgot_is_in_nothing_that_it_says(kind: str, body: dict[str, Any]) -> None:
    secret = {key: f"SECRET {value}" if isinstance(value, str) else value for key, value in body.items()}
    events = [
        an_event("run.started", {"goal": "x"}),
        an_event(kind, {**secret, "text": "SECRET", "files": ["SECRET"]}, 2),
        an_event(fold.FORGOTTEN, {"seq": 2}, 3),
    ]
    run = fold.fold(RUN, events)
    assert run.forgotten == [2]
    assert b"SECRET" not in msgspec.json.encode(run)


@pytest.mark.promise(19)
@many_examples
@given(st.sampled_from(KINDS), BODIES, st.booleans())
def test_no_body_of_any_kind_makes_a_session_unreadable(kind: str, body: dict[str, Any], is_open: bool) -> None:
    found = fold.apply_session(a_session() if is_open else None, an_event(kind, body, 3, session="ses-1"))
    if found is not None:
        assert msgspec.json.decode(msgspec.json.encode(found), type=Session) == found
    else:
        assert not is_open


@many_examples
@given(st.sampled_from(KINDS) | TEXT, BODIES)
def test_a_headline_is_always_one_harmless_line(kind: str, body: dict[str, Any]) -> None:
    line = event_text.headline(an_event(kind, body))
    assert one_line(line) == line
    assert len(line) <= 160


@many_examples
@given(st.sampled_from(KINDS), BODIES)
def test_what_is_searched_is_text_out_of_the_body(kind: str, body: dict[str, Any]) -> None:
    values = [item for value in body.values() for item in (value if isinstance(value, list) else [value])]
    lines = {line for value in values if isinstance(value, str) for line in value.split("\n")}
    assert set(event_text.searchable(an_event(kind, body)).split("\n")) <= lines | {""}
