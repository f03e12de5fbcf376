"""Choosing from a list on a terminal: keys, letters, Esc; by number where it cannot draw; a list where nobody is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.surfaces.cli.picker import CLEAR, DOWN, ENTER, ERASE, PAGE_DOWN, UP, Choice, Choosing
from tests.hostile.words import ACTING
from tests.surfaces.terminal import Terminal
from tests.tools import Command

ARROW_DOWN, ARROW_UP, ESC = "\x1b[B", "\x1b[A", "\x1b"


@pytest.fixture
def three(repository: Path) -> dict[str, str]:
    """Three runs by their goals; the last one is the current one."""
    with holdfast.open(repository) as workspace:
        return {goal: holdfast.start(workspace, goal).run.id for goal in ("Apples", "Pears", "Plums")}


# without a terminal


def chosen(keys: list[str], choices: int = 30) -> str | None:
    choosing = Choosing([Choice(f"run-{number}", f"goal {number}") for number in range(choices)])
    for key in keys:
        if taken := choosing.press(key):
            return taken.name
    return None


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ([ENTER], "run-0"),
        ([DOWN, DOWN, UP, ENTER], "run-1"),
        ([UP, ENTER], "run-0"),
        ([DOWN] * 99 + [ENTER], "run-29"),
        ([PAGE_DOWN, ENTER], "run-12"),
        (["2", "9", ENTER], "run-29"),
        (["2", "9", ERASE, DOWN, ENTER], "run-12"),
        (["x", ENTER, CLEAR, ENTER], "run-0"),
        ([*"GOAL 7", ENTER], "run-7"),
        ([*"zzz", ENTER], None),
        ([ERASE, ERASE, ENTER], "run-0"),
        ([DOWN, "2", ENTER], "run-2"),
        (["", ENTER], "run-0"),
    ],
)
def test_keys_choose_this(keys: list[str], expected: str | None) -> None:
    assert chosen(keys) == expected


@pytest.mark.parametrize("height", [1, 2, 5, 24, 100])
def test_the_lit_choice_is_always_among_those_shown(height: int) -> None:
    choosing = Choosing([Choice(f"run-{number}", "") for number in range(30)])
    for number in range(30):
        lines = choosing.lines("Which", height)
        assert [line.strip() for line in lines if line.startswith("> ")] == [f"> run-{number}"]
        assert len(lines) <= max(3, height)
        choosing.press(DOWN)


@pytest.mark.promise(24)
@pytest.mark.parametrize("text", ACTING)
def test_no_choice_can_act_on_the_terminal(text: str) -> None:
    lines = Choosing([Choice("run-a", text)]).lines("Which", 24)
    assert all(line.isprintable() for line in lines)


# on a terminal


def test_arrows_and_enter_choose_the_run_that_is_shown(three: dict[str, str], repository: Path) -> None:
    with Terminal("show", "--pick", "--json", directory=repository) as terminal:
        terminal.wait_for("3 of 3")
        assert f"> {three['Plums']} created, Plums" in terminal.text
        terminal.type(ARROW_DOWN + ARROW_DOWN + ARROW_UP)
        terminal.wait_for(f"> {three['Pears']}")
        terminal.type("\r")
        assert terminal.finish() == 0
    assert f'"id":"{three["Pears"]}"' in terminal.text.splitlines()[-1]
    assert terminal.text.rpartition("\x1b[J")[2].startswith("{")  # nothing of the list stays


def test_letters_narrow_the_list(three: dict[str, str], repository: Path) -> None:
    with Terminal("resume", "--pick", "--print", directory=repository) as terminal:
        terminal.wait_for("3 of 3")
        terminal.type("appx\x7f")
        terminal.wait_for("1 of 3")
        terminal.type("\r")
        assert terminal.finish() == 0
    assert f"HOLDFAST_RUN={three['Apples']}" in terminal.text


@pytest.mark.parametrize("key", [ESC, "\x04"])
def test_esc_leaves_everything_as_it_was(three: dict[str, str], repository: Path, key: str) -> None:
    with Terminal("resume", "--pick", directory=repository) as terminal:
        terminal.wait_for("3 of 3")
        terminal.type(key)
        assert terminal.finish() == 130
    assert "Nothing was chosen" in terminal.text
    with holdfast.open(repository) as workspace:
        assert holdfast.sessions(workspace, every=True).sessions == []


def test_ctrl_c_leaves_the_terminal_as_it_was(three: dict[str, str], repository: Path) -> None:
    with Terminal("show", "--pick", directory=repository) as terminal:
        before = terminal.modes()
        terminal.wait_for("3 of 3")
        assert terminal.modes() != before
        terminal.press_control_c()
        assert terminal.finish() == 130
        assert terminal.modes() == before
    assert "Traceback" not in terminal.text


def test_a_checkpoint_is_chosen_where_none_is_named(three: dict[str, str], repository: Path) -> None:
    file = repository / "a.txt"
    with holdfast.open(repository) as workspace:
        file.write_text("first")
        first = holdfast.checkpoint(workspace, "first").checkpoint
        file.write_text("second")
        holdfast.checkpoint(workspace, "second")
    with Terminal("restore", directory=repository) as terminal:
        terminal.wait_for("2 of 2")
        terminal.type("first")
        terminal.wait_for("1 of 2")
        terminal.type("\r")
        terminal.wait_for("Go back?")
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert file.read_text() == "first"
    assert first.id in terminal.text.splitlines()[-1]


def test_a_run_that_is_the_only_one_can_be_picked(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "Apples").run.id
    with Terminal("show", "--pick", directory=repository) as terminal:
        terminal.wait_for("1 of 1")
        assert f"> {run} " in terminal.text
        terminal.type("\r")
        assert terminal.finish() == 0


def test_a_checkpoint_that_is_the_only_one_can_be_picked(three: dict[str, str], repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        made = holdfast.checkpoint(workspace, "first").checkpoint
    with Terminal("restore", "--dry-run", directory=repository) as terminal:
        terminal.wait_for("1 of 1")
        assert f"> {made.id} " in terminal.text
        terminal.type("\r")
        assert terminal.finish() == 0


def test_where_no_run_is_there_to_choose_that_is_said(repository: Path, cli: Callable[..., Command]) -> None:
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "Apples")
        holdfast.complete(workspace)
    done = cli("resume", "--pick")
    assert (done.code, done.out) == (10, "")
    assert "There is no run to choose" in done.err


def test_another_size_of_the_window_is_drawn_at_once(three: dict[str, str], repository: Path) -> None:
    stale = {"COLUMNS": "200", "LINES": "50"}  # as a shell may have put it there
    with Terminal("show", "--pick", directory=repository, env=stale) as terminal:
        terminal.wait_for("3 of 3")
        terminal.seen = b""
        terminal.resize(10, 20)
        terminal.wait_for("3 of 3: ↑ ↓")
        assert max(map(len, re.split(r"[\r\n]+|\x1b\[\d*[AJ]", terminal.text))) < 20
        terminal.type(ESC)
        terminal.finish()


# where it cannot be drawn


def test_a_terminal_that_cannot_draw_is_asked_by_number(three: dict[str, str], repository: Path) -> None:
    with Terminal("show", "--pick", "-q", directory=repository, env={"TERM": "dumb"}) as terminal:
        terminal.wait_for("Which one")
        assert f"  2  {three['Pears']}  paused, Pears" in terminal.text
        terminal.type("2\n")
        assert terminal.finish() == 0
    assert "\x1b" not in terminal.text
    assert f"{three['Pears']}  paused" in terminal.text.splitlines()[3 + len(three)]


@pytest.mark.parametrize("arguments", [("show", "--pick"), ("resume", "--pick"), ("restore",)], ids=" ".join)
def test_where_nobody_is_the_choices_are_listed(
    three: dict[str, str], repository: Path, cli: Callable[..., Command], arguments: tuple[str, ...]
) -> None:
    with holdfast.open(repository) as workspace:
        made = holdfast.checkpoint(workspace, "first").checkpoint
    done = cli(*arguments)
    assert (done.code, done.out) == (1, "")
    assert all(name in done.err for name in ([made.id] if arguments == ("restore",) else three.values()))


def test_without_a_checkpoint_there_is_nothing_to_choose(three: dict[str, str], cli: Callable[..., Command]) -> None:
    done = cli("restore")
    assert (done.code, "`holdfast checkpoint` makes one" in done.err) == (10, True)


def test_a_session_of_several_that_fit_can_be_picked(three: dict[str, str], repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        session, *_ = [holdfast.join(workspace, run).session.id for run in three.values()]
    with Terminal("show", "ses-", "--json", directory=repository) as terminal:
        terminal.wait_for("3 of 3")
        terminal.type(session[4:])
        terminal.wait_for("1 of 3")
        terminal.type("\r")
        assert terminal.finish() == 0
    assert f'"session":{{"id":"{session}"' in terminal.text
