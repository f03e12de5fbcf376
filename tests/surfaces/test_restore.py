"""Checkpoints and ways back as a person meets them: at a terminal that can be asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.surfaces.terminal import Terminal, on_a_terminal
from tests.tools import Command

QUESTION = "Keep their real content"


@pytest.fixture
def filtered(repository: Path) -> Path:
    """A repository whose large pictures lie behind a filter."""
    (repository / ".gitattributes").write_text("*.psd filter=lfs diff=lfs merge=lfs -text\n")
    (repository / "a.psd").write_text("the real picture")
    return repository


@pytest.mark.parametrize(("answer", "kept"), [("y\n", True), ("n\n", False)])
def test_whether_to_keep_what_lies_behind_a_filter_is_asked_once(
    filtered: Path, cli: Callable[..., Command], answer: str, kept: bool
) -> None:
    with Terminal("checkpoint", directory=filtered) as terminal:
        terminal.wait_for(QUESTION)
        assert "a.psd" in terminal.text
        terminal.type(answer)
        assert terminal.finish() == 0
    with Terminal("checkpoint", directory=filtered) as terminal:
        assert terminal.finish() == 0
        assert QUESTION not in terminal.text
        assert ("Not kept: a.psd" not in terminal.text) is kept
    made = cli("checkpoint").out.strip()
    (filtered / "a.psd").write_text("spoiled")
    cli("restore", made, "--yes")
    assert ((filtered / "a.psd").read_text() == "the real picture") is kept


def test_where_nobody_can_be_asked_it_is_left_out_and_said(filtered: Path, cli: Callable[..., Command]) -> None:
    said = cli("checkpoint")
    assert said.code == 0
    assert "Not kept: a.psd" in said.err
    assert "`holdfast config set checkpoint.filtered keep`" in said.err


@pytest.mark.parametrize(("answer", "left"), [("y\n", "then"), ("n\n", "now")])
def test_a_restore_shows_what_would_change_and_asks(
    repository: Path, cli: Callable[..., Command], answer: str, left: str
) -> None:
    (repository / "one").write_text("then")
    made = cli("checkpoint").out.strip()
    (repository / "one").write_text("now")
    with Terminal("restore", made, directory=repository) as terminal:
        terminal.wait_for("Go back?")
        assert "Would change 1 file" in terminal.text
        terminal.type(answer)
        terminal.finish()
    assert (repository / "one").read_text() == left


@pytest.mark.parametrize("key", ["Ctrl-C", "Ctrl-D"])
def test_whoever_answers_not_at_all_is_told_that_nothing_was_changed(
    repository: Path, cli: Callable[..., Command], key: str
) -> None:
    (repository / "one").write_text("then")
    made = cli("checkpoint").out.strip()
    (repository / "one").write_text("now")
    with Terminal("restore", made, directory=repository) as terminal:
        terminal.wait_for("Go back? [y/N]: ")
        terminal.press_control_c() if key == "Ctrl-C" else terminal.type("\x04")
        assert terminal.finish() == 130
    assert "Nothing was changed" in terminal.text
    assert (repository / "one").read_text() == "now"
    assert len(cli("checkpoints", "--safety", "--json").json["checkpoints"]) == 1


def test_where_there_is_nothing_to_do_nobody_is_asked(repository: Path, cli: Callable[..., Command]) -> None:
    (repository / "one").write_text("then")
    made = cli("checkpoint").out.strip()
    code, text = on_a_terminal("restore", made, directory=repository)
    assert code == 0
    assert "Nothing to do" in text
    assert "Go back?" not in text


def test_a_diff_on_a_terminal_is_in_colour(
    repository: Path, cli: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "one").write_text("-- then\n")
    made = cli("checkpoint").out.strip()
    (repository / "one").write_text("++ now\n")
    assert "\x1b" not in cli("diff", made).ok().out
    monkeypatch.delenv("NO_COLOR")
    _, text = on_a_terminal("diff", made, directory=repository)
    for line in ("\x1b[1m--- a/one\x1b[0m", "\x1b[1;31m--- then\x1b[0m", "\x1b[32m+++ now\x1b[0m"):
        assert line in text


@pytest.mark.defect("Scripts that pass `--yes` everywhere failed at undo, redo and repair")
def test_undo_redo_and_repair_take_yes_as_all_other_ways_back_do(repository: Path, cli: Callable[..., Command]) -> None:
    (repository / "a").write_text("then")
    made = cli("checkpoint").ok().out.strip()
    (repository / "a").write_text("now")
    cli("restore", made, "--yes").ok()
    cli("undo", "--yes").ok()
    assert (repository / "a").read_text() == "now"
    cli("redo", "--yes").ok()
    assert (repository / "a").read_text() == "then"
    cli("repair", "--yes").ok()
