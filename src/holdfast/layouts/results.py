"""Results of a layout's members, and the form of errors and warnings in its reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Protocol

from msgspec import Struct, field

from holdfast.core.chat_commands import Order
from holdfast.core.errors import HoldfastError
from holdfast.core.model import Run
from holdfast.core.text import one_line, visible
from holdfast.project.workspace import Workspace

STORE, JOURNAL = "the store", "the journal"  # where a copy comes from


class Mode(NamedTuple):
    """What a mode of runs advises."""

    at_once: int  # agents
    compress_at: int  # per cent of the context window
    about: str


class Damage(Struct, frozen=True):
    """A file of a layout that cannot be read, and the way out."""

    path: str  # from the worktree
    why: str
    remedy: str


class Rebuilt(Struct):
    """One damaged file that was made anew."""

    path: str
    aside: str  # where the damaged one is now
    why: str  # what was wrong with it


class FilesRepaired(Struct):
    run: str | None  # whose file was looked at; null: there is none
    path: str | None  # of the file; null: the run has none
    changed: bool
    source: str | None = None  # where the copy came from
    aside: str | None = None  # where what stood there is now
    lost: list[str] = []  # what was known and is not in it
    files: list[Rebuilt] = []  # of a Go Team run, that were made anew


COPY, FRESH, HISTORY, MANUAL = "copy", "fresh", "history", "manual"  # ways out of a damaged file
CHOICES = (COPY, FRESH, HISTORY, MANUAL)


class Recovery(Struct):
    """What is wrong with the file, what one can do, and what was done."""

    path: str
    why: str | None  # null: it is whole
    choices: dict[str, str] = {}
    chosen: str | None = None
    aside: str | None = None  # where the damaged file is now
    run: str | None = None
    found: list[str] = []  # what could be read in it


class Examined(Struct):
    """One checkpoint, and what is wrong with it; nothing where it is whole."""

    id: str
    problems: list[str]
    is_valid: bool = True  # false: a way back has left it behind


class Exported(Struct):
    run: str
    path: str
    sha256: str
    checkpoints: int


OWN_LEVELS = ("local", "project")  # of settings whose files belong to this project alone


class ClientHooks(NamedTuple):
    """Where a layout's own hooks stand: they would do what ours do."""

    level: str  # of the settings; `plugin` for those that a plugin brings
    where: str  # the settings file, or the name of the plugin
    is_own: bool  # the file is one of this worktree, from which `init` may remove them

    @property
    def can_be_replaced(self) -> bool:
        return self.is_own and self.level in OWN_LEVELS


class Verbs(Protocol):
    """The verbs that a layout's chat commands carry out."""

    start: Callable[..., Any]
    resume: Callable[..., Any]
    validate_checkpoints: Callable[..., Any]
    export_checkpoints: Callable[..., Any]


ChatCommand = Callable[[Workspace, Run, Order, Verbs], Iterable[str]]


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
