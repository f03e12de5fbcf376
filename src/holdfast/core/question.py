"""Questions that a verb needs answered, as values: a surface asks, and the answer becomes an argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct


class Choose(Struct, frozen=True, kw_only=True):
    """A choice of options; yes or no without options; free text with `is_text`.

    A required question that cannot be asked refuses the verb; `hints` are the commands that need no answer.
    """

    parameter: str  # that receives the answer
    prompt: str
    options: tuple[tuple[str, str], ...] = ()  # answer and description
    is_text: bool = False
    yes: Any = True  # value of a yes
    no: Any = None  # value of a no; None: the verb is refused
    required: bool = True
    hints: tuple[str, ...] = ()
    about: Any = None  # a result, or lines, printed before the question
    arguments: dict[str, Any] = {}  # further arguments, resolved before the question
    act: Callable[[Any], Any] | None = None  # makes the final result, after a question about a preview


class Instead(Struct, frozen=True):
    """Another call that these arguments mean."""

    verb: str  # its name in Python
    arguments: dict[str, Any]


def confirmation(prompt: str, command: str, **more: Any) -> Choose:
    """Ask before an irreversible action; `command` with `--yes` does it without asking."""
    return Choose(parameter="yes", prompt=prompt, hints=(f"`{command} --yes`",), **more)
