"""What went wrong, without secrets: it is pasted into reports, read by agents, and repeats what somebody typed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.core.errors import HoldfastError
from holdfast.core.text import one_line
from holdfast.ingest.open import open_workspace

if TYPE_CHECKING:
    from holdfast.redaction.redactor import Redactor

SHORTEST = 8  # characters of a piece that is minded


def without_secrets(told: list[Any], typed: list[str]) -> list[Any]:
    """What is told, as it may be; also where it repeats no more than the beginning of something that was typed."""
    try:
        redactor = _redactor()
        found: list[Any] = redactor.clean(told)[0]
        for line in map(one_line, typed):
            if (clean := redactor.text(line)) != line:
                found = _without_beginnings(found, line, one_line(clean))  # safeguard: hide-typed-beginning
    except (ImportError, OSError, MemoryError):  # it may be the very reason why something went wrong
        return told
    return found


def _redactor() -> Redactor:
    """The project's own, which knows its `.env` files and the user's patterns."""
    try:
        with open_workspace() as workspace:
            return workspace.redactor  # safeguard: hide-error-or-fail
    except (HoldfastError, OSError):  # no directory, or settings that cannot be read
        from holdfast.redaction.environment import find_known
        from holdfast.redaction.redactor import Redactor

        return Redactor(find_known(os.environ, Path()))


def _without_beginnings(told: Any, line: str, clean: str) -> Any:
    """What was cut to its length before anybody looked for secrets in it: half a token is no token that is found."""
    if isinstance(told, list | tuple):
        return [_without_beginnings(one, line, clean) for one in told]
    for length in range(len(line) - 1, SHORTEST - 1, -1) if "…" in told else ():
        if (piece := f"{line[:length]}…") in told and not clean.startswith(line[:length]):
            return told.replace(piece, f"{clean[:length]}…")
    return told
