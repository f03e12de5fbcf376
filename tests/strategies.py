"""Values that a journal, a file or a person can bring: anything that JSON allows, anything that can be typed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings, strategies as st

from holdfast.core import event_text
from holdfast.core.fold import run as fold
from holdfast.core.model import Event
from tests.tools import NOON, an_event

# The machine may be busy, so how long one example takes says nothing.
examples = settings(max_examples=50)
some_examples = settings(examples, max_examples=100)
many_examples = settings(examples, max_examples=250)

WILD_TEXT = st.text(st.characters())  # half characters too: an argument or a file name can hold them
TEXT = st.text()
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
JSON: st.SearchStrategy[Any] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=5
)

MOMENTS = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)
PROCESSES = st.fixed_dictionaries({"pid": st.integers(), "start": TEXT, "boot": TEXT})
KEYS = (
    "added", "agent_session", "at", "because", "decision", "directory", "entry", "environment", "epoch", "error",
    "event", "evidence", "files", "goal", "how", "layout", "name", "outcome", "process", "reason", "removed",
    "seq", "steps", "text", "worktree", "tokens", "window", "model", "read", "written", "cost", "begun", "imported",
)  # fmt: skip
ENTRIES = st.sampled_from(["n1", "n2", "d1", "d2", "t1", "t2"])
VALUES = (
    JSON | TEXT | ENTRIES | MOMENTS | PROCESSES | st.lists(TEXT, max_size=3) | st.integers(0, 9) | st.just("taken_over")
)
BODIES = st.dictionaries(st.sampled_from(KEYS) | TEXT, VALUES, max_size=6)
KINDS = sorted({*fold.HANDLERS, *event_text.HEADLINES, "event.blank", "something.new"})


def numbered(told: list[tuple[str, dict[str, Any], str | None]]) -> list[Event]:
    """A story as the journal would hold it: numbered from 1, a second apart."""
    return [
        an_event(kind, body, number, time=NOON + timedelta(seconds=number), session=session, agent="robot")
        for number, (kind, body, session) in enumerate(told, 1)
    ]


SESSIONS = st.sampled_from([None, "ses-1", "ses-2"])
SMALL_BODIES = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3)
STORIES = st.lists(st.tuples(st.sampled_from(KINDS), SMALL_BODIES, SESSIONS), max_size=10).map(numbered)
PLAIN_STORIES = STORIES.map(lambda events: [event for event in events if event.kind not in fold.REFOLDED])
