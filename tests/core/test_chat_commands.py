"""What is an observer command and what is a prompt; how an answer is made harmless."""

from __future__ import annotations

import pytest
from hypothesis import given

from holdfast.core import chat_commands
from holdfast.core.chat_commands import Order
from holdfast.core.errors import NotFound
from holdfast.core.text import visible
from tests.strategies import WILD_TEXT, many_examples


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("*sessions", Order("sessions")),
        (" *sessions \n", Order("sessions")),
        ("*resume", Order("resume")),
        ("*resume:1", Order("resume", "1")),
        ("*resume: def456", Order("resume", "def456")),
        ("*resume checkpoint", Order("resume", way="checkpoint")),
        ("*resume:fresh", Order("resume", way="fresh")),
        ("*resume:2 live", Order("resume", "2", way="live")),
        ("*cp-list", Order("checkpoints")),
        ("*cp-diff:3:1", Order("cp-diff", "3:1")),
        ("*rollback:3", Order("rollback", "3")),
        ("*rollback:cp-4x9k2m7pq3 yes", Order("rollback", "cp-4x9k2m7pq3", confirmed=True)),
        ("*new Add retries: now", Order("new", "Add retries: now")),
        ("*new:Add retries", Order("new", "Add retries")),
        ("*new", Order("new")),
        ("*abandon", Order("abandon")),
    ],
)
def test_these_are_commands(text: str, order: Order) -> None:
    assert chat_commands.parse(text) == order
    assert chat_commands.parse(chat_commands.written(order)) == order


@pytest.mark.parametrize(
    "text",
    ["", "*", "* sessions", "*Sessions", "sessions", "**sessions**", "*sessions*", "*status of the build?", "*pause:5",
     "*resume the work", "*emphasis* first", "*nothing", "*nothing:1", "*status\nand more", "*new one\n*new two",
     "*new " + "x" * 3000, "- *sessions", "*cp_show:1", "*help:me", "*resume 2 live",
     "*sessions live"],
)  # fmt: skip
def test_these_are_for_the_model(text: str) -> None:
    assert chat_commands.parse(text) is None


@pytest.mark.defect("an observer command typed behind the one before it, which the client puts back, went to the model")
@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("*status*help", Order("help")),
        ("*sessions *resume:2", Order("resume", "2")),
        ("*resume:1\n*sessions", Order("sessions")),
        ("*new Add retries*status", Order("status")),
        ("*status*new Add retries", Order("new", "Add retries")),
        ("*rollback:cp-4x9k2m7pq3 yes*help", Order("help")),
        ("*rollback:3*rollback:cp-4x9k2m7pq3 yes", Order("rollback", "cp-4x9k2m7pq3", confirmed=True)),
        ("*new Explain *help", Order("new", "Explain *help")),
        ("*new Allow a*b", Order("new", "Allow a*b")),
        ("*help" * 300, Order("help")),
    ],
)
def test_of_several_commands_in_a_row_the_last_one_is_meant(text: str, order: Order) -> None:
    assert chat_commands.parse(text) == order


@pytest.mark.parametrize("text", ["*status*", "*status*unknown", "please *status*help", "*status of it*help"])
def test_a_row_with_anything_else_in_it_is_for_the_model(text: str) -> None:
    assert chat_commands.parse(text) is None


@many_examples
@given(WILD_TEXT)
def test_no_text_breaks_the_reading_of_commands(text: str) -> None:
    for begin in ("*", "*resume:", "*new "):
        order = chat_commands.parse(begin + text)
        assert order is None or order.word in chat_commands.FORMS


def test_every_command_is_explained_in_a_line() -> None:
    lines = chat_commands.instructions()
    assert len(lines) == len(chat_commands.FORMS)
    assert "*rollback:N|cp-ID" in "\n".join(lines)
    assert "*resume[:#|ID] [checkpoint|live|fresh]" in "\n".join(lines)


@many_examples
@given(WILD_TEXT)
def test_an_answer_holds_nothing_that_acts_and_is_not_too_long(text: str) -> None:
    answer = chat_commands.clipped(text * 50)
    assert visible(answer) == answer
    assert len(answer) <= chat_commands.LIMIT


def test_a_long_answer_ends_at_a_line_and_says_so() -> None:
    answer = chat_commands.clipped("a line\n" * 5000)
    *lines, last = answer.splitlines()
    assert set(lines) == {"a line"}
    assert "there is more" in last
    assert len(answer) > chat_commands.LIMIT - 100


def test_what_went_wrong_is_an_answer_with_facts_and_hints() -> None:
    error = NotFound('There is no run "x\x1b[2J"', [("looked at", "a\nb")], ["`holdfast runs`"])
    assert chat_commands.said(error) == 'There is no run "x[2J"\n  looked at: a b\n  try: `holdfast runs`'
