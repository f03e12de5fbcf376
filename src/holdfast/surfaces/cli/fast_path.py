"""Verbs that agents and scripts call all the time, read without the library that reads command lines.

Loading that library takes as long as a checkpoint. Only plain forms are understood here; for all others, and wherever
somebody has to be asked, the whole command line answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from holdfast.core.errors import Ambiguous, NotAProject
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import runner
from holdfast.surfaces.cli.runner import Manner, Said, is_terminal

MANNERS = {"--json": "as_json", "-q": "quiet", "--quiet": "quiet", "-v": "verbose", "--verbose": "verbose"}


class Number(NamedTuple):
    """An option that takes a whole number."""

    name: str
    least: int
    most: int


class Form(NamedTuple):
    """The arguments of a verb: how many words, which options take a value, which are flags, whether it may ask."""

    act: Callable[..., Said]
    most: int
    values: dict[str, str]
    flags: dict[str, str]
    least: int = 0
    asks: bool = False
    numbers: Mapping[str, Number] = MappingProxyType({})


class Read(NamedTuple):
    words: list[str]
    options: dict[str, Any]
    manner: Manner


def find(arguments: list[str]) -> Callable[[], int] | None:
    """What carries these arguments out, or None where the whole command line is needed."""
    form = FORMS.get(arguments[0]) if arguments else None
    read = read_arguments(arguments[1:], form) if form else None
    if form is None or read is None or "_HOLDFAST_COMPLETE" in os.environ:
        return None
    if form.asks and not read.options.get("yes") and is_terminal():
        return None
    return lambda: runner.run(arguments, lambda given: _carry_out(form, given))


def _carry_out(form: Form, arguments: list[str]) -> int:
    read = read_arguments(arguments[1:], form)
    assert read is not None
    try:
        return runner.answer(lambda workspace: form.act(workspace, read.words, **read.options), read.manner)
    except (Ambiguous, NotAProject):
        if not is_terminal():
            raise
        from holdfast.surfaces.cli.app import invoke

        return invoke(arguments)  # which asks


def read_arguments(arguments: list[str], form: Form) -> Read | None:
    words: list[str] = []
    options: dict[str, Any] = {}
    manner: dict[str, bool] = {}
    waiting = iter(arguments)
    for argument in waiting:
        name, has_value, value = argument.partition("=")
        if argument in MANNERS:
            manner[MANNERS[argument]] = True
        elif argument in form.flags:
            options[form.flags[argument]] = True
        elif name in form.values and has_value and name.startswith("--"):
            options[form.values[name]] = value
        elif argument in form.values and (following := next(waiting, None)) is not None:
            options[form.values[argument]] = following
        elif argument in form.numbers or (name in form.numbers and has_value):
            known = form.numbers[name]
            number = value if has_value else next(waiting, "")
            if not (number.isascii() and number.isdecimal() and len(number) < 10):
                return None
            if not known.least <= int(number) <= known.most:
                return None
            options[known.name] = int(number)
        elif argument.startswith("-") or not argument:
            return None
        else:
            words.append(argument)
    return Read(words, options, Manner(**manner)) if form.least <= len(words) <= form.most else None


def _checkpoint(workspace: Workspace, words: list[str], message: str | None = None, run: str | None = None) -> Said:
    from holdfast.surfaces.cli.render.checkpoints import make_checkpoint

    return make_checkpoint(workspace, words[0] if words else None, message, run)


def _restore(workspace: Workspace, words: list[str], yes: bool = False) -> Said:
    from holdfast.operations.restore import restore
    from holdfast.surfaces.cli.render.checkpoints import said_restored

    return said_restored(restore(workspace, words[0], tuple(map(os.path.abspath, words[1:]))))


def _runs(workspace: Workspace, words: list[str], **filters: Any) -> Said:
    from holdfast.operations.runs import runs
    from holdfast.surfaces.cli.render.lists import said_runs

    return said_runs(runs(workspace, **filters))


def _search(workspace: Workspace, words: list[str], **filters: Any) -> Said:
    from holdfast.operations.search import search
    from holdfast.surfaces.cli.render.lists import said_found

    return said_found(search(workspace, " ".join(words), **filters))


def _load(workspace: Workspace, words: list[str], **arguments: Any) -> Said:
    from holdfast.surfaces.cli.render.session import load_session

    return load_session(workspace, **arguments)


LIMIT = {"--limit": Number("limit", 1, 10_000)}
LOAD = Form(
    _load,
    0,
    {"--run-id": "run", "--run": "run", "--trigger": "trigger", "--artifacts": "artifacts"},
    {"--force": "force", "--dry-run": "dry_run"},
    numbers={"--budget": Number("budget", 500, 100_000_000)},
)
FORMS = {
    **dict.fromkeys(("session-load", "load", "prime-context"), LOAD),
    "checkpoint": Form(_checkpoint, 1, {"-m": "message", "--message": "message", "--run": "run"}, {}),
    "restore": Form(_restore, 1000, {}, {"--yes": "yes"}, least=1, asks=True),
    "runs": Form(
        _runs, 0, {"--search": "search", "--agent": "agent", "--tag": "tag"}, {"--here": "here"}, numbers=LIMIT
    ),
    "search": Form(
        _search,
        1000,
        {"--agent": "agent", "--tag": "tag", "--run": "run"},
        {"--newest": "newest"},
        least=1,
        numbers=LIMIT,
    ),
}
