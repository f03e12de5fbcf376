"""The layout seam: what a layout provides. A layout is a module; what it leaves out it takes from `native.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from holdfast.agents.protocol import Reading, Setup
from holdfast.core.chat_commands import Order
from holdfast.core.errors import HoldfastError
from holdfast.core.fold.team import Meant
from holdfast.core.health import Check
from holdfast.core.lifecycle import Rules
from holdfast.core.model import Checkpoint, Draft, Reason, Run, Session
from holdfast.core.recovery import Option
from holdfast.journal.journal import Journal
from holdfast.layouts.session_reports import Marks, Reloaded, SessionSaved
from holdfast.project.checkpoints.restore import Restored
from holdfast.project.inbox import Call
from holdfast.project.trust import Executable
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


class Layout(Protocol):
    """A system whose runs we keep, and its files."""

    NAME: str
    RULES: Rules
    MODES: Mapping[str, Mode]  # by name; the first is taken where none is named
    CHAT_COMMANDS: Mapping[str, ChatCommand]  # that mean something else in its runs
    IS_STARTED: bool  # whether `start` begins runs of it

    # Files

    def is_present(self, workspace: Workspace) -> bool:
        """Whether the worktree has files of the system, or a run that is shown in one. A quick look."""
        ...

    def list_files(self, workspace: Workspace) -> list[str]:
        """The files or directories in which the system keeps runs in this worktree."""
        ...

    def has_sessions(self, root: str) -> bool:
        """Whether sessions of a worktree may be loaded and closed by hooks. A quick look, without a store."""
        ...

    def ingest(self, workspace: Workspace) -> None:
        """Take in what the files say, before calls of hooks are routed."""
        ...

    def reconcile(self, workspace: Workspace, *, saved: str | None = None) -> None:
        """Take in external edits, then write what the journal says. The run that is `saved` is written in any case."""
        ...

    def autosave(self, workspace: Workspace) -> None:
        """The same while a supervised command runs: the current run is written in any case."""
        ...

    def own_files(self, workspace: Workspace, run: Run) -> Iterable[str]:
        """The files of this worktree in which we show a run."""
        ...

    def foreign_files(self, workspace: Workspace, run: Run) -> list[str]:
        """The files or directories in which the system itself has a run; a purge leaves and names them."""
        ...

    def purge(self, workspace: Workspace, run: str, shown: Iterable[str]) -> None:
        """Remove the files that show a run, and what is remembered of them."""
        ...

    def list_left(self, workspace: Workspace, run: str) -> list[str]:
        """The files that still name a purged run."""
        ...

    def list_old_copies(self, workspace: Workspace) -> list[Path]:
        """Our copies beside the system's files that are not needed any more."""
        ...

    def clean_up(self, workspace: Workspace, days: int, keep: int, *, dry_run: bool) -> tuple[list[Run], int]:
        """Remove the files of runs that are over; answers with these runs, and how many others that are over stay."""
        ...

    def executable_files(self, workspace: Workspace, *, outside: bool = False) -> list[Executable]:
        """Files that may name a command which we would run; also those outside of the project, if asked for."""
        ...

    def find_executable(self, path: Path) -> Executable | None:
        """Such a file by its path, whether or not it is there."""
        ...

    # Health

    def damages(self, workspace: Workspace) -> Iterator[Damage]:
        """The files that cannot be read."""
        ...

    def health(self, workspace: Workspace) -> Iterable[Check]:
        """What `doctor` says of the system's files and hooks."""
        ...

    def find_notice(self, setup: Setup) -> str | None:
        """Why we leave something to the system's own hooks, and how that is changed."""
        ...

    def journal_id(self, name: str) -> str | None:
        """The id in the journal of a run that has this name in the system."""
        ...

    def own_id(self, workspace: Workspace, run: Run) -> str | None:
        """The name of a run in the system, where its sessions are loaded and saved by that."""
        ...

    def find_active(self, workspace: Workspace) -> str | None:
        """The name of the run that the system itself works on."""
        ...

    def has_state(self, workspace: Workspace, name: str) -> bool:
        """Whether the system has a file of the run of that name."""
        ...

    def repair(self, workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
        """Put the best copy of a damaged file back, or make it anew; `keep` takes what is there as it is."""
        ...

    def recover(
        self, workspace: Workspace, choose: str | None, establish: Callable[[Workspace], None]
    ) -> Recovery | None:
        """Say what can be done about a damaged file that shows the current run, or do it."""
        ...

    def find_obstacle(self, workspace: Workspace) -> HoldfastError | None:
        """Why a file that is whole cannot be followed."""
        ...

    # Runs

    def follow(self, run: Run, session: Session | None, reading: Reading) -> list[Draft]:
        """Events that an agent's call adds to a run of the layout."""
        ...

    def is_meant(self, workspace: Workspace) -> bool:
        """Whether commands in this worktree mean a run of the layout."""
        ...

    def prepare_start(self, workspace: Workspace) -> bool:
        """Get the files ready for a run that begins or comes back; true: it takes the place of the current one."""
        ...

    def find_current(self, journal: Journal, worktree: str) -> Run | None:
        """The run in whose place a new one comes."""
        ...

    def make_id(self, workspace: Workspace, journal: Journal) -> str:
        """An id for a new run."""
        ...

    def default_steps(self, workspace: Workspace) -> tuple[str, ...]:
        """The plan of a new run."""
        ...

    def find_word(self, workspace: Workspace, run: Run) -> str | None:
        """The status of a run in the system's own word, where it has others than we."""
        ...

    def has_archive(self, workspace: Workspace) -> bool:
        """Whether the system keeps ended runs in files of this worktree."""
        ...

    def ingest_archive(self, workspace: Workspace) -> None:
        """Take in the runs of the archive that are not known yet."""
        ...

    def silent_since(self, workspace: Workspace, run: Run) -> datetime | None:
        """Since when nothing was heard of an active run whose process is not known."""
        ...

    def list_ways(self, workspace: Workspace, run: Run) -> list[Option]:
        """The ways to go on with an interrupted run; none where there is no choice."""
        ...

    def list_resumable(self, workspace: Workspace) -> list[Run]:
        """The open runs of this worktree that no process works on."""
        ...

    # Steps and checkpoints

    def find_step(self, run: Run, name: str, new: bool) -> Meant:
        """The step that a name means; one that is unknown, and not new, may be refused."""
        ...

    def keep_step(self, workspace: Workspace, run_id: str, meant: Meant) -> Checkpoint:
        """Make the checkpoint of a completed step."""
        ...

    def keep_run(self, workspace: Workspace, run: Run, reason: Reason, *, always: bool = False) -> Checkpoint | None:
        """Make a checkpoint of what a run leaves, unless the last one holds it and none is needed `always`."""
        ...

    def keep_interrupted(self, workspace: Workspace, run: Run) -> None:
        """Keep what a run that was found dead has left. Trouble with it is only a warning."""
        ...

    def get_checkpoint(
        self, workspace: Workspace, journal: Journal, run: Run, name: str, *, left_too: bool = False
    ) -> Checkpoint:
        """The checkpoint that a name means in a run; one that was left behind only if asked for."""
        ...

    def find_last_checkpoint(self, journal: Journal, run: Run) -> Checkpoint | None:
        """The checkpoint that a run goes on from."""
        ...

    def prepare_return(self, workspace: Workspace, run: Run, name: str) -> None:
        """Let a checkpoint that only the system's files know become one of ours, where that can be."""
        ...

    def refuse_return(self, run: Run, planned: Restored) -> None:
        """Refuse a way back that leads nowhere."""
        ...

    def examine_checkpoints(
        self, workspace: Workspace, run: Run, broken: Mapping[str, list[str]]
    ) -> list[Examined] | None:
        """The run's checkpoints with the problems of their files; None where it has no such files."""
        ...

    def export_checkpoints(self, workspace: Workspace, run: Run) -> Exported:
        """Put the files of a run and the code of its checkpoints into one archive."""
        ...

    # Sessions

    def begin_session(self, workspace: Workspace, call: Call, reading: Reading) -> str | None:
        """The text for a conversation that begins."""
        ...

    def end_session(self, workspace: Workspace, call: Call, reading: Reading) -> None:
        """Save a session before its conversation is compacted, and when it ends."""
        ...

    def find_session_run(self, workspace: Workspace, name: str | None) -> tuple[bool, str | None]:
        """Whether loading or saving a session is the layout's business, and the name of the run that is meant."""
        ...

    def load_session(
        self,
        workspace: Workspace,
        run: str | None,
        *,
        trigger: str,
        artifacts: tuple[str, ...],
        force: bool,
        dry_run: bool,
        budget: int,
    ) -> Reloaded: ...

    def save_session(self, workspace: Workspace, run: str | None, reason: str) -> SessionSaved: ...

    def load_screen(self, found: Reloaded, marks: Marks, now: datetime) -> list[str]: ...

    def save_screen(self, found: SessionSaved, marks: Marks) -> list[str]: ...

    # Chat commands and screens

    def find_chat_run(self, workspace: Workspace, order: Order) -> Run | None:
        """The run of the layout that a chat command is about, if it means something else there."""
        ...

    def told_point(self, workspace: Workspace, run: Run, order: Order) -> Iterable[str] | None:
        """What a checkpoint's file says whose code is not here; None where there is more to show."""
        ...

    def told_missing(self, name: str) -> str | None:
        """The layout's own words for a run that is not there."""
        ...

    def started_screen(self, run: Run, interval: float) -> Iterable[str]: ...

    def resumable_screen(self, runs: list[Run], silent: dict[str, datetime]) -> Iterable[str]: ...

    def recovery_screen(self, run: Run, options: list[Option], silent: datetime | None) -> Iterable[str]: ...

    def offer_screen(self, run: Run, options: list[Option]) -> Iterable[str]: ...

    def resumed_screen(self, run: Run, branch: str | None) -> Iterable[str]: ...

    def completed_screen(self, run: Run) -> Iterable[str]: ...

    def banner(self, run: Run, now: datetime) -> Iterable[str]:
        """Where a run stands, for the agent that goes on with it; nothing where the brief says it."""
        ...

    def banner_rows(self, run: Run, now: datetime) -> list[list[str]]:
        """The same as rows of a table, for a person."""
        ...

    # Hooks of the system's own

    def find_client_hooks(self, setup: Setup) -> list[ClientHooks]: ...

    def is_client_hook(self, command: str) -> bool:
        """Whether a hook's command is one of the system's."""
        ...

    def find_plugin_hint(self, workspace: Workspace) -> str | None:
        """How the system's own commands are installed beside our plugin."""
        ...
