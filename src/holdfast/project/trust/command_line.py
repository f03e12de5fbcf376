"""A command that a project names: its words, the values filled into them, and the files that are words of it.

No shell ever reads it. The values come from a state file that anybody may have written, so each stays a plain part of
one word.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from holdfast.core import ids
from holdfast.core.text import one_line, path_text
from holdfast.system import safe_paths

PLACEHOLDER = re.compile(r"\{(\w+)\}")
LONGEST = 4096  # characters of a command
SLASH = re.compile(r"/[A-Za-z][\w:.-]*")
OWN = "project_root"  # the one placeholder whose value is ours
SPLITTING = "();<>|&`"  # where a shell ends a word, beside blanks
MOST_LINKS = 40  # that one command may follow; the system allows as many for one path
UNSTEADY = ("/proc", "/dev/fd")  # below which a path leads each process elsewhere


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
    for name in PLACEHOLDER.findall(word):
        if name not in values:
            raise Unfit(f"has the placeholder {one_line(name, 40)}, which has no value")
        if name != OWN and not ids.is_safe(values[name]):  # safeguard: filled-in-value
            raise Unfit(f"would hold {one_line(values[name], 80)}, which is not safe in a command")
    return PLACEHOLDER.sub(lambda found: values[found[1]], word)


def named_paths(words: Iterable[str], root: Path) -> dict[str, str]:
    """The existing files and directories of the project that are words of a command: path in it, real path.

    A shell's text in a word counts as its words, and `--option=VALUE` as VALUE too. Nothing is expanded.
    """
    top = safe_paths.real_path(os.fspath(root))
    links = itertools.count(1)
    full = [_follow(top, word, links) for word in dict.fromkeys(_read(words, root, top)) if word]
    return {path_text(os.path.relpath(found, top)): found for found in sorted(filter(None, full))}


def _read(words: Iterable[str], root: Path, top: str) -> Iterator[str]:
    places = [place for place in (f"{{{OWN}}}", str(root), top) if place != os.sep]
    here = re.compile("|".join(rf"{re.escape(place)}(?![\w.-])" for place in places))
    for word in words:
        relative = here.sub(os.curdir, word)
        # safeguard: script-in-shell-text
        for found in (relative, *_shell_words(relative)):
            # safeguard: script-behind-equals
            yield from (found, found.partition("=")[2])


def _shell_words(text: str) -> Iterator[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=SPLITTING)
    lexer.whitespace_split, lexer.commenters = True, ""
    with contextlib.suppress(ValueError):  # a quote that is not closed
        yield from lexer


def _follow(top: str, path: str, links: Iterator[int]) -> str | None:
    """The real path of something in the project; None where nothing is there, or it belongs to the machine."""
    here, rest, was_link = os.sep if os.path.isabs(path) else top, path.split(os.sep)[::-1], False
    is_ours = _is_below(top, here)
    while rest:
        name = rest.pop()
        here = os.path.dirname(here) if name == os.pardir else os.path.normpath(os.path.join(here, name))
        is_ours = is_ours or _is_below(top, here)
        # safeguard: name-unsteady
        if here in UNSTEADY:
            if is_ours or not was_link:
                raise Unfit(f"names {one_line(path_text(path), 80)}, which leads each process elsewhere")
            return None
        with contextlib.suppress(OSError, ValueError):
            rest += os.readlink(here).split(os.sep)[::-1]
            here, was_link = os.sep if rest[-1] == "" else os.path.dirname(here), True
            # safeguard: name-limit
            if next(links) > MOST_LINKS:
                raise Unfit(f"names paths through more than {MOST_LINKS} links")
    # safeguard: filled-directory
    if not is_ours or not os.path.exists(here):
        return None
    parts = os.path.relpath(here, top).lower().split(os.sep)
    # safeguard: name-outside
    if not _is_below(top, here) or any(part in safe_paths.FORBIDDEN for part in parts):
        raise Unfit(f"names {one_line(path_text(path), 80)}, which leads out of the project")
    return here


def _is_below(top: str, full: str) -> bool:
    return full == top or full.startswith(top.rstrip(os.sep) + os.sep)
