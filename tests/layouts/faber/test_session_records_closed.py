"""FABER's session records when they are closed, and what a state may hold in their place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from holdfast.core.text import stamp
from holdfast.layouts.faber.session_records import Book, record_ids
from tests.faber_states import HOST, a_record
from tests.layouts.faber.session_records import ENVIRONMENT, HERE, NOW, OPEN, ORIGINS, a_book, a_load, opening

LATER = "2026-01-07T16:30:00Z"

# S21: nothing to end

ENDED = "2026-01-07T16:30:00Z"
NOTHING = [
    ("no sessions", {}, "none", None),
    ("sessions null", {"sessions": None}, "none", None),
    ("an empty history", {"sessions": {"current_session_id": None, "session_history": []}}, "none", None),
    ("history null", {"sessions": {"session_history": None}}, "none", None),
    ("the last ended", {"sessions": {"session_history": [a_record(ended_at=ENDED)]}}, "already", OPEN),
    (
        "the current one ended",
        {"sessions": {"current_session_id": OPEN, "session_history": [a_record(ended_at=ENDED)]}},
        "already",
        OPEN,
    ),
]


@pytest.mark.parametrize(("state", "why", "id"), [row[1:] for row in NOTHING], ids=[row[0] for row in NOTHING])
def test_s21_where_nothing_is_open_nothing_is_ended(state: dict[str, Any], why: str, id: str | None) -> None:
    left = Book(state).leave(opening(), "manual")
    assert (left.why, left.id, left.ended_text) == (why, id, ENDED if why == "already" else "")


def test_save_idempotence_precompact_session_end_and_a_save_by_hand_leave_one_record() -> None:
    book = a_book(a_record())
    done = [book.leave(opening(minute), reason) for minute, reason in enumerate(("compaction", "normal", "manual"))]
    assert [left.why for left in done] == ["", "already", "already"]
    assert [(record["end_reason"], record["ended_at"]) for record in book.history] == [("compaction", stamp(NOW))]


def test_another_conversations_session_is_not_ended() -> None:
    book = a_book(a_record(agent_session_id="one"))
    assert book.leave(opening(client="two"), "normal").why == "other"
    assert "ended_at" not in book.history[0]


THEIRS = [("another conversation's", "one"), ("nobody's", None), ("of no id", 7)]


@pytest.mark.defect("the hook of a client closed a FABER session record that a command at a terminal had opened")
@pytest.mark.parametrize("client", ["two", None])
@pytest.mark.parametrize("reason", ["compaction", "normal"])
@pytest.mark.parametrize("owner", [row[1] for row in THEIRS], ids=[row[0] for row in THEIRS])
def test_a_hook_closes_only_the_record_of_its_own_conversation(owner: object, reason: str, client: str | None) -> None:
    book = a_book(a_record(agent_session_id=owner))
    left = book.leave(opening(client=client, by_hook=True), reason)
    assert (left.why, left.reason, left.id) == ("other", None, OPEN)
    assert "ended_at" not in book.history[0]
    assert book.current_id == OPEN


@pytest.mark.parametrize(("client", "why"), [("one", ""), ("two", "other"), (None, "")])
def test_a_command_closes_a_record_unless_another_conversation_gave_it(client: str | None, why: str) -> None:
    assert a_book(a_record(agent_session_id="one")).leave(opening(client=client), "manual").why == why
    assert a_book(a_record()).leave(opening(client=client), "manual").why == ""


@pytest.mark.defect("a save by hand ended the record of another host or worktree as if it were this one's")
@pytest.mark.parametrize("client", [None, "one", "two"])
@pytest.mark.parametrize("reason", ["manual", "normal", "compaction"])
@pytest.mark.parametrize(("origin", "is_foreign"), [row[1:] for row in ORIGINS], ids=[row[0] for row in ORIGINS])
def test_a_record_is_ended_as_ours_only_on_the_host_and_worktree_that_opened_it(
    origin: object, is_foreign: bool, reason: str, client: str | None
) -> None:
    book = a_book(a_record(environment=copy.deepcopy(origin)), last_artifact_reload=LATER)
    left = book.leave(opening(client=client, environment=HERE, worktree="/src/shop"), reason)
    (record,) = book.history
    assert (record["end_reason"], left.reason) == ((left.reason, "interrupted") if is_foreign else (reason, reason))
    if is_foreign:
        assert (left.why, left.id, left.ended_text) == ("elsewhere", OPEN, LATER)
        assert (record["ended_at"], record["ended_at_inferred"], record["environment"]) == (LATER, True, origin)
        assert "compaction_events" not in book.context
    assert (book.sessions["current_session_id"], book.sessions["total_sessions"]) == (None, 1)


def test_a_hook_leaves_the_record_of_another_host_alone_though_the_conversation_is_its_own() -> None:
    book = a_book(a_record(agent_session_id="one", environment={"hostname": "laptop"}))
    assert book.leave(opening(client="one", by_hook=True, environment=HERE), "normal").why == "other"
    assert "ended_at" not in book.history[0]


# S23, S24: the environment


def test_s23_s24_only_what_is_missing_in_an_environment_is_filled_in() -> None:
    book = a_book(a_record(environment={"platform": "Linux", "git_commit": None}))
    book.leave(opening(), "manual")
    assert book.history[0]["environment"] == {
        "hostname": HOST,
        "platform": "Linux",
        "cwd": "/src",
        "git_commit": None,
    }


@pytest.mark.parametrize("found", [None, "laptop", []])
def test_s24_an_environment_that_is_none_is_filled(found: object) -> None:
    book = a_book(a_record(environment=found))
    book.leave(opening(), "manual")
    assert book.history[0]["environment"] == ENVIRONMENT


# S25: times

TIMES = [
    ("2026-01-07T15:00:00Z", 7200.0),
    ("2026-01-07T15:00:00.500Z", 7199.5),
    ("2026-01-07T17:00:00+02:00", 7200.0),
    ("2026-01-07T15:00:00", 7200.0),
    ("2026-01-07T18:00:00Z", 0.0),
    ("2026-03-29T02:30:00", 0.0),
    ("yesterday", None),
    (7, None),
    ("0001-01-01T00:00:00+14:00", None),
    ("9" * 5000, None),
]


@pytest.mark.parametrize(("started", "seconds"), TIMES, ids=[str(row[0])[:30] for row in TIMES])
def test_s25_a_duration_is_clamped_or_unknown(started: object, seconds: float | None) -> None:
    book = a_book(a_record(started_at=started))
    assert book.leave(opening(), "manual").seconds == seconds
    assert book.history[0]["started_at"] == started


@pytest.mark.parametrize(
    ("context", "started"), [({"last_artifact_reload": LATER}, LATER), ({"last_artifact_reload": 7}, stamp(NOW))]
)
def test_s25_a_session_that_began_nobody_knows_when_began_at_the_last_reload(
    context: dict[str, Any], started: str
) -> None:
    record = a_record()
    del record["started_at"]
    book = a_book(record, **context)
    book.leave(opening(), "manual")
    assert book.history[0]["started_at"] == started


def test_s26_the_raw_reason_of_the_client_is_kept_beside() -> None:
    book = a_book(a_record())
    book.leave(opening(), "normal", "prompt_input_exit")
    assert (book.history[0]["end_reason"], book.history[0]["agent_end_reason"]) == ("normal", "prompt_input_exit")
    assert book.sessions["last_session_end"] == stamp(NOW)
    assert book.sessions["last_session_end_reason"] == "prompt_input_exit"


@pytest.mark.parametrize("events", [None, [], [{"detected_at": LATER}], "none"])
def test_s34_a_save_before_compaction_adds_a_compaction_event(events: object) -> None:
    book = a_book(a_record(), compaction_events=copy.deepcopy(events))
    book.leave(opening(phase="build", step="implement"), "compaction")
    assert book.context["compaction_events"] == [
        *(events if isinstance(events, list) else []),
        {
            "detected_at": stamp(NOW),
            "phase": "build",
            "step": "implement",
            "action_taken": "reload_critical_artifacts",
        },
    ]


@pytest.mark.parametrize("reason", ["normal", "manual"])
def test_s34_any_other_save_adds_none(reason: str) -> None:
    book = a_book(a_record())
    book.leave(opening(), reason)
    assert "compaction_events" not in book.context


# The traps about sessions

ODD = [
    ("sessions is no object", {"sessions": "two"}, {"unreadable": "two"}),
    ("the history is no list", {"sessions": {"session_history": {"a": 1}}}, {"session_history_unreadable": {"a": 1}}),
]


@pytest.mark.parametrize(("state", "kept"), [row[1:] for row in ODD], ids=[row[0] for row in ODD])
def test_what_stands_where_sessions_belong_is_kept_beside(state: dict[str, Any], kept: dict[str, Any]) -> None:
    book = Book(state)
    book.enter(opening())
    assert {name: book.sessions[name] for name in kept} == kept
    assert (len(book.history), book.sessions["total_sessions"]) == (1, 1)


@pytest.mark.parametrize("name", ["artifacts_in_context", "compaction_events"])
def test_what_stands_where_lists_of_the_context_belong_is_kept_beside(name: str) -> None:
    book = a_book(a_record(), **{name: "some"})
    book.loaded(a_load("a"), opening())
    book.leave(opening(), "compaction")
    assert (book.context[f"{name}_unreadable"], len(book.context[name])) == ("some", 1)


def test_a_current_id_that_is_not_in_the_history_is_built() -> None:
    book = a_book(last_artifact_reload=LATER)
    left = book.leave(opening(), "normal")
    assert (left.id, left.seconds, book.sessions["total_sessions"]) == (OPEN, 1800.0, 1)
    assert book.history[0]["environment"] == ENVIRONMENT


def test_a_current_id_that_stands_twice_is_closed_where_it_stands_last() -> None:
    book = a_book(a_record(), a_record())
    book.leave(opening(), "normal")
    assert ["ended_at" in record for record in book.history] == [False, True]
    assert book.sessions["total_sessions"] == 2


def test_records_that_are_none_or_have_no_id_are_left_as_they_are() -> None:
    odd: list[Any] = [None, 7, {}, {"session_id": None}, {"session_id": ["x"]}]
    book = Book({"sessions": {"current_session_id": OPEN, "session_history": [*copy.deepcopy(odd), a_record()]}})
    book.leave(opening(), "normal")
    assert book.history[:5] == odd
    assert (record_ids({"sessions": book.sessions}), book.sessions["total_sessions"]) == ([OPEN], 6)


@pytest.mark.parametrize("count", [None, "3", True, -1, 10**30, int("9" * 4300)])
def test_a_count_of_reloads_that_is_none_begins_again(count: object) -> None:
    book = a_book(a_record(), reload_count=count)
    book.loaded([], opening())
    assert book.context["reload_count"] == 1


def test_an_id_that_would_act_on_a_terminal_is_told_on_one_line_and_kept_as_it_is() -> None:
    wild = "a\n\x1b[2J\ud800" + "x" * 1000
    book = a_book(current=wild)
    left = book.leave(opening(), "manual")
    assert left.id is not None
    assert left.id.startswith("a [2Jxx")
    assert len(left.id) == 200
    assert book.history[0]["session_id"] == wild
