"""A command that a project names: its words, what may be filled into them, and which files of the project it names.

No shell ever reads it. What is filled in comes from a state that anybody may have written, so it is a plain part of one
word. A file of the project that it names is part of the command: whoever allows the one allows the other.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast import ids, inside
from holdfast.layouts import faber
from holdfast.text import one_line, path_text

LONGEST = 4096  # characters of a command
SLASH = re.compile(r"/[A-Za-z][\w:.-]*")
FRAGMENT = re.compile(r"[^\s'\"`;|&()<>=,:$\[\]{}*?!#]+")  # what could be a path inside of a word
MOST_DIRECTORIES, MOST_PARTS = 32, 16  # that are looked into, and that are left out at the beginning of a path
DEEPEST = 200  # parts of a path
OWN = "project_root"  # the one placeholder whose value is ours


class Unfit(Exception):
    """A command that cannot be run: why, in words that follow it."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def split(command: str) -> list[str]:
    """The words of a command, with nothing in them expanded."""
    if len(command) > LONGEST:
        raise Unfit("is too long for a command")
    if "\0" in command:
        raise Unfit("is no text")
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise Unfit("has a quote that is not closed") from error
    if not words or not words[0]:
        raise Unfit("names no program")
    if SLASH.fullmatch(words[0]):
        raise Unfit("is a slash command of the client, and only the client can run it")
    return words


def fill(words: Iterable[str], values: dict[str, str]) -> list[str]:
    """The words with their placeholders filled in; each stays one word, and becomes no option and no other path."""
    return [_filled(word, values) for word in words]


def _filled(word: str, values: dict[str, str]) -> str:
    for name in faber.PLACEHOLDER.findall(word):
        if name not in values:
            raise Unfit(f"has the placeholder {one_line(name, 40)}, which has no value")
        if name != OWN and not ids.is_safe(values[name]):
            raise Unfit(f"would hold {one_line(values[name], 80)}, which is not safe in a command")
    return faber.fill(word, values) or word


def named_files(words: Iterable[str], root: Path) -> dict[str, str]:
    """The files of the project that the words name: their paths in it, and where they really are."""
    names = list(dict.fromkeys(_names(words)))
    found = _there(names, root)
    directories = [path for path, full in found.items() if path != os.curdir and os.path.isdir(full)]
    if len(directories) > MOST_DIRECTORIES:
        raise Unfit(f"names more than {MOST_DIRECTORIES} directories of the project")
    for directory in directories:  # `cd tools && ./x.sh`
        found |= _there([os.path.join(directory, name) for name in names if not os.path.isabs(name)], root)
    return {path: full for path, full in found.items() if os.path.isfile(full)}


def _there(names: Iterable[str], root: Path) -> dict[str, str]:
    places = [_placed(root, name) for name in names]
    return {path_text(place.path): place.full for place in places if place is not None and os.path.exists(place.full)}


def _names(words: Iterable[str]) -> Iterator[str]:
    """All that could be a path in the words, as the command stands in the project when it runs."""
    for word in words:
        text = word.replace(f"{{{OWN}}}", os.curdir)
        for part in (text, *_shell_words(text)):
            yield part
            for fragment in FRAGMENT.findall(part):
                yield fragment
                yield from _ends(fragment)


def _shell_words(text: str) -> list[str]:
    """What a shell would make of a word that is a script: `'./my script.sh'`, `./my\\ script.sh`."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _ends(fragment: str) -> Iterator[str]:
    """What follows the letter of an option, an `@`, or a beginning that only a shell knows: `-fx.mk`, `$PWD/x.sh`."""
    if os.path.isabs(fragment) and os.path.lexists(fragment):
        return
    if fragment.startswith("-"):
        yield fragment[2:]
    yield fragment.lstrip("@%+")
    parts = fragment.split(os.sep)
    yield from (os.sep.join(parts[number:]).lstrip(os.sep) for number in range(1, min(len(parts), MOST_PARTS)))


def _placed(root: Path, name: str) -> inside.Inside | None:
    """Where a name leads; None where it is no path, or that of a program elsewhere."""
    if name.count(os.sep) > DEEPEST:  # to follow a path of thousands of parts, in all its forms, takes minutes
        raise Unfit(f"names a path of more than {DEEPEST} parts")
    try:
        return inside.resolve(root, name)
    except inside.Outside as error:
        plain = os.path.normpath(os.path.join(root, name))
        if os.path.isabs(name) and not plain.startswith(f"{root}{os.sep}"):
            return None
        if not os.path.lexists(plain):
            return None
        raise Unfit(f"names {one_line(path_text(name), 80)}, which leads out of the project") from error
    except (OSError, ValueError):
        return None
