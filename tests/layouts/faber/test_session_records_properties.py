"""Whatever a state holds where FABER's session records belong, and whatever is done in any order."""

from __future__ import annotations

import copy
import json
from datetime import datetime
from typing import Any

from hypothesis import given, strategies as st

from holdfast.layouts.faber.session_records import Book
from tests.layouts.faber.session_records import NOW, OPEN, a_load, opening
from tests.strategies import JSON, many_examples

# Any state at all

TIMESTAMPS = st.datetimes(datetime(2025, 1, 1), datetime(2027, 1, 1)).map(lambda time: f"{time.isoformat()}Z")
IDS = st.sampled_from([OPEN, "a", "b", ""])
PHASES = st.sampled_from(["frame", "architect", "build"])
VALUES = JSON | TIMESTAMPS | IDS
RECORDS = st.dictionaries(
    st.sampled_from(["session_id", "started_at", "ended_at", "agent_session_id", "environment", "artifacts_loaded"]),
    VALUES | st.lists(st.sampled_from(["x", "y"])),
    max_size=5,
)
ENTRIES = st.dictionaries(st.sampled_from(["artifact_id", "loaded_at"]), VALUES)
SESSIONS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "current_session_id": VALUES,
        "session_history": JSON | st.lists(RECORDS | JSON, max_size=4),
        "total_sessions": VALUES,
        "other": JSON,
    },
)
CONTEXTS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "artifacts_in_context": JSON | st.lists(ENTRIES | JSON, max_size=3) | st.dictionaries(IDS, VALUES),
        "compaction_events": JSON | st.lists(st.fixed_dictionaries({"detected_at": VALUES}), max_size=2),
        "last_artifact_reload": VALUES,
        "reload_count": VALUES,
        "mine": JSON,
    },
)
STATES = st.dictionaries(st.text(max_size=5), JSON, max_size=2) | st.fixed_dictionaries(
    {}, optional={"sessions": SESSIONS, "context_metadata": CONTEXTS}
)
TRIGGERS = st.sampled_from(["manual", "session_start", "phase_start", "compaction_detected"])
CLIENTS = st.sampled_from([None, "one", "two"])
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["enter", "loaded", "leave"]), TRIGGERS, CLIENTS, st.lists(PHASES, max_size=3), st.booleans()
    ),
    max_size=6,
)


@many_examples
@given(STATES, ACTS)
def test_any_state_and_any_order_of_acts_has_a_clear_answer(
    state: dict[str, Any], acts: list[tuple[str, str, str | None, list[str], bool]]
) -> None:
    before = copy.deepcopy(state)
    book = Book(state)
    credited = [name for record in book.records() for name in _names(record.get("phases_completed"))]
    closed = _closed(book)
    for minute, (act, trigger, client, phases, cut) in enumerate(acts):
        at = opening(minute, trigger=trigger, client=client, source="compact" if cut else None, completed=tuple(phases))
        if act == "enter":
            entered = book.enter(at)
            assert book.open_record is not None
            assert entered.id or not str(book.current_id).strip()
        elif act == "loaded":
            book.loaded(a_load("x"), at)
        else:
            left = book.leave(at, "compaction" if cut else "normal")
            assert left.why or book.current_id is None
        for index, record in closed.items():
            assert book.history[index] == record
        closed = _closed(book)
    assert state == before
    written = book.members(NOW)
    if any(act == "enter" for act, *_ in acts):
        assert written["sessions"]["total_sessions"] == len(written["sessions"]["session_history"])
        now_credited = [name for record in book.records() for name in _names(record.get("phases_completed"))]
        added = now_credited[len(credited) :]
        assert len(added) == len(set(added))
    for name, known in (("sessions", before.get("sessions")), ("context_metadata", before.get("context_metadata"))):
        if isinstance(known, dict) and name in written:
            assert [key for key in written[name] if key in known] == list(known)
            assert all(written[name][key] == known[key] for key in ("other", "mine") if key in known)
    json.dumps(written)


def _closed(book: Book) -> dict[int, Any]:
    return {
        index: copy.deepcopy(record)
        for index, record in enumerate(book.history)
        if isinstance(record, dict) and record.get("ended_at")
    }


def _names(value: object) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []
