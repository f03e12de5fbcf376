"""Lookup of commands without loading a verb: the generated index, and the modules behind a word."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from holdfast.operations.index import FAMILIES, VERBS
from holdfast.operations.registry import VERBS as LOADED, Group, Verb


class Command(NamedTuple):
    """A word that a command line begins with."""

    word: str
    group: Group
    about: str
    common: bool  # listed by the short help
    modules: dict[str, str]  # of its verbs, by the rest of the command: `add`, `--size`, or nothing


def _commands() -> dict[str, Command]:
    found = {word: Command(word, Group[group], about, common, {}) for word, group, about, common in FAMILIES}
    for _, _, command, group, about, common, _ in VERBS:
        if group:
            found[command] = Command(command, Group[group], about, common, {})
    for _, module, command, *_ in VERBS:
        word, _, rest = command.partition(" ")
        if word:
            found[word].modules[rest] = module
    return found


COMMANDS = _commands()
ALIASES = {alias: command for _, _, command, _, _, _, aliases in VERBS for alias in aliases}


def find_module(path: str) -> str | None:
    """The module of the verb that a command calls without a variant's option."""
    word, _, rest = path.partition(" ")
    return COMMANDS[word].modules.get(rest) if word in COMMANDS else None


def load_verbs(path: str) -> list[Verb]:
    """The verbs of a command: the one that it names, then its variants."""
    word, _, rest = path.partition(" ")
    keys = COMMANDS[word].modules
    wanted = [rest, *(key for key in keys if key != rest and not rest and not _is_word(word, key))]
    for key in wanted:
        import_module(f"holdfast.operations.{COMMANDS[word].modules[key]}")
    commands = [f"{word} {key}".rstrip() for key in wanted]
    found = [verb for verb in LOADED.values() if verb.command in commands]
    return sorted(found, key=lambda verb: commands.index(verb.command or ""))


def load_verb(path: str) -> Verb:
    """The verb of a command alone: its variants need not be loaded where none was typed."""
    import_module(f"holdfast.operations.{find_module(path)}")
    return next(verb for verb in LOADED.values() if verb.command == path)


def get_verb(name: str) -> Verb:
    """A verb by its name in Python."""
    import_module(f"holdfast.operations.{next(module for each, module, *_ in VERBS if each == name)}")
    return LOADED[name]


def load_all() -> dict[str, Verb]:
    """Every verb by its name in Python."""
    for _, module, *_ in VERBS:
        import_module(f"holdfast.operations.{module}")
    return LOADED


def _is_word(word: str, key: str) -> bool:
    """Whether the rest of a command is a command of its own below the word."""
    return bool(key) and not key.startswith("-") and any(family == word for family, *_ in FAMILIES)
