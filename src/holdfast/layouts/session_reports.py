"""The results of loading and saving a session of a layout, and the form of errors and warnings in its reports."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import ClassVar

from msgspec import Struct, field

from holdfast.core.errors import HoldfastError
from holdfast.core.text import one_line, visible


class Marks(Struct, frozen=True):
    good: str
    bad: str
    warn: str
    news: str


DRAWN = Marks("✓ ", "❌ ", "⚠️ ", "\N{INFORMATION SOURCE}\N{VARIATION SELECTOR-16}  ")
PLAIN = Marks("[ok] ", "", "", "")


class ArtifactReport(Struct):
    """One artifact, and what became of it."""

    id: str
    kind: str = field(name="type")
    description: str
    required: bool
    outcome: str = ""
    why: str = ""
    path: str | None = None
    path_from_state: str | None = None
    command: str | None = None
    condition: str | None = None
    resolved: str | None = None
    exists: bool | None = None
    size: int | None = None
    content: str | None = None
    changed: datetime | None = None  # when the file was; null: it is no file


class SessionReport(Struct):
    id: str | None
    total: int
    is_new: bool = False
    closed: str | None = None
    closed_because: str | None = None
    host: str = ""
    platform: str = ""


class Reloaded(Struct):
    """The outcome of a load, or of its dry run."""

    layout: ClassVar[str] = "native"

    run: str
    workflow: str
    status: str
    path: str
    dry_run: bool
    trigger: str
    artifacts: list[ArtifactReport]
    session: SessionReport
    last_reload: str | None = None
    reloads: int = 0
    written: bool = False
    warnings: list[str] = []


class SessionSaved(Struct):
    """The outcome of a save, or why there was no session to save."""

    layout: ClassVar[str] = "native"

    run: str | None
    changed: bool
    why: str = ""  # no workflow, none, already, other, elsewhere
    session: str | None = None
    reason: str = "manual"
    origin: str = ""  # the host and directory of a session of elsewhere
    seconds: float | None = None
    ended: str = ""
    phases: list[str] = []
    in_progress: list[str] = []
    artifacts: list[str] = []
    path: str | None = None
    warnings: list[str] = []


def told_error(error: HoldfastError, marks: Marks = DRAWN) -> list[str]:
    """An error in the form of the documents: what, the facts, and numbered steps that lead out of it."""
    lines = [f"{marks.bad}ERROR: {one_line(error.message)}"]
    lines += [f"{one_line(name)}: {one_line(value, 500)}" for name, value in error.facts]
    if error.hints:
        lines += ["", "Recovery:", *(f"{number}. {one_line(hint)}" for number, hint in enumerate(error.hints, 1))]
    return lines


def told_warnings(warnings: Iterable[str], marks: Marks = DRAWN) -> list[str]:
    """Warnings; one may have several lines, of which the first says what and the others the facts."""
    return [f"{marks.warn}WARNING: {visible(warning)}" for warning in dict.fromkeys(warnings)]
