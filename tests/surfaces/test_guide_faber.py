"""The guide for FABER's users, followed word by word in a new repository."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import holdfast
from tests.surfaces import guides

GUIDE = Path(__file__).parent.parent.parent / "docs/guides/faber.md"
STATE = ".fractary/faber/runs/webshop-7/state.json"


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """A terminal of somebody who has Holdfast and Claude Code."""
    (home / ".claude").mkdir()
    program = home / "bin/holdfast"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    program.chmod(0o755)
    (home / ".gitconfig").write_text("[user]\nname = A Reader\nemail = reader@example.org\n")
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    return {**kept, "PATH": f"{program.parent}:{kept['PATH']}", "TERM": "xterm"}


def test_every_command_of_the_guide_prints_what_the_guide_shows(repository: Path, environment: dict[str, str]) -> None:
    page = GUIDE.read_text()
    wrong = guides.follow(page, repository, environment)
    assert [f"$ {step.command}\n{printed}" for step, printed in wrong] == []
    before = next(file.text for file in guides.read(page) if isinstance(file, guides.File) and file.path == STATE)
    known, now = json.loads(before), json.loads((repository / STATE).read_bytes())
    assert {name for name in known | now if known.get(name) != now.get(name)} == {
        "sessions",
        "context_metadata",
        "updated_at",
    }
    with holdfast.open(repository) as workspace:
        assert holdfast.verify(workspace).problems == []


def test_a_command_that_prints_something_else_is_found(repository: Path) -> None:
    page = "`a/b`:\n\n```\none\n```\n\n```console\n$ cat a/b\none\n$ echo x y z\nx … z\n$ cat a/b\n…\ntwo\n```\n"
    wrong = guides.follow(page, repository, os.environ)
    assert [(step.command, printed) for step, printed in wrong] == [("cat a/b", "one\n")]
