"""Actions that were begun and have not ended: each belongs to a session, and is told as the session's state is."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.fold import activity, run as fold
from holdfast.core.model import Event, Run
from tests.tools import an_event

Told = tuple[str, str, dict[str, Any]]


def folded(*told: Told) -> Run:
    """A run with these events: their kind, their session, their body."""
    first = an_event("run.started", {"goal": "a goal"}, 1)
    return fold.fold(first.run, [first, *(_event(seq, *each) for seq, each in enumerate(told, 2))])


def _event(seq: int, kind: str, session: str, body: dict[str, Any]) -> Event:
    return an_event(kind, body, seq, session=session)


def opened(session: str) -> Told:
    return "session.opened", session, {}


def died(session: str) -> Told:
    return "session.ended", session, {"how": "died"}


def begun(session: str, text: str) -> Told:
    return "action.begun", session, {"text": text, "key": text}


def turned(session: str) -> Told:
    return "turn.ended", session, {"text": "done"}


def lines(*told: Told) -> list[str]:
    return [text for text, _ in activity.told_underway(folded(*told), 100)]


A, B, C = opened("a"), opened("b"), opened("c")
MADE = (A, begun("a", "make"))
BOTH = (A, B, begun("a", "make"), begun("b", "test"))
DEAD = (*BOTH, died("a"))

CASES: list[tuple[str, tuple[Told, ...], list[str]]] = [
    ("one at work", MADE, ["in the middle of: make"]),
    ("one that died", (*MADE, died("a")), ["interrupted in: make"]),
    ("one that left", (*MADE, ("session.ended", "a", {"how": "ended"})), ["interrupted in: make"]),
    ("two at work", BOTH, ["in the middle of: make (a)", "in the middle of: test (b)"]),
    ("one of two died", DEAD, ["interrupted in: make (a)", "in the middle of: test (b)"]),
    ("a turn ends what is its session's", (*BOTH, turned("b")), ["in the middle of: make (a)"]),
    ("the turn of another is none of the dead one's", (*DEAD, turned("b")), ["interrupted in: make (a)"]),
    ("a successor has begun", (*DEAD, turned("b"), C), ["interrupted in: make (a)"]),
    ("a successor has done a turn", (*DEAD, turned("b"), C, turned("c")), []),
    ("a successor died too", (*MADE, died("a"), B, died("b"), C, turned("c")), []),
    ("an action ends with its result", (*DEAD, ("action.taken", "a", {"text": "make", "key": "make"})),
     ["in the middle of: test"]),
    ("the run is over", (*MADE, died("a"), ("run.completed", "", {})), []),
]  # fmt: skip


@pytest.mark.parametrize(("told", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_action_without_an_end_is_told_by_its_session(told: tuple[Told, ...], wanted: list[str]) -> None:
    assert lines(*told) == wanted


def test_going_back_in_what_a_run_knew_begins_no_action_again() -> None:
    ended: Told = ("action.taken", "a", {"text": "make", "key": "make"})
    back: Told = ("run.returned", "", {"to": 3})
    assert folded(*MADE, ended, back).doing == {}
    assert lines(A, begun("a", "make"), begun("a", "test"), back) == [
        "in the middle of: make",
        "in the middle of: test",
    ]


def test_a_long_action_leaves_room_for_the_name_of_its_session() -> None:
    run = folded(A, B, begun("a", "x" * 1000))
    ((text, _),) = activity.told_underway(run, 100)
    assert len(text) < 150
    assert text.endswith(" (a)")
