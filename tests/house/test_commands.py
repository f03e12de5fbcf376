"""Completeness of the commands' help and of the reference pages."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator

import click
import pytest

from holdfast.core import errors, join_rules, lifecycle
from holdfast.core.errors import HoldfastError
from holdfast.project.settings import SETTINGS
from holdfast.surfaces.cli.app import holdfast as application
from holdfast.surfaces.cli.commands import VERBS

from .tree import ROOT

REFERENCE = ROOT / "docs" / "reference"
INSIDE_THE_EXAMPLE = {"holdfast completion": "holdfast completion bash"}  # examples that need more than the command


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group, info_name=path)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None, name
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


@functools.cache
def commands() -> dict[str, click.Command]:
    """Every command by its full name, like `holdfast task add`."""
    return dict(_commands(application, "holdfast"))


def help_of(path: str) -> str:
    command = commands()[path]
    return command.get_help(click.Context(command, info_name=path, max_content_width=200, terminal_width=200))


def example_of(path: str) -> str:
    return help_of(path).rpartition("Example:")[2].partition("\n\n")[0].strip()


def test_the_commands_are_those_of_the_table() -> None:
    assert {path.split()[1] for path in commands()} == set(VERBS)


@pytest.mark.parametrize("path", commands())
def test_a_command_speaks_json(path: str) -> None:
    speaks = any("--json" in parameter.opts for parameter in commands()[path].params)
    assert speaks


@pytest.mark.parametrize("path", commands())
def test_the_help_of_a_command_has_an_example_of_it(path: str) -> None:
    assert "Example:" in help_of(path)
    assert INSIDE_THE_EXAMPLE.get(path, path) in example_of(path)


@pytest.mark.parametrize("path", commands())
def test_the_example_of_a_command_is_understood_by_it(path: str) -> None:
    example = INSIDE_THE_EXAMPLE.get(path, example_of(path)).replace("$$", "1")
    words = shlex.split(example.removeprefix(path))
    context = commands()[path].make_context(path, words)
    assert context.args == []


@pytest.mark.parametrize("path", commands())
def test_a_command_says_in_one_line_what_it_does(path: str) -> None:
    said = (commands()[path].help or "").partition("\n\n")[0].strip()
    assert re.fullmatch(r"[A-Z][^\n]+\.", said)


@pytest.mark.parametrize("path", commands())
def test_every_option_of_a_command_is_explained(path: str) -> None:
    options = [parameter for parameter in commands()[path].params if isinstance(parameter, click.Option)]
    assert [option.name for option in options if not option.help] == []


@pytest.mark.parametrize("name", VERBS)
def test_the_table_says_in_a_few_words_what_a_verb_does(name: str) -> None:
    assert re.fullmatch(r"[a-z][^\n]{5,60}[^.\n]", VERBS[name].about)


# The reference


def page(name: str) -> str:
    path = REFERENCE / name
    assert path.exists(), f"docs/reference/{name} is not there"
    return path.read_text(encoding="utf-8")


def is_named(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) is not None


@pytest.mark.parametrize("path", commands())
def test_every_command_is_in_the_reference(path: str) -> None:
    assert is_named(path, page("commands.md"))


@pytest.mark.parametrize("path", commands())
def test_every_option_is_in_the_reference(path: str) -> None:
    options = [parameter for parameter in commands()[path].params if isinstance(parameter, click.Option)]
    names = {max(option.opts, key=len) for option in options}
    assert {name for name in names if not is_named(name, page("commands.md"))} == set()


@pytest.mark.parametrize("key", SETTINGS)
def test_every_setting_is_in_the_reference(key: str) -> None:
    text = page("settings.md")
    assert is_named(key, text)
    assert is_named(SETTINGS[key].variable, text)


def error_classes() -> list[type[HoldfastError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, HoldfastError)]
    assert len(found) > 5
    return found


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_every_error_is_in_the_reference(kind: type[HoldfastError]) -> None:
    text = page("errors.md")
    assert is_named(kind.__name__, text)
    assert is_named(kind("x").kind, text)


CODES = sorted({kind.code for kind in error_classes()} | {errors.DONE, errors.INTERRUPTED})


@pytest.mark.parametrize("code", CODES)
def test_every_exit_code_is_in_the_reference(code: int) -> None:
    assert re.search(rf"(?<![\w.]){code}(?![\w.]\w)", page("errors.md"))


def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/reference", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_the_drawing_of_the_lifecycle_in_the_docs_is_what_the_table_draws() -> None:
    pages = [path for path in (ROOT / "docs").rglob("*.md") if lifecycle.drawing() in path.read_text(encoding="utf-8")]
    assert pages, "put what `lifecycle.drawing()` gives into a page of docs/, in a mermaid fence"


@pytest.mark.parametrize("table", [join_rules.table, join_rules.waking_table], ids=["joining", "waking"])
def test_the_tables_of_joining_in_the_docs_are_the_ones_that_decide(table: Callable[[], str]) -> None:
    assert table() in (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
