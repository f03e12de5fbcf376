"""Checkpoints as a person meets them: the list, the picker over prompts, the pager; word for word in `tests/golden`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.surfaces.normal import normal
from tests.surfaces.terminal import Terminal, on_a_terminal
from tests.surfaces.test_golden import GOLDEN, WRITE
from tests.tools import Command
from tests.turns import three_turns
from tests.worktrees import git, put, take

ARROW_DOWN = "\x1b[B"
SCREENS = {
    "checkpoints": ("checkpoints",),
    "diff": ("diff", "@prompt:3"),
    "rewind": ("rewind",),
    "restore-several": ("restore", "refactoring"),
}
WIDTHS = (80, 120)


@pytest.fixture
def worked_on(project: Workspace, clock: TickingClock) -> Path:
    clock.time = datetime.now(UTC) - timedelta(hours=3, minutes=10)
    three_turns(project)
    take(project, "before-release")
    return project.root


def compare(name: str, shown: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.write_text(shown)
    assert shown == path.read_text()


@pytest.mark.parametrize("name", SCREENS)
def test_the_words_are_the_ones_that_were_agreed(
    name: str, worked_on: Path, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = say(*SCREENS[name], directory=worked_on)
    compare(name, _steady(f"{done.out}{done.err}exit code {done.code}\n"))


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_list_fits_the_terminal(worked_on: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("COLUMNS", str(columns))
    code, text = on_a_terminal("checkpoints", directory=worked_on)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).replace("\r\n", "\n")
    assert code == 0
    assert max(map(len, plain.splitlines())) <= columns
    compare(f"checkpoints-{columns}", _steady(plain))


def _steady(text: str) -> str:
    """Without what differs each time; the hash of a file does where git has another default."""
    hashes = re.sub(r"index [0-9a-f]+\.\.[0-9a-f]+", "index A..B", normal(text))
    return re.sub(r"\bcp-[0-9a-z]{10}\b", "cp-xxxxxxxxxx", hashes)


def test_the_picker_over_prompts_goes_back_and_can_be_undone(worked_on: Path, cli: Callable[..., Command]) -> None:
    with Terminal("rewind", directory=worked_on) as terminal:
        terminal.wait_for("Explain the cart")
        terminal.type(ARROW_DOWN + ARROW_DOWN + "\r")
        terminal.wait_for("Go back?")
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert (worked_on / "a.txt").read_text() == "one\n"
    assert not (worked_on / "c.txt").exists()
    cli("undo").ok()
    assert (worked_on / "c.txt").read_text() == "class\n"


def test_a_prompt_can_be_named_by_its_number(worked_on: Path, cli: Callable[..., Command]) -> None:
    cli("rewind", "3").ok()
    assert not (worked_on / "c.txt").exists()
    assert (worked_on / "a.txt").read_text() == "mine\n"
    assert cli("rewind", "x").code == 2
    assert cli("rewind", "9").code == 10


def test_without_a_terminal_the_prompts_are_listed(worked_on: Path, cli: Callable[..., Command]) -> None:
    done = cli("rewind")
    assert (done.code, done.out) == (1, "")
    assert re.findall(r"@prompt:\d", done.err)[:3] == ["@prompt:3", "@prompt:2", "@prompt:1"]


def test_without_a_prompt_there_is_nothing_to_rewind_to(repository: Path, cli: Callable[..., Command]) -> None:
    cli("start", "Build a shop")
    cli("checkpoint")
    done = cli("rewind")
    assert done.code == 10
    assert "This run has no prompt yet" in done.err


def test_a_person_chooses_between_several_checkpoints(worked_on: Path) -> None:
    with Terminal("restore", "refactoring", directory=worked_on) as terminal:
        terminal.wait_for("before: Do the refactoring")
        terminal.type("before:\r")
        terminal.wait_for("Go back?")
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert not (worked_on / "c.txt").exists()


def paging(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setenv("GIT_PAGER", f"cat > {file}; echo paged")


def test_a_diff_on_a_terminal_goes_through_gits_pager_in_colour(
    worked_on: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("NO_COLOR")
    paging(monkeypatch, tmp_path / "seen")
    code, text = on_a_terminal("diff", "@prompt:3", directory=worked_on)
    assert (code, "paged" in text) == (0, True)
    assert "\x1b[32m+class\x1b[0m" in (tmp_path / "seen").read_text()


def test_elsewhere_there_is_no_pager(
    worked_on: Path, cli: Callable[..., Command], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    paging(monkeypatch, tmp_path / "seen")
    assert "+class" in cli("diff", "@prompt:3").ok().out
    assert not (tmp_path / "seen").exists()


@pytest.mark.parametrize("pager", ["cat", "", "no-such-program-anywhere"])
def test_without_a_pager_it_is_printed(worked_on: Path, monkeypatch: pytest.MonkeyPatch, pager: str) -> None:
    monkeypatch.setenv("GIT_PAGER", pager)
    code, text = on_a_terminal("diff", "@prompt:3", directory=worked_on)
    assert code == 0
    assert "+class" in text


def test_the_repository_does_not_choose_a_program_to_run(
    worked_on: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    git(worked_on, "config", "core.pager", f"touch {tmp_path / 'run'}; cat")
    monkeypatch.setenv("PAGER", "cat")
    monkeypatch.setenv("GIT_DIR", str(worked_on / ".git"))
    code, text = on_a_terminal("diff", "@prompt:3", directory=worked_on)
    assert "+class" in text
    assert not os.path.lexists(tmp_path / "run")
    assert code == 0


def test_what_others_wrote_cannot_act_on_the_terminal(project: Workspace, cli: Callable[..., Command]) -> None:
    three_turns(project)
    from tests.turns import turn

    turn(project, "Evil \x1b]0;title\x07 prompt", "ok", d_txt="x")
    put(project.root, {"e\x1b[31m.txt": "\x1b[2J\n"})
    take(project)
    for words in (["checkpoints"], ["rewind"], ["log"], ["diff", "@prompt:4"], ["restore", "Evil"]):
        done = cli(*words)
        assert "\x1b" not in done.out + done.err
        assert "\x07" not in done.out + done.err
