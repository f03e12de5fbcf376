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

STORE, JOURNAL = "the store", "the journal"  # sources of a copy


class Mode(NamedTuple):
    at_once: int  # agents
    compress_at: int  # per cent of the context window
    about: str


class Damage(Struct, frozen=True):
    """An unreadable file of a layout."""

    path: str  # from the worktree
    why: str
    remedy: str


class Rebuilt(Struct):
    path: str
    aside: str  # path of the damaged file now
    why: str


class FilesRepaired(Struct):
    run: str | None  # whose file was examined; null: there is none
    path: str | None  # null: the run has no file
    changed: bool
    source: str | None = None  # of the copy
    aside: str | None = None  # path of the replaced file now
    lost: list[str] = []  # known facts that the copy lacks
    files: list[Rebuilt] = []  # of a Go Team run


COPY, FRESH, HISTORY, MANUAL = "copy", "fresh", "history", "manual"  # ways out of a damaged file
CHOICES = (COPY, FRESH, HISTORY, MANUAL)


class Recovery(Struct):
    """The state of a damaged file, the ways out, and the one that was taken."""

    path: str
    why: str | None  # null: it is undamaged
    choices: dict[str, str] = {}
    chosen: str | None = None
    aside: str | None = None  # path of the damaged file now
    run: str | None = None
    found: list[str] = []  # members that could be read in it


class Examined(Struct):
    """A checkpoint and its problems."""

    id: str
    problems: list[str]
    is_valid: bool = True  # false: a rollback has invalidated it


class Exported(Struct):
    run: str
    path: str
    sha256: str
    checkpoints: int


OWN_LEVELS = ("local", "project")  # of settings files that belong to this project alone


class ClientHooks(NamedTuple):
    """Hooks of a layout's own, which would duplicate the work of ours."""

    level: str  # of the settings; `plugin` for hooks of a plugin
    where: str  # the settings file, or the name of the plugin
    is_own: bool  # in a file of this worktree, from which `init` may remove them

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
    """An artifact and the outcome of its load."""

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
    changed: datetime | None = None  # mtime of a file


class SessionReport(Struct):
    id: str | None
    total: int
    is_new: bool = False
    closed: str | None = None
    closed_because: str | None = None
    host: str = ""
    platform: str = ""


class LoadRequest(Struct, frozen=True):
    run: str | None = None
    trigger: str = "manual"
    artifacts: tuple[str, ...] = ()
    force: bool = False
    dry_run: bool = False
    budget: int = 400_000  # bytes of all artifacts
    each: int = 0  # bytes of each beside its text
    runs: bool = True  # whether allowed commands are run


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
    """The outcome of a save, or the reason why no session was saved."""

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
    """An error in the form of FABER's documents: message, facts, and numbered steps of recovery."""
    lines = [f"{marks.bad}ERROR: {one_line(error.message)}"]
    lines += [f"{one_line(name)}: {one_line(value, 500)}" for name, value in error.facts]
    if error.hints:
        lines += ["", "Recovery:", *(f"{number}. {one_line(hint)}" for number, hint in enumerate(error.hints, 1))]
    return lines


def told_warnings(warnings: Iterable[str], marks: Marks = DRAWN) -> list[str]:
    """Warnings, each once; the lines after the first one of a warning are its facts."""
    return [f"{marks.warn}WARNING: {visible(warning)}" for warning in dict.fromkeys(warnings)]
