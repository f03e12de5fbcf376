"""The layout seam: the members of a layout, with the defaults that hold for runs of our own.

Every command loads this module, so types are imported for mypy alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core import ids, lifecycle
from holdfast.core.errors import HoldfastError, WrongUsage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from holdfast.agents.protocol import Reading, Setup
    from holdfast.core.chat_commands import Order
    from holdfast.core.fold.team import Meant
    from holdfast.core.model import Check, Checkpoint, Draft, Reason, Run, Session
    from holdfast.core.recovery_options import Option
    from holdfast.journal.journal import Journal
    from holdfast.layouts import results
    from holdfast.project.checkpoints.restore import Restored
    from holdfast.project.inbox import Call
    from holdfast.project.trust import Executable
    from holdfast.project.workspace import Workspace


class Layout:
    """A system whose runs are kept, and its files. A layout is a package whose members stand in for these."""

    NAME = "native"
    RULES = lifecycle.NATIVE
    SIGN = ""  # the path that shows that the system is used in a worktree
    ROOT_SETTING = ""  # names the directory of that path, where it is not the worktree
    RECORD = ""  # the file in the store that remembers what was last written: it is a sign as well
    MODES: Mapping[str, results.Mode] = {}  # by name; the first one is the default
    CHAT_COMMANDS: Mapping[str, results.ChatCommand] = {}  # that differ in its runs
    IS_STARTED = True  # whether `start` begins runs of it
    HAS_SESSIONS = False  # whether hooks load and close its sessions, where its sign is

    # Files

    def list_files(self, workspace: Workspace) -> list[str]:
        """List the files or directories in which the system keeps runs in this worktree."""
        return []

    def ingest(self, workspace: Workspace) -> None:
        """Ingest the files, before calls of hooks are routed."""

    def reconcile(self, workspace: Workspace, *, saved: str | None = None) -> None:
        """Ingest external edits, then write the files. The run that is `saved` is written in any case."""

    def autosave(self, workspace: Workspace) -> None:
        """Reconcile while a supervised command runs: the current run is written in any case."""

    def own_files(self, workspace: Workspace, run: Run) -> Iterable[str]:
        """List the files of this worktree in which we show a run."""
        return ()

    def foreign_files(self, workspace: Workspace, run: Run) -> list[str]:
        """List the system's own files or directories of a run; a purge leaves and names them."""
        return []

    def purge(self, workspace: Workspace, run: str, shown: Iterable[str]) -> None:
        """Remove the files that show a run, and the records of them."""

    def list_left(self, workspace: Workspace, run: str) -> list[str]:
        """List the files that still name a purged run."""
        return []

    def list_old_copies(self, workspace: Workspace) -> list[Path]:
        """List our copies beside the system's files that are not needed any more."""
        return []

    def clean_up(self, workspace: Workspace, days: int, keep: int, *, dry_run: bool) -> tuple[list[Run], int]:
        """Remove the files of ended runs; return these runs, and the number of ended ones that stay."""
        return [], 0

    def executable_files(self, workspace: Workspace, *, outside: bool = False) -> list[Executable]:
        """List the files that may name a command that we would run; on request also those outside of the project."""
        return []

    def find_executable(self, path: Path) -> Executable | None:
        """Find such a file by its path, whether or not it exists."""
        return None

    # Health

    def damages(self, workspace: Workspace) -> Iterator[results.Damage]:
        """List the files that cannot be read."""
        return iter(())

    def health(self, workspace: Workspace) -> Iterable[Check]:
        """Check the system's files and hooks, for `doctor`."""
        return ()

    def find_notice(self, setup: Setup) -> str | None:
        """Say why something is left to the system's own hooks, and how that is changed."""
        return None

    def journal_id(self, name: str) -> str | None:
        """The id in the journal of a run that has this name in the system."""
        return None

    def own_id(self, workspace: Workspace, run: Run) -> str | None:
        """The name of a run in the system, if its sessions are loaded and saved by that name."""
        return None

    def find_active(self, workspace: Workspace) -> str | None:
        """The name of the run that the system itself works on."""
        return None

    def has_state(self, workspace: Workspace, name: str) -> bool:
        """Return whether the system has a file of the run of that name."""
        return False

    def repair(self, workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> results.FilesRepaired:
        """Restore or rebuild a damaged file; `keep` accepts the file as it is."""
        from holdfast.layouts.results import FilesRepaired

        return FilesRepaired(known.id if known else name, None, changed=False)

    def recover(
        self, workspace: Workspace, choose: str | None, establish: Callable[[Workspace], None]
    ) -> results.Recovery | None:
        """List the ways out of a damaged file that shows the current run, or take one."""
        return None

    def find_obstacle(self, workspace: Workspace) -> HoldfastError | None:
        """Return the reason why an undamaged file cannot be followed."""
        return None

    # Runs

    def follow(self, run: Run, session: Session | None, reading: Reading) -> list[Draft]:
        """Events that an agent's call adds to a run of the layout."""
        return []

    def is_meant(self, workspace: Workspace) -> bool:
        """Return whether commands in this worktree apply to a run of the layout."""
        return False

    def prepare_start(self, workspace: Workspace) -> bool:
        """Prepare the files for a run that begins or resumes; true if it replaces the current one."""
        return False

    def find_current(self, journal: Journal, worktree: str) -> Run | None:
        """The run that a new one replaces."""
        return None

    def make_id(self, workspace: Workspace, journal: Journal) -> str:
        return ids.make("run")

    def default_steps(self, workspace: Workspace) -> tuple[str, ...]:
        """The plan of a new run."""
        return ()

    def find_word(self, workspace: Workspace, run: Run) -> str | None:
        """The status of a run in the system's own word, where its words differ from ours."""
        return None

    def has_archive(self, workspace: Workspace) -> bool:
        """Return whether the system keeps ended runs in files of this worktree."""
        return False

    def ingest_archive(self, workspace: Workspace) -> None:
        """Ingest the unknown runs of the archive."""

    def silent_since(self, workspace: Workspace, run: Run) -> datetime | None:
        """The last sign of life of an active run whose process is unknown, if it is long ago."""
        return None

    def list_ways(self, workspace: Workspace, run: Run) -> list[Option]:
        """The ways to resume an interrupted run; none where there is no choice."""
        return []

    def list_resumable(self, workspace: Workspace) -> list[Run]:
        """The open runs of this worktree that no process works on."""
        return []

    # Steps and checkpoints

    def find_step(self, run: Run, name: str, new: bool) -> Meant:
        """The step of that name; an unknown one that is not `new` may be refused."""
        from holdfast.core.fold.team import Meant

        return Meant(name, name)

    def keep_step(self, workspace: Workspace, run_id: str, meant: Meant) -> Checkpoint:
        """Make the checkpoint of a completed step."""
        raise WrongUsage("Steps of this run are not kept as checkpoints", [("run", run_id)], ["`holdfast checkpoint`"])

    def keep_run(self, workspace: Workspace, run: Run, reason: Reason, *, always: bool = False) -> Checkpoint | None:
        """Make a checkpoint of a run's files, unless the last one holds them and none is needed `always`."""
        return None

    def keep_interrupted(self, workspace: Workspace, run: Run) -> None:
        """Make a checkpoint of the files of a run that was found dead. A failure is only a warning."""

    def get_checkpoint(
        self, workspace: Workspace, journal: Journal, run: Run, name: str, *, left_too: bool = False
    ) -> Checkpoint:
        """The checkpoint of that name in a run; an invalidated one only if `left_too`."""
        from holdfast.project.runs import select

        return select.count_back(workspace, journal, name)

    def find_last_checkpoint(self, journal: Journal, run: Run) -> Checkpoint | None:
        """The checkpoint that a run continues from: its last one, or the one that was restored since."""
        made = journal.list_checkpoints(run=run.id)
        last = next((kept for kept in made if not kept.reason.is_way_back), None)
        ledger = journal.ledger_of(run.worktree)
        ways = [way for way in (ledger.undoable if ledger else []) if way.code and not way.paths]
        if last is None or not ways or ways[-1].time < last.time:
            return last
        return journal.find_checkpoint(ways[-1].target) or last

    def prepare_return(self, workspace: Workspace, run: Run, name: str) -> None:
        """Import a checkpoint that only the system's files know, where that can be."""

    def refuse_return(self, run: Run, planned: Restored) -> None:
        """Refuse a restore that would change nothing."""

    def examine_checkpoints(
        self, workspace: Workspace, run: Run, broken: Mapping[str, list[str]]
    ) -> list[results.Examined] | None:
        """The run's checkpoints with the problems of their files; None where it has no such files."""
        return None

    def export_checkpoints(self, workspace: Workspace, run: Run) -> results.Exported:
        """Write the files of a run and the code of its checkpoints into one archive."""
        raise WrongUsage("Only a Go Team run has such files", [("run", run.id)], ["`holdfast checkpoints`"])

    # Sessions

    def begin_session(self, workspace: Workspace, call: Call, reading: Reading) -> str | None:
        """The text for a conversation that begins."""
        return None

    def end_session(self, workspace: Workspace, call: Call, reading: Reading) -> None:
        """Save a session before its conversation is compacted, and when it ends."""

    def find_session_run(self, workspace: Workspace, name: str | None) -> tuple[bool, str | None]:
        """Return whether the layout loads and saves this session, and the name of its run."""
        return False, None

    def load_session(self, workspace: Workspace, request: results.LoadRequest) -> results.Reloaded:
        raise WrongUsage("Sessions of this run are not loaded", [("run", request.run)], ["`holdfast brief`"])

    def save_session(self, workspace: Workspace, run: str | None, reason: str) -> results.SessionSaved:
        raise WrongUsage("Sessions of this run are not saved", [("run", run)], ["`holdfast save`"])

    def load_screen(self, found: results.Reloaded, marks: results.Marks, now: datetime) -> list[str]:
        return []

    def save_screen(self, found: results.SessionSaved, marks: results.Marks) -> list[str]:
        return []

    # Chat commands and screens

    def find_chat_run(self, workspace: Workspace, order: Order) -> Run | None:
        """The run of the layout that a chat command is about, if the command differs there."""
        return None

    def told_point(self, workspace: Workspace, run: Run, order: Order) -> Iterable[str] | None:
        """The content of a checkpoint's file whose code is not here; None where there is more to show."""
        return None

    def told_missing(self, name: str) -> str | None:
        """The layout's own words for a run that does not exist."""
        return None

    def started_screen(self, run: Run, interval: float) -> Iterable[str]:
        return ()

    def resumable_screen(self, runs: list[Run], silent: dict[str, datetime]) -> Iterable[str]:
        return ()

    def recovery_screen(self, run: Run, options: list[Option], silent: datetime | None) -> Iterable[str]:
        return ()

    def offer_screen(self, run: Run, options: list[Option]) -> Iterable[str]:
        return ()

    def resumed_screen(self, run: Run, branch: str | None) -> Iterable[str]:
        return ()

    def completed_screen(self, run: Run) -> Iterable[str]:
        return ()

    def banner(self, run: Run, now: datetime) -> Iterable[str]:
        """The state of a run, for the agent that continues it; nothing where the brief says it."""
        return ()

    def banner_rows(self, run: Run, now: datetime) -> list[list[str]]:
        """The banner as rows of a table, for a person."""
        return []

    # Hooks of the system's own

    def find_client_hooks(self, setup: Setup) -> list[results.ClientHooks]:
        return []

    def is_client_hook(self, command: str) -> bool:
        """Return whether a hook's command is one of the system's."""
        return False

    def find_plugin_hint(self, workspace: Workspace) -> str | None:
        """The hint to install the system's own commands beside our plugin."""
        return None


NATIVE = Layout()
