"""Questions that a verb needs answered, as values: a surface asks, and the answer becomes an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct


class Choose(Struct, frozen=True, kw_only=True):
    """One of several; yes or no where there are no options; or words, if `is_text`.

    Where nobody can be asked and it is required, the verb is refused, and `hints` are the commands that do not ask.
    """

    parameter: str  # which the answer becomes
    prompt: str
    options: tuple[tuple[str, str], ...] = ()  # each answer, and what it is
    is_text: bool = False
    yes: Any = True  # what these answers become
    no: Any = None  # nothing: the verb is refused
    required: bool = True
    hints: tuple[str, ...] = ()
    about: Any = None  # a result that is shown before the question, or lines
    arguments: dict[str, Any] = {}  # what the answer is about: names that may mean something else a moment later
    act: Callable[[Any], Any] | None = None  # of a question about a result: makes the result that counts


class Instead(Struct, frozen=True):
    """Another call that these arguments mean."""

    verb: str  # its name in Python
    arguments: dict[str, Any]


def confirmation(prompt: str, command: str, **more: Any) -> Choose:
    """Ask before something that cannot be taken back; `command` does it without asking when `--yes` is added."""
    return Choose(parameter="yes", prompt=prompt, hints=(f"`{command} --yes`",), **more)
