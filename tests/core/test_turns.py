"""The sentences of a conversation that a brief tells: what was found out, however long ago, and not what was done."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from holdfast.core.brief import plan_brief
from holdfast.core.model import Action, Run, Status
from holdfast.core.turns import Turn, costs_of, lines_of, pieces_of, sentences
from tests.strategies import WILD_TEXT, examples
from tests.tools import NOON, a_run, a_session

FOUND = "The cache in `prices.py` is never cleared, so a price of yesterday is shown until noon."
EVERYDAY = "I renamed the helper and updated its callers. All tests pass."


def brief(turns: list[Turn], run: Run | None = None, budget: int = 10_000) -> str:
    return plan_brief(run or a_run(), None, NOON, budget, turns=turns, chance=lambda: "q" * 10).text


def talk(*answers: str) -> list[Turn]:
    """Turns with these answers, an hour apart."""
    return [
        Turn(f"Look at part number {number} of it", NOON - timedelta(hours=len(answers) - number), [answer])
        for number, answer in enumerate(answers)
    ]


SPLIT: list[tuple[str, list[str]]] = [
    ("One thing. Another one!", ["One thing.", "Another one!"]),
    ("It is 3.1 GB in app.py. So be it", ["It is 3.1 GB in app.py.", "So be it"]),
    ("See e.g. the cart", ["See e.g. the cart"]),
    (
        "# Head\n\nText of\ntwo lines\n\n- an item\n  goes on\n2. another",
        ["Text of two lines", "an item goes on", "another"],
    ),
    ("Before\n```py\nx = 1. Y\n```\nafter", ["Before", "after"]),
    ("| a | b |\n|---|---|\n| 1 | 2 |", ["a | b |", "1 | 2 |"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "found"), SPLIT)
def test_answer_is_split_into_its_sentences(text: str, found: list[str]) -> None:
    assert list(sentences(text)) == found


def test_what_was_found_long_ago_is_told_although_the_last_word_was_done() -> None:
    lines = brief(talk(f"I looked at it. {FOUND} Tell me what to do.", *[EVERYDAY] * 58, "Done.")).splitlines()
    at = lines.index(f"  said: {FOUND}")
    assert lines[at - 1] == "- asked: Look at part number 0 of it [2d]"
    assert lines[-3:-1] == ["- asked: Look at part number 59 of it [1h]", "  said: Done."]


def test_the_last_answer_is_told_from_its_beginning() -> None:
    assert f"  said: {EVERYDAY} {FOUND}" in brief(talk(FOUND, f"{EVERYDAY} {FOUND}"))


def test_what_is_said_twice_is_told_once() -> None:
    assert brief(talk(FOUND, "Done.", FOUND)).count(FOUND) == 1


def test_where_there_is_little_room_findings_stay_longer_than_reports() -> None:
    answers = [f"I moved module {number} to another place and changed {number} imports." for number in range(30)]
    text = brief(talk(FOUND, *answers, "Done."), budget=2_500)
    assert (FOUND in text, "module 3 " in text) == (True, False)


def test_the_goal_is_not_repeated_as_a_prompt() -> None:
    run = a_run(goal="Make the prices right")
    text = brief([Turn("Make the prices right", NOON, [FOUND]), Turn("and the taxes too please", NOON)], run)
    assert text.count("Make the prices right") == 1
    assert f"- asked: (the goal above) [0m]\n  said: {FOUND}\n- asked: and the taxes too please [0m]" in text


def test_prompts_that_only_say_to_go_on_are_left_out() -> None:
    turns = [Turn(prompt, NOON) for prompt in ("go on", "use port 80", "never touch the vendored code", "a", "b", "c")]
    assert [line[9:-5] for line in brief(turns).splitlines() if line.startswith("- asked")] == [
        "use port 80", "never touch the vendored code", "a", "b", "c",
    ]  # fmt: skip


def test_death_is_told_once() -> None:
    run = a_run(status=Status.INTERRUPTED, evidence="process 7 is gone")
    last = a_session(how="died", reason="process 7 is gone", last_action="said: x")
    assert plan_brief(run, last, NOON, 10_000, chance=lambda: "q").text.count("process 7 is gone") == 1


def test_edits_are_among_the_last_actions_and_reads_and_errors_are_not() -> None:
    actions = [
        Action("Read: a.py", NOON, reads=True),
        *[Action("Edit: a.py", NOON, ["a.py"])] * 2,
        Action("Bash: rm x", NOON, error="denied"),
    ]  # fmt: skip
    text = brief([], a_run(actions=actions, files={"a.py": NOON}))
    assert [line for line in text.splitlines() if line[:6] in ("- Read", "- Edit", "- Bash")] == ["- Edit: a.py [0m]"]


def test_it_is_told_how_to_get_more() -> None:
    text = plan_brief(a_run(), None, NOON, 10_000, checkpoint="cp-7", chance=lambda: "q").text
    assert "More: `holdfast log`, `holdfast search WORDS`, `holdfast diff`; last checkpoint: cp-7" in text


TURNS = st.lists(st.builds(Turn, WILD_TEXT, st.none(), st.lists(WILD_TEXT, max_size=3)), max_size=5)


@examples
@given(TURNS, st.integers(0, 30))
def test_pieces_never_cost_more_than_was_reckoned(turns: list[Turn], number: int) -> None:
    pieces, ages = pieces_of(turns, "a goal"), [" [-]"] * len(turns)
    told = "".join(f"{text}{age}\n" for text, age in lines_of(pieces[:number], ages))
    assert len(told) <= sum(list(costs_of(pieces, ages))[:number])
