"""Lookup of commands without loading a verb: the generated index, and the module behind a word."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

from holdfast import HOMES
from holdfast.operations import index
from holdfast.operations.index import ALIASES as ALIASES
from holdfast.operations.registry import VERBS, Group, Verb


class Command(NamedTuple):
    """A word that a command line begins with."""

    word: str
    group: Group
    about: str
    common: bool  # listed by the short help
    module: str  # of its verbs
    rests: tuple[str, ...]  # of its verbs: nothing for the word alone, `add`, `--size`


COMMANDS = {row[0]: Command(row[0], Group[row[1]], *row[2:]) for row in index.COMMANDS}


def is_command(path: str) -> bool:
    """True if a verb has this command, without a variant's option."""
    word, _, rest = path.partition(" ")
    return word in COMMANDS and rest in COMMANDS[word].rests


def load_verbs(path: str) -> list[Verb]:
    """The verbs of a command: the one that it names, then its variants."""
    word, _, rest = path.partition(" ")
    import_module(f"holdfast.operations.{COMMANDS[word].module}")
    found = {verb.command: verb for verb in VERBS.values()}
    return [found[f"{word} {each}".rstrip()] for each in ((rest,) if rest else COMMANDS[word].rests)]


def get_verb(name: str) -> Verb:
    """A verb by its name in Python."""
    import_module(next(f"holdfast.{home}" for home, names in HOMES.items() if name in names.split()))
    return VERBS[name]


def load_all() -> dict[str, Verb]:
    """Every verb by its name in Python."""
    for home in HOMES:
        import_module(f"holdfast.{home}")
    return VERBS
