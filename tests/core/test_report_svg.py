"""The picture of a run: one SVG that is whole, shows everything, and holds nothing that could act."""

from __future__ import annotations

import xml.etree.ElementTree as tree
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from holdfast.core.model import Checkpoint, Ending, Event, Run, Session
from holdfast.core.report import ACROSS, LANES, LEFT, MOST_MARKS, MOST_SESSIONS, RIGHT, Mark, draw, marks_of
from tests.strategies import TEXT, WILD_TEXT, examples

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"


def at(minutes: float) -> datetime:
    return NOW + timedelta(minutes=minutes)


def a_run(goal: str = "Add retries") -> Run:
    return Run("run-a", goal, created=NOW, updated=at(600))


def a_session(begin: float, end: float | None, how: Ending = Ending.ENDED, agent: str = "claude") -> Session:
    ended = at(end) if end is not None else None
    return Session(
        f"ses-{begin}", "run-a", at(begin), agent, last_active=at(begin), ended=ended, how=how if ended else None
    )


def an_event(kind: str, minutes: float, **body: object) -> Event:
    return Event("run-a", 1, "0" * 32, kind, at(minutes), None, None, dict(body))


def bars(picture: str) -> list[tree.Element]:
    return [found for found in tree.fromstring(picture).iter(f"{SVG}rect") if found.get("class") != "paper"]


def test_sessions_are_bars_in_the_order_of_time() -> None:
    picture = draw(a_run(), [a_session(60, 90, Ending.DIED), a_session(0, 30)], [])
    first, second = bars(picture)
    assert (first.get("class"), second.get("class")) == ("bar", "died")
    assert float(first.get("x", "")) < float(second.get("x", ""))
    assert "claude" in (first.findtext(f"{SVG}title") or "")
    assert "30 min" in (first.findtext(f"{SVG}title") or "")


def test_what_happened_stands_below_with_its_words() -> None:
    events = [
        an_event("prompt.given", 1, text="Fix it"),
        an_event("decision.made", 2, decision="Use backoff"),
        an_event("context.compacted", 3, trigger="auto"),
        an_event("action.taken", 4, text="ran", error="it failed"),
        an_event("action.taken", 4, text="went well"),
        an_event("error.met", 5, text="overloaded"),
    ]
    marks = marks_of(events, [Checkpoint("cp-a", ".", 1, at(6), "", "", name="before")])
    assert [mark.sort for mark in marks] == ["prompt", "decision", "compaction", "error", "error", "checkpoint"]
    picture = tree.fromstring(draw(a_run(), [a_session(0, 30)], marks))
    told = [found.findtext(f"{SVG}title") or "" for found in picture.iter(f"{SVG}path")]
    assert [
        any(word in text for text in told) for word in ("Fix it", "backoff", "auto", "it failed", "overloaded", "cp-a")
    ] == [True] * 6
    assert {text for found in picture.iter(f"{SVG}text") if (text := found.text)} >= {f"{sort}s" for sort in LANES}


def test_a_night_is_drawn_shorter_than_the_work() -> None:
    picture = draw(a_run(), [a_session(0, 60), a_session(1000, 1060)], [])
    first, second = (float(bar.get("width", "")) for bar in bars(picture))
    assert first > 250
    assert second > 250
    assert "15 h 40 min" in picture


def test_an_open_session_goes_on_until_the_run_was_last_worked_on() -> None:
    run = a_run()
    session = a_session(0, None)
    run.open_sessions = [session.id]
    (bar,) = bars(draw(run, [session], []))
    assert bar.get("class") == "open"
    assert float(bar.get("width", "")) > 500


def test_a_run_in_which_nothing_happened_has_a_picture_too() -> None:
    assert bars(draw(Run("run-a", ""), [], [])) == []


def test_a_picture_needs_nothing_from_anywhere_else() -> None:
    picture = draw(a_run(), [a_session(0, 60)], [])
    assert picture.count("http") == 1  # the name of the form
    assert not any(word in picture for word in ("url(", "@import", "<script", "href", "<image", "var("))
    assert "prefers-color-scheme: dark" in picture


def test_more_than_can_be_seen_is_not_drawn() -> None:
    sessions = [a_session(number * 10, number * 10 + 5) for number in range(100)]
    marks = marks_of((an_event("prompt.given", number, text="x") for number in range(2000)), [])
    assert len(marks) == MOST_MARKS
    picture = draw(a_run(), sessions, marks)
    assert len(bars(picture)) == MOST_SESSIONS
    assert f"the last {MOST_SESSIONS} of 100 sessions" in picture
    assert len(picture) < 200_000


@examples
@given(text=WILD_TEXT | TEXT, times=st.lists(st.floats(-1e5, 1e5), min_size=1, max_size=12))
def test_whatever_others_wrote_the_picture_is_whole_and_everything_is_on_it(text: str, times: list[float]) -> None:
    sessions = [a_session(begin, end, Ending.DIED, text) for begin, end in pairwise(times)]
    marks = [Mark(at(time), "error", text) for time in times]
    picture = tree.fromstring(draw(a_run(text), sessions, marks))
    for bar in picture.iter(f"{SVG}rect"):
        if bar.get("class") != "paper":
            left = float(bar.get("x", ""))
            assert left >= LEFT - 1
            assert left + float(bar.get("width", "")) <= ACROSS - RIGHT + 4
    assert len(list(picture.iter(f"{SVG}path"))) == len(marks)


@pytest.mark.parametrize("text", ['"><script>alert(1)</script>', "]]>", "&lol;", "\x00\x08\ufffe", "--><x"])
def test_hostile_text_is_text(text: str) -> None:
    picture = tree.fromstring(draw(a_run(text), [a_session(0, 9, Ending.DIED, text)], [Mark(NOW, "decision", text)]))
    assert {found.tag.removeprefix(SVG) for found in picture.iter()} <= {
        "svg", "style", "rect", "text", "title", "line", "path",
    }  # fmt: skip
