"""Checkpoints and ways back as a person meets them: at a terminal that can be asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.surfaces.terminal import Terminal
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
