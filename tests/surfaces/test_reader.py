"""The plain way to read a command: it understands less than the whole command line, and never anything else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import example, given as strategy, strategies as st
from msgspec import structs

from holdfast.operations.commands import ALIASES, load_all
from holdfast.operations.parameters import is_given
from holdfast.surfaces.cli.app import read
from holdfast.surfaces.cli.parser import holdfast as program
from tests.tools import Command

VERBS = sorted({" ".join(verb.words) for verb in load_all().values() if verb.words} | set(ALIASES))
TOKENS = [
    *("-m", "--message", "--message=text", "--message=", "-mtext", "-m=text", "--run", "--run=r", "--runs", "-q", "-v"),
    *("--json", "--quiet", "--yes", "--force", "--dry-run", "--code", "--", "-", "", "--help", "name", "cp-1", "a/b"),
    *("=", "--=", "-qv", "--yes=1", "-rf", "ä", "\n"),
    *(
        "--search",
        "--search=x",
        "--limit",
        "--limit=5",
        "5",
        "0",
        "10001",
        "--limit=²",
        "--limit=",
        "--here",
        "--newest",
    ),
    *("--run-id", "--run-id=r", "--trigger=manual", "--trigger", "--artifacts=a,b", "--budget", "--budget=499", "500"),
    *("--agent=a", "--tag", "--status", "--status=open", "--since=3d", "--kind=note"),
]


def read_by_click(arguments: list[str]) -> dict[str, Any] | None:
    """What the whole command line understands; None where it refuses."""
    command: click.Command = program
    context = click.Context(program)
    try:
        while isinstance(command, click.Group):
            name, found, arguments = command.resolve_command(context, arguments)
            assert found is not None
            command = found
            if not isinstance(command, click.Group):
                return given(command.make_context(name, arguments, parent=context).params)
            context = click.Context(command, info_name=name, parent=context)
    except (click.UsageError, click.exceptions.Exit):
        return None
    return None


def read_plainly(arguments: list[str]) -> dict[str, Any] | None:
    found = read(arguments)
    return None if found is None else given({**found[1], **structs.asdict(found[2])})


def given(typed: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in typed.items() if is_given(value)}


@strategy(st.sampled_from(VERBS), st.lists(st.sampled_from(TOKENS), max_size=5))
@example("checkpoint", ["-m", "--json"])
@example("restore", ["cp-1", "a/b", "--yes", "-q"])
@example("runs", ["--limit=5", "--search", "x", "--here"])
@example("runs", ["--limit", "10001"])
@example("search", ["a", "b", "--newest", "--limit", "5"])
@example("session-load", ["--run-id=r", "--trigger", "manual", "--budget", "500", "--force"])
@example("load", ["--budget=499"])
@example("task add", ["name", "--run=r"])
@example("breakpoint", ["on"])
@example("cleanup", ["--keep", "0"])
def test_what_is_read_plainly_is_read_the_same_by_the_whole_command_line(verb: str, rest: list[str]) -> None:
    found = read_plainly([*verb.split(), *rest])
    if found is not None:
        assert read_by_click([*verb.split(), *rest]) == found


@pytest.mark.parametrize(
    "line",
    [
        *(
            "checkpoint",
            "checkpoint name",
            "checkpoint -m text --json",
            "checkpoint --run=r -q",
            "restore cp-1 a b --yes",
        ),
        *("runs", "runs --search x --limit 5 --json", "runs --here", "search a b*", "search a --newest --run=r"),
        *("status", "task add x", "restore cp-1 --both --yes", "search a --kind note"),
        *("session-load --json --force --budget 500", "load --run-id=r --trigger session_start", "prime-context"),
    ],
)
def test_plain_forms_are_read_plainly(line: str) -> None:
    assert read_plainly(line.split()) is not None


@pytest.mark.parametrize(
    "line",
    [
        *("checkpoint --help", "checkpoint a b", "checkpoint -m", "checkpoint -mtext", "checkpoint -- -x"),
        *("restore", "restore --continue", "checkpoints nothing", "run -- ls", "nothing", "task", "task nothing x"),
        *("runs x", "runs --limit 0", "runs --all-projects", "search", "search a --kind nothing"),
        *("session-load x", "session-load --budget 499", "load --budget 100000001", "load --help"),
    ],
)
def test_all_else_is_left_to_the_whole_command_line(line: str) -> None:
    assert read_plainly(line.split()) is None


@pytest.mark.defect(
    "Every command loaded shutil with bz2 and lzma: a checkpoint right after a commit cost 1.4 x git's own commit"
)
@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["status"], {"click", "rich", "subprocess"}),
        (
            ["checkpoint"],
            {
                "click",
                "rich",
                "subprocess",
                "holdfast.project.checkpoints.restore",
                "holdfast.worktree.packs.prune",
                "tomlkit",
            },
        ),
        (
            ["runs"],
            {
                "click",
                "rich",
                "subprocess",
                "shutil",
                "holdfast.worktree.capture",
                "holdfast.system.git.command",
                "holdfast.operations.search",
            },
        ),
        (
            ["search", "keep"],
            {"click", "rich", "subprocess", "shutil", "holdfast.worktree.capture", "holdfast.system.git.command"},
        ),
        (["session-load"], {"click", "rich"}),
    ],
)
def test_a_quick_verb_loads_only_what_it_needs(
    repository: Path, cli: Callable[..., Command], arguments: list[str], heavy: set[str]
) -> None:
    cli("start", "Something to keep")
    text = (
        "import sys; from holdfast.__main__ import _answer; code = _answer(sys.argv[1:]);"
        "print(code, *sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", text, *arguments], cwd=repository, capture_output=True, check=True, text=True
    )
    code, *loaded = done.stderr.split("\n")[-2].split()
    assert (code, heavy & set(loaded)) == ("0", set())
