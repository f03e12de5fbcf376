"""Completeness of the commands' help and of the reference pages."""

from __future__ import annotations

import functools
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator

import click

from holdfast.core import errors
from holdfast.core.errors import HoldfastError
from holdfast.operations.commands import COMMANDS
from holdfast.project.settings import SETTINGS
from holdfast.surfaces.cli.parser import holdfast as application
from holdfast.surfaces.cli.runner import WORDS

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
    assert {path.split()[1] for path in commands()} == set(WORDS)


def options_of(path: str) -> list[click.Option]:
    return [parameter for parameter in commands()[path].params if isinstance(parameter, click.Option)]


def test_every_command_speaks_json() -> None:
    assert [path for path in commands() if not any("--json" in option.opts for option in options_of(path))] == []


def test_the_help_of_every_command_has_an_example_of_it() -> None:
    wanted = {path: INSIDE_THE_EXAMPLE.get(path, path) for path in commands()}
    assert [
        path for path in commands() if "Example:" not in help_of(path) or wanted[path] not in example_of(path)
    ] == []


def test_the_example_of_every_command_is_understood_by_it() -> None:
    left = {path: left for path in commands() if (left := not_understood(path))}
    assert left == {}


def not_understood(path: str) -> object:
    """What a command does not take of the words of its example."""
    example = INSIDE_THE_EXAMPLE.get(path, example_of(path)).replace("$$", "1")
    try:
        return commands()[path].make_context(path, shlex.split(example.removeprefix(path))).args
    except click.ClickException as error:
        return error


def test_every_command_says_in_one_line_what_it_does() -> None:
    said = {path: (command.help or "").partition("\n\n")[0].strip() for path, command in commands().items()}
    assert {path: line for path, line in said.items() if not re.fullmatch(r"[A-Z][^\n]+\.", line)} == {}


def test_every_option_of_every_command_is_explained() -> None:
    assert [(path, option.name) for path in commands() for option in options_of(path) if not option.help] == []


def test_the_table_says_in_a_few_words_what_every_verb_does() -> None:
    about = {name: command.about for name, command in COMMANDS.items()}
    assert {name: said for name, said in about.items() if not re.fullmatch(r"[a-z][^\n]{5,60}[^.\n]", said)} == {}


# The reference


def page(name: str) -> str:
    path = REFERENCE / name
    assert path.exists(), f"docs/reference/{name} is not there"
    return path.read_text(encoding="utf-8")


def is_named(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) is not None


def not_named(words: Iterable[str], name: str) -> list[str]:
    """The words that a page does not name."""
    text = page(name)
    return [word for word in words if not is_named(word, text)]


def test_every_command_and_option_is_in_the_reference() -> None:
    options = {max(option.opts, key=len) for path in commands() for option in options_of(path)}
    assert not_named([*commands(), *sorted(options)], "commands.md") == []


def test_every_setting_is_in_the_reference() -> None:
    words = [word for key, setting in SETTINGS.items() for word in (key, setting.variable)]
    assert not_named(words, "settings.md") == []


def error_classes() -> list[type[HoldfastError]]:
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, HoldfastError)]
    assert len(found) > 5
    return found


def test_every_error_is_in_the_reference() -> None:
    words = [word for kind in error_classes() for word in (kind.__name__, kind("x").kind)]
    assert not_named(words, "errors.md") == []


def test_every_exit_code_is_in_the_reference() -> None:
    codes = {kind.code for kind in error_classes()} | {errors.DONE, errors.INTERRUPTED}
    assert [code for code in codes if not re.search(rf"(?<![\w.]){code}(?![\w.]\w)", page("errors.md"))] == []


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
