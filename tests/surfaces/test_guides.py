"""Guides, followed word by word in a new repository."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import holdfast
from tests.surfaces import guides

GUIDES = Path(__file__).parent.parent.parent / "docs/guides"


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """A shell of somebody who has Holdfast."""
    program = home / "bin/holdfast"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"}


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("orchestrator", 16),
        ("go-team", 26),
        ("carrying", 15),
        ("finding", 16),
        ("looking-after", 10),
        ("room", 7),
        ("secrets", 5),
    ],
)
def test_every_command_of_a_guide_prints_what_the_guide_shows(
    name: str, least: int, repository: Path, environment: dict[str, str]
) -> None:
    page = (GUIDES / f"{name}.md").read_text("utf-8")
    assert sum(isinstance(step, guides.Step) for step in guides.read(page)) >= least
    wrong = guides.follow(page, repository, environment)
    assert [f"$ {step.command}\n{printed}" for step, printed in wrong] == []
    with holdfast.open(repository) as workspace:
        assert holdfast.verify(workspace, deep=True).problems == []
