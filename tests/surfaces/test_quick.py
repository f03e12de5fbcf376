"""The quick way to read a command: it understands less than the whole command line, and never anything else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import example, given, strategies as st
from msgspec import structs

from holdfast.surfaces.cli import fast_path
from holdfast.surfaces.cli.app import holdfast as program
from tests.tools import Command

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
    """What the whole command line understands, without what is left at its default; None where it refuses."""
    context = click.Context(program)
    command = program.get_command(context, arguments[0])
    assert command is not None
    try:
        found = command.make_context(arguments[0], arguments[1:], parent=context)
    except (click.UsageError, click.exceptions.Exit):
        return None
    nothing = (None, (), False, "", "code", "manual")  # what a restore and a load mean, where nothing else is said
    return {name: value for name, value in found.params.items() if value not in nothing}


def read_quickly(arguments: list[str]) -> dict[str, Any] | None:
    form = fast_path.FORMS[arguments[0]]
    read = fast_path.read_arguments(arguments[1:], form)
    if read is None:
        return None
    first, *rest = [*read.words, None]
    named: dict[str, Any] = {"name" if arguments[0] == "checkpoint" else "checkpoint": first, "paths": tuple(rest[:-1])}
    if arguments[0] not in ("checkpoint", "restore"):
        named = {"text": tuple(read.words)}
    return {
        name: value
        for name, value in {**named, **read.options, **structs.asdict(read.manner)}.items()
        if value not in (None, (), False, "", "manual")
    }


@given(st.sampled_from(sorted(fast_path.FORMS)), st.lists(st.sampled_from(TOKENS), max_size=5))
@example("checkpoint", ["-m", "--json"])
@example("restore", ["cp-1", "a/b", "--yes", "-q"])
@example("runs", ["--limit=5", "--search", "x", "--here"])
@example("runs", ["--limit", "10001"])
@example("search", ["a", "b", "--newest", "--limit", "5"])
@example("session-load", ["--run-id=r", "--trigger", "manual", "--budget", "500", "--force"])
@example("load", ["--budget=499"])
def test_what_is_read_quickly_is_read_the_same_by_the_whole_command_line(verb: str, rest: list[str]) -> None:
    found = read_quickly([verb, *rest])
    if found is not None:
        assert read_by_click([verb, *rest]) == found


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
        *("session-load --json --force --budget 500", "load --run-id=r --trigger session_start", "prime-context"),
    ],
)
def test_plain_forms_are_read_quickly(line: str) -> None:
    assert read_quickly(line.split()) is not None


@pytest.mark.parametrize(
    "line",
    [
        *("checkpoint --help", "checkpoint a b", "checkpoint -m", "checkpoint -mtext", "checkpoint -- -x"),
        *("restore", "restore --continue", "restore cp-1 --dry-run", "restore cp-1 --both --yes"),
        *("runs x", "runs --limit 0", "runs --status open", "runs --all-projects", "search", "search a --kind note"),
        *("session-load x", "session-load --budget 499", "load --budget 100000001", "load --help"),
    ],
)
def test_all_else_is_left_to_the_whole_command_line(line: str) -> None:
    assert read_quickly(line.split()) is None


def test_every_quick_verb_is_a_verb() -> None:
    assert set(fast_path.FORMS) <= set(program.list_commands(click.Context(program)))
    assert fast_path.find(["status"]) is None


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
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
                "holdfast.worktree.capture",
                "holdfast.system.git.command",
                "holdfast.operations.search",
            },
        ),
        (
            ["search", "keep"],
            {"click", "rich", "subprocess", "holdfast.worktree.capture", "holdfast.system.git.command"},
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
