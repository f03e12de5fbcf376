"""Trust at a terminal, and nowhere else: what is shown is what there is, and only an answer counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faber_states import put
from tests.hostile.test_terminal import FORBIDDEN
from tests.surfaces.terminal import Terminal
from tests.tools import Command

pytestmark = pytest.mark.promise(20)

HOSTILE = "tools/x.sh \x1b[2K\x1b]52;c;eA==\x07 \u202eevil\u202c a\u200bb"
WORKFLOW = ".fractary/faber/workflows/default.json"


@pytest.fixture
def brought(repository: Path) -> Path:
    """A project that brings a command and the script that it runs, both written to deceive."""
    put(repository, "tools/x.sh", "#!/bin/sh\necho one\r\x1b[1A\x1b[2Kecho two\n")
    artifact = {"id": "issue", "type": "skill", "command": HOSTILE}
    put(repository, WORKFLOW, {"critical_artifacts": {"always_load": [artifact]}})
    return repository


def granted(say: Callable[..., Command]) -> list[str]:
    return [grant["state"] for grant in say("trust", "--list", "--json").ok().json["grants"]]


def test_everything_is_shown_spelled_out_and_a_yes_allows_it(brought: Path, say: Callable[..., Command]) -> None:
    with Terminal("trust", directory=brought) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("y\n")
        assert terminal.finish() == 0
    assert r"issue: tools/x.sh \x1b[2K\x1b]52;c;eA==\x07 \u202eevil\u202c a\u200bb" in terminal.text
    assert r"| echo one\r\x1b[1A\x1b[2Kecho two" in terminal.text
    assert FORBIDDEN.findall(terminal.text) == []
    assert granted(say) == ["trusted"]
    assert say("trust").ok().err.startswith("All of it is trusted: ")
    assert say("untrust").ok().out == f"{brought}/{WORKFLOW}\n"
    assert granted(say) == []


@pytest.mark.parametrize("blank", [" ", "\u00a0", "\u3000", "\u2800"])
def test_nothing_is_pushed_off_the_screen_by_a_stretch_of_nothing(blank: str, brought: Path) -> None:
    put(brought, "tools/x.sh", "echo evil" + (blank + "\n") * 3_000 + "echo good" + blank * 10_000 + "\n")
    artifact = {"id": "issue", "type": "skill", "command": f"sh -c 'evil # {blank * 3_000}' tools/x.sh"}
    put(brought, WORKFLOW, {"critical_artifacts": {"always_load": [artifact]}})
    with Terminal("trust", directory=brought) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("n\n")
        terminal.finish()
    assert "blanks]' tools/x.sh" in terminal.text
    assert "| echo evil\r\n    | [2,999 empty lines]\r\n    | echo good[10,000 blanks]" in terminal.text
    assert len(terminal.text) < 1_000


def test_a_name_of_a_file_hides_nothing(brought: Path) -> None:
    put(brought, "tools/a\u200bb  c.sh", "echo one\n")
    artifact = {"id": "issue", "type": "skill", "command": "sh 'tools/a\u200bb  c.sh'"}
    put(brought, WORKFLOW, {"critical_artifacts": {"always_load": [artifact]}})
    with Terminal("trust", directory=brought) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("n\n")
        terminal.finish()
    assert r"which names tools/a\u200bb  c.sh (sha256" in terminal.text


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04"])
def test_anything_but_a_yes_allows_nothing(answer: str, brought: Path, say: Callable[..., Command]) -> None:
    with Terminal("trust", directory=brought) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type(answer)
        terminal.finish()
    assert granted(say) == []


def test_what_changes_while_somebody_reads_is_not_allowed(brought: Path, say: Callable[..., Command]) -> None:
    with Terminal("trust", directory=brought) as terminal:
        terminal.wait_for("[y/N]")
        (brought / "tools/x.sh").write_text("echo evil\n")
        terminal.type("y\n")
        assert terminal.finish() == 1
    assert "It has changed since it was shown" in terminal.text
    assert granted(say) == []


@pytest.mark.parametrize("words", [["trust"], ["trust", "--yes"], ["trust", WORKFLOW, "--yes"], ["trust", "--json"]])
def test_where_nobody_is_at_a_terminal_the_answer_is_never_yes(
    words: list[str], brought: Path, say: Callable[..., Command], cli: Callable[..., Command]
) -> None:
    for done in (say(*words), cli(*words, stdin=b"y\ny\n")):
        assert done.code == 1
        assert "allowed at a terminal only: nobody is at one here" in done.out + done.err
    assert granted(say) == []


def test_yes_is_no_answer_at_a_terminal_either(brought: Path, say: Callable[..., Command]) -> None:
    with Terminal("trust", "--yes", directory=brought) as terminal:
        terminal.wait_for("[y/N]")
        terminal.type("n\n")
        terminal.finish()
    assert granted(say) == []


def test_an_agent_that_brings_a_terminal_of_its_own_is_not_asked(brought: Path, say: Callable[..., Command]) -> None:
    with Terminal("trust", directory=brought, env={"CLAUDECODE": "1"}) as terminal:
        assert terminal.finish() == 1
    assert "an agent started this (CLAUDECODE is set)" in terminal.text
    assert granted(say) == []


def test_restricted_is_said_where_one_looks(brought: Path, say: Callable[..., Command]) -> None:
    say("start", "goal").ok()
    assert f"Commands are not run until you have allowed them: {brought}/{WORKFLOW}; " in say("status").ok().out
    assert "warning  commands: commands that you have not allowed yet" in say("doctor").out
    assert json.loads(say("status", "--json").ok().out)["untrusted"] == [f"{brought}/{WORKFLOW}"]
