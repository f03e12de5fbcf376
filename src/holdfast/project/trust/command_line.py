"""A command that a project names: its words, and what may be filled into them.

No shell ever reads it. What is filled in comes from a state that anybody may have written, so it is a plain part of one
word.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from holdfast.core import ids
from holdfast.core.text import one_line

PLACEHOLDER = re.compile(r"\{(\w+)\}")
LONGEST = 4096  # characters of a command
SLASH = re.compile(r"/[A-Za-z][\w:.-]*")
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
    for name in PLACEHOLDER.findall(word):
        if name not in values:
            raise Unfit(f"has the placeholder {one_line(name, 40)}, which has no value")
        if name != OWN and not ids.is_safe(values[name]):  # safeguard: filled-in-value
            raise Unfit(f"would hold {one_line(values[name], 80)}, which is not safe in a command")
    return PLACEHOLDER.sub(lambda found: values[found[1]], word)
