"""Questions that a verb needs answered, as values: a surface asks, and the answer becomes an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from holdfast.core.errors import Refused


class Choose(Struct, frozen=True, kw_only=True):
    """A choice of options; yes or no without options; free text with `is_text`;
    one of several words with `words`.

    A required question that cannot be asked refuses the verb; `hints` are the commands that need no answer.
    """

    parameter: str  # which the answer becomes
    prompt: str
    options: tuple[tuple[str, str], ...] = ()  # each answer, and what it is
    is_text: bool = False
    words: dict[str, Any] = {}  # that may be typed, and what each becomes
    default: str | None = None  # what Enter alone types
    yes: Any = True  # what these answers become
    no: Any = None  # nothing: the verb is refused
    required: bool = True
    hints: tuple[str, ...] = ()
    about: Any = None  # a result that is shown before the question, or lines
    arguments: dict[str, Any] = {}  # what the answer is about: names that may mean something else a moment later
    act: Callable[[Any], Any] | None = None  # of a question about a result: makes the result that counts
    unseen: Refused | None = None  # of a question that only a person at a terminal may answer: the refusal elsewhere


class Tell(Struct, frozen=True):
    """Lines that are shown at once; the next question comes then."""

    lines: list[str]


class Instead(Struct, frozen=True):
    """Another call that these arguments mean."""

    verb: str  # its name in Python
    arguments: dict[str, Any]


def confirmation(prompt: str, command: str, **more: Any) -> Choose:
    """Ask before an irreversible action; `command` with `--yes` does it without asking."""
    return Choose(parameter="yes", prompt=prompt, hints=(f"`{command} --yes`",), **more)
