"""FABER's session records while they are open: what opening and loading make of a state, by the rulings."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.core.text import parse_time, stamp
from holdfast.layouts.faber.session_records import Book, phase_name
from tests.faber_states import a_record, a_state, with_a_session
from tests.layouts.faber.session_records import HERE, NOW, OPEN, ORIGINS, a_book, a_load, in_context, opening

# S5: which record a load goes on with

CONTINUED = [
    ("by hand", {"trigger": "manual"}, None),
    ("by hand from another conversation", {"trigger": "manual", "client": "two"}, None),
    ("at a phase's start", {"trigger": "phase_start"}, None),
    ("between phases", {"trigger": "phase_transition:architect->build"}, None),
    ("the same conversation", {"trigger": "session_start", "client": "one", "source": "startup"}, None),
    ("the same conversation resumed", {"trigger": "session_start", "client": "one", "source": "resume"}, None),
    ("the same, compacted", {"trigger": "session_start", "client": "one", "source": "compact"}, "compaction"),
    ("another conversation", {"trigger": "session_start", "client": "two"}, "interrupted"),
    ("another that was compacted", {"trigger": "session_start", "client": "two", "source": "compact"}, "interrupted"),
    ("nobody knows which", {"trigger": "session_start"}, "interrupted"),
    ("a compaction was seen", {"trigger": "compaction_detected"}, "compaction"),
]


@pytest.mark.parametrize(("over", "closed"), [row[1:] for row in CONTINUED], ids=[row[0] for row in CONTINUED])
def test_s5_an_open_record_is_gone_on_with_or_closed(over: dict[str, Any], closed: str | None) -> None:
    book = a_book(a_record(agent_session_id="one"))
    entered = book.enter(opening(**over))
    assert (entered.is_new, entered.closed_because) == (closed is not None, closed)
    first = book.history[0]
    assert (first.get("end_reason"), "ended_at" in first) == (closed, closed is not None)
    assert first["agent_session_id"] == "one"
    assert (book.current_id == OPEN) is (closed is None)
    assert len(book.history) == book.sessions["total_sessions"] == (1 if closed is None else 2)


@pytest.mark.defect("a load on another host or in another worktree was booked to the record that the first one opened")
@pytest.mark.parametrize("trigger", ["manual", "phase_start", "session_start", "compaction_detected"])
@pytest.mark.parametrize(("origin", "closed"), [row[1:] for row in ORIGINS], ids=[row[0] for row in ORIGINS])
def test_a_record_is_continued_only_on_the_host_and_worktree_that_opened_it(
    origin: object, closed: bool, trigger: str
) -> None:
    book = a_book(a_record(agent_session_id="one", environment=origin))
    entered = book.enter(opening(trigger=trigger, client="one", environment=HERE, worktree="/src/shop"))
    if not closed:
        assert entered.closed_because in (None, "compaction")
        return
    assert (entered.is_new, entered.closed_because) == (True, "interrupted")
    assert book.history[0]["ended_at"] == "2026-01-07T15:59:46Z"
    assert book.history[1]["environment"] == {**HERE, "worktree": "/src/shop"}


@pytest.mark.parametrize("trigger", ["manual", "session_start", "phase_start", "compaction_detected"])
@pytest.mark.parametrize("current", [OPEN, None])
def test_s5_a_closed_record_is_never_reopened(trigger: str, current: str | None) -> None:
    closed = a_record(ended_at="2026-01-07T16:00:00Z", end_reason="normal", agent_session_id="one")
    book = a_book(copy.deepcopy(closed), current=current)
    entered = book.enter(opening(trigger=trigger, client="one"))
    book.loaded(a_load("a"), opening())
    assert (entered.is_new, entered.closed) == (True, None)
    assert book.history[0] == closed


def test_s5_the_clients_own_id_stands_beside_ours() -> None:
    book = Book(a_state())
    book.enter(opening(client="one", trigger="session_start"))
    assert book.history[0]["agent_session_id"] == "one"
    assert book.history[0]["session_id"] == book.current_id == "claude-session-20260107-170000-abc123"


def test_s5_an_open_record_without_a_client_becomes_the_clients() -> None:
    book = a_book(a_record())
    book.enter(opening(client="one"))
    assert book.history[0]["agent_session_id"] == "one"


def test_s7_the_record_is_in_the_history_from_the_load_on_and_is_updated_at_the_save() -> None:
    book = Book(a_state())
    entered = book.enter(opening())
    assert [record["session_id"] for record in book.history] == [entered.id]
    assert "ended_at" not in book.history[0]
    book.leave(opening(1), "normal")
    assert [(record["session_id"], record["end_reason"]) for record in book.history] == [(entered.id, "normal")]


@pytest.mark.parametrize("total", [0, 1, 7, -3, "two", None])
def test_s8_the_stored_number_of_sessions_is_not_believed(total: object) -> None:
    state = with_a_session()
    state["sessions"]["total_sessions"] = total
    book = Book(state)
    book.leave(opening(), "manual")
    assert book.sessions["total_sessions"] == 1
    book.enter(opening(1))
    assert book.sessions["total_sessions"] == 2


# S9: the orphan of a crash

LATER, FUTURE = "2026-01-07T16:30:00Z", "2027-01-01T00:00:00Z"
ORPHANS = [
    ("only its start is known", a_record(), {}, "2026-01-07T15:59:46Z"),
    ("the last reload", a_record(), {"last_artifact_reload": LATER}, LATER),
    ("the last artifact", a_record(), {"artifacts_in_context": [in_context("workflow-state", LATER)]}, LATER),
    ("a map of artifacts", a_record(), {"artifacts_in_context": {"workflow-state": LATER}}, LATER),
    ("an artifact of others", a_record(), {"artifacts_in_context": [in_context("x", LATER)]}, "2026-01-07T15:59:46Z"),
    ("the future", a_record(), {"last_artifact_reload": FUTURE}, "2026-01-07T15:59:46Z"),
    ("it began in the future", a_record(started_at=FUTURE), {}, stamp(NOW)),
    ("no time at all", a_record(started_at=None), {}, stamp(NOW)),
]


@pytest.mark.parametrize(("record", "context", "end"), [row[1:] for row in ORPHANS], ids=[row[0] for row in ORPHANS])
def test_s9_the_orphan_of_a_crash_ends_at_its_last_sign_of_life(
    record: dict[str, Any], context: dict[str, Any], end: str
) -> None:
    book = a_book(copy.deepcopy(record), **context)
    entered = book.enter(opening(trigger="session_start"))
    orphan = book.history[0]
    assert (entered.closed, entered.closed_because) == (OPEN, "interrupted")
    assert (orphan["ended_at"], orphan["end_reason"], orphan["ended_at_inferred"]) == (end, "interrupted", True)


def test_s9_an_orphan_that_is_in_no_history_is_built_and_closed() -> None:
    book = a_book(last_artifact_reload=LATER)
    book.enter(opening(trigger="session_start"))
    assert book.history[0] == {
        "session_id": OPEN,
        "started_at": LATER,
        "ended_at": LATER,
        "ended_at_inferred": True,
        "end_reason": "interrupted",
        "phases_completed": [],
    }


# S10, S11: phases


def test_s10_the_first_session_is_credited_with_all_that_is_completed() -> None:
    book = a_book(a_record())
    assert book.leave(opening(completed=("frame", "architect")), "manual").phases == ["frame", "architect"]


def test_s10_no_phase_is_credited_twice() -> None:
    book = a_book(a_record())
    book.leave(opening(completed=("frame",)), "compaction")
    book.enter(opening(1))
    assert book.leave(opening(2, completed=("frame", "architect", "architect")), "normal").phases == ["architect"]
    assert [record["phases_completed"] for record in book.history] == [["frame"], ["architect"]]


def test_s10_what_was_completed_before_a_crash_is_credited_to_the_session_that_crashed() -> None:
    book = a_book(a_record())
    book.enter(opening(trigger="session_start", completed=("frame",)))
    book.leave(opening(1, completed=("frame", "architect")), "normal")
    assert [record["phases_completed"] for record in book.history] == [["frame"], ["architect"]]


def test_s11_partial_is_stripped_on_read() -> None:
    assert phase_name("build (partial)") == "build"
    book = a_book(a_record(session_id="x", phases_completed=["build (partial)", 7, None]), a_record())
    assert book.leave(opening(completed=("build", "frame")), "manual").phases == ["frame"]


# S12: what a session loaded


def test_s12_a_record_names_the_union_of_what_its_session_loaded() -> None:
    book = a_book(current=None)
    book.enter(opening())
    book.loaded(a_load("a", "b"), opening())
    book.loaded(a_load("b", "c"), opening(1))
    assert book.leave(opening(2), "manual").artifacts == ["a", "b", "c"]


def test_s12_what_other_sessions_loaded_is_not_this_ones() -> None:
    context = [in_context("theirs", "2026-01-07T10:00:00Z"), in_context("ours", LATER), in_context("wrong", "soon")]
    book = a_book(a_record(artifacts_loaded=[]), artifacts_in_context=context)
    assert book.leave(opening(), "manual").artifacts == ["ours"]


@pytest.mark.parametrize("kind", ["list", "map", "map of objects"])
def test_artifacts_in_context_may_be_a_list_or_a_map(kind: str) -> None:
    found: Any = {
        "list": [in_context("a", LATER)],
        "map": {"a": LATER},
        "map of objects": {"a": {"loaded_at": LATER}},
    }[kind]
    book = a_book(a_record(artifacts_loaded=["a"]), artifacts_in_context=found)
    now = datetime(2026, 1, 7, 16, 31, tzinfo=UTC)
    assert book.fresh_since("a", now) == parse_time(LATER)
    book.loaded(a_load("b"), opening(now=now))
    kept = book.context["artifacts_in_context"]
    assert (list(kept) if kind != "list" else [entry["artifact_id"] for entry in kept]) == ["a", "b"]


# S13, S14: what is still in the context


def test_s13_what_was_loaded_a_moment_ago_in_this_session_is_fresh() -> None:
    book = a_book(current=None)
    book.enter(opening())
    book.loaded(a_load("a"), opening())
    assert book.fresh_since("a", NOW + timedelta(minutes=4)) == NOW
    assert book.fresh_since("a", NOW + timedelta(minutes=5)) is None
    assert book.fresh_since("b", NOW) is None


def test_s13_nothing_is_fresh_after_a_compaction() -> None:
    book = a_book(current=None)
    book.enter(opening())
    book.loaded(a_load("a"), opening())
    book.leave(opening(1), "compaction")
    book.enter(opening(2))
    assert book.fresh_since("a", NOW + timedelta(minutes=2)) is None


@pytest.mark.parametrize("key", ["compaction_events", "last_compaction"])
def test_s13_a_compaction_that_others_noted_counts(key: str) -> None:
    book = a_book(current=None)
    book.enter(opening())
    book.loaded(a_load("a"), opening())
    cut = stamp(NOW + timedelta(minutes=1))
    book.context[key] = [{"detected_at": cut}] if key == "compaction_events" else cut
    assert book.fresh_since("a", NOW + timedelta(minutes=2)) is None


def test_s13_what_another_session_loaded_is_not_here() -> None:
    book = a_book(current=None)
    book.enter(opening())
    book.loaded(a_load("a"), opening())
    book.leave(opening(1), "normal")
    book.enter(opening(1))
    assert book.fresh_since("a", NOW + timedelta(minutes=1)) is None


def test_s14_freshness_is_each_artifacts_own_and_the_future_is_stale() -> None:
    context = [in_context("old", "2026-01-07T16:00:00Z"), in_context("new", "2026-01-07T16:59:00Z")]
    context.append(in_context("future", "2026-01-07T17:30:00Z"))
    book = a_book(
        a_record(artifacts_loaded=["old", "new", "future"]), artifacts_in_context=context, last_artifact_reload=LATER
    )
    assert [id for id in ("old", "new", "future") if book.fresh_since(id, NOW)] == ["new"]


def test_s16_the_trigger_is_written_as_it_was_given() -> None:
    book = Book(with_a_session())
    book.enter(opening())
    book.loaded(a_load("a"), opening(trigger="phase_transition:architect->build"))
    triggers = [entry["load_trigger"] for entry in book.context["artifacts_in_context"]]
    assert triggers == ["workflow_start", "phase_transition:architect->build"]


@pytest.mark.parametrize("current", [None, "", 7, [], "absent"])
def test_s17_a_current_id_that_is_none_opens_a_session_and_a_save_leaves_null(current: object) -> None:
    sessions = {} if current == "absent" else {"current_session_id": current}
    book = Book({"sessions": sessions})
    assert book.enter(opening()).is_new
    book.leave(opening(), "manual")
    assert book.sessions["current_session_id"] is None
