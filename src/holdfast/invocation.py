"""A command that a project names: its words, what may be filled into them, and which files of the project it names.

No shell ever reads it. What is filled in comes from a state that anybody may have written, so it is a plain part of one
word. A file of the project that it names is part of the command: whoever allows the one allows the other.
"""

from __future__ import annotations

import contextlib
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
PIECE = re.compile(r"[^\s'\"`;|&()<>]+")  # what a shell would take for a word or more, but for its quoting
FRAGMENT = re.compile(r"[^=,:$\[\]{}*?!#]+")  # what could be a path inside of a piece
LONGEST_RUN = 4  # fragments that are one name, such as `x,y=z.sh`
FLAGS = re.compile(r"-[A-Za-z0-9]*")  # options in one word, of which the last may have its value behind it: `-sfx.mk`
MODULE = re.compile(r"(?<![\w-])-[A-Za-z]*?m\s*([^\W\d]\w*(?:\.\w+)*)")  # `python3 -m tools.x`
QUOTING = re.compile(r"\\\n|['\"\\]")
SPLITTING = "();<>|&`"  # where a shell ends a word, beside blanks
QUOTED_DEEPEST = 3  # shells within shells
MOST_DIRECTORIES, MOST_PARTS = 32, 16  # that are looked into, and that are left out at the beginning of a path
MOST_STEPS = 50_000  # all the parts of all the names in all the directories: to look for them takes half a second
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
    names += [os.path.normpath(name) for name in names if os.pardir in name]  # what `cd link/..` means to a shell
    steps = sum(name.count(os.sep) + 1 for name in names)
    found: dict[str, str] = {}
    directories = [""]
    for directory in directories:  # they become more on the way: `cd tools && cd ci && ./x.sh`
        if len(directories) > MOST_DIRECTORIES + 1:
            raise Unfit(f"names more than {MOST_DIRECTORIES} directories of the project")
        if len(directories) * steps > MOST_STEPS:
            raise Unfit("could name too many files to look for all of them")
        here = _there([os.path.join(directory, name) for name in names], root)
        new = [path for path in here if path not in found and path != os.curdir]
        directories += [path for path in new if os.path.isdir(here[path])]
        found |= here
    return {path: full for path, full in found.items() if os.path.isfile(full)}


def _there(names: Iterable[str], root: Path) -> dict[str, str]:
    places = [_placed(root, name) for name in names]
    return {path_text(place.path): place.full for place in places if place is not None and os.path.exists(place.full)}


def _names(words: Iterable[str]) -> Iterator[str]:
    """All that could be a path in the words, as the command stands in the project when it runs."""
    texts = [word.replace(f"{{{OWN}}}", os.curdir) for word in words]
    plain = [QUOTING.sub("", text) for text in texts]  # whatever shell within a shell takes it off
    for text in dict.fromkeys([*texts, *plain, *_unquoted(texts)]):
        yield text
        for piece in PIECE.findall(text):
            for name in (piece, *_runs(piece)):
                yield name
                yield from _ends(name)
    yield from _modules(" ".join(plain))


def _unquoted(texts: Iterable[str]) -> Iterator[str]:
    """What shells within shells would make of texts that are scripts: `'./my script.sh'`, `./my\\ script.sh`."""
    for _ in range(QUOTED_DEEPEST):
        texts = list(dict.fromkeys(word for text in texts for word in _shell_words(text)))
        yield from texts


def _shell_words(text: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=SPLITTING)
    lexer.whitespace_split, lexer.commenters = True, ""
    with contextlib.suppress(ValueError):  # a quote that is not closed
        yield from lexer


def _runs(piece: str) -> Iterator[str]:
    """Each fragment, and with those behind it: `X=./x,y.sh`."""
    spans = [found.span() for found in FRAGMENT.finditer(piece)]
    for number, (start, _) in enumerate(spans):
        yield from (piece[start:end] for _, end in spans[number : number + LONGEST_RUN])


def _ends(fragment: str) -> Iterator[str]:
    """What follows the letters of options, an `@`, or a beginning that only a shell knows: `-sfx.mk`, `$PWD/x.sh`."""
    if os.path.isabs(fragment) and os.path.lexists(fragment):
        return
    if flags := FLAGS.match(fragment):
        yield from (fragment[number:] for number in range(2, max(flags.end(), 2) + 1))
    yield fragment.lstrip("@%+")
    parts = fragment.split(os.sep)
    yield from (os.sep.join(parts[number:]).lstrip(os.sep) for number in range(1, min(len(parts), MOST_PARTS)))


def _modules(text: str) -> Iterator[str]:
    """The files that Python runs for a module, or for the packages that it is in."""
    for module in dict.fromkeys(MODULE.findall(text)):
        parts = module.split(".")
        packages = [os.sep.join(parts[:number]) for number in range(1, len(parts) + 1)]
        yield from (os.path.join(package, "__init__.py") for package in packages)
        yield from (f"{packages[-1]}.py", os.path.join(packages[-1], "__main__.py"))


def _placed(root: Path, name: str) -> inside.Inside | None:
    """Where a name leads; None where it is no path, or that of a program elsewhere."""
    if name.count(os.sep) > DEEPEST:  # to follow a path of thousands of parts, in all its forms, takes minutes
        raise Unfit(f"names a path of more than {DEEPEST} parts")
    # Nearly none is there, and to follow each would take ten times as long; minutes, where thousands of links lead to
    # links. The system gives up on those, so nothing that runs gets there either.
    if not os.path.exists(os.path.join(root, name)):
        return None
    try:
        return inside.resolve(root, name)
    except inside.Outside as error:
        plain = os.path.normpath(os.path.join(root, name))
        if os.path.isabs(name) and not plain.startswith(f"{root}{os.sep}"):
            return None
        raise Unfit(f"names {one_line(path_text(name), 80)}, which leads out of the project") from error
    except (OSError, ValueError):
        return None
