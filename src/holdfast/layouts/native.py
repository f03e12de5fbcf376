"""The defaults of a layout: runs of our own. Their events say everything, and no other system has files of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from holdfast.core import ids, lifecycle
from holdfast.core.errors import HoldfastError, WrongUsage

if TYPE_CHECKING:  # every command loads this module, and few use more than a look at the files
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from holdfast.agents.protocol import Reading, Setup
    from holdfast.core.chat_commands import Order
    from holdfast.core.fold.team import Meant
    from holdfast.core.health import Check
    from holdfast.core.model import Checkpoint, Draft, Reason, Run, Session
    from holdfast.core.recovery import Option
    from holdfast.journal.journal import Journal
    from holdfast.layouts.protocol import (
        ChatCommand,
        ClientHooks,
        Damage,
        Examined,
        Exported,
        FilesRepaired,
        Mode,
        Recovery,
    )
    from holdfast.layouts.session_reports import Marks, Reloaded, SessionSaved
    from holdfast.project.checkpoints.restore import Restored
    from holdfast.project.inbox import Call
    from holdfast.project.trust import Executable
    from holdfast.project.workspace import Workspace

NAME = "native"
RULES = lifecycle.NATIVE
MODES: Mapping[str, Mode] = {}
CHAT_COMMANDS: Mapping[str, ChatCommand] = {}
IS_STARTED = True


def is_present(workspace: Workspace) -> bool:
    return False


def list_files(workspace: Workspace) -> list[str]:
    return []


def has_sessions(root: str) -> bool:
    return False


def ingest(workspace: Workspace) -> None:
    pass


def reconcile(workspace: Workspace, *, saved: str | None = None) -> None:
    pass


def autosave(workspace: Workspace) -> None:
    pass


def own_files(workspace: Workspace, run: Run) -> Iterable[str]:
    return ()


def foreign_files(workspace: Workspace, run: Run) -> list[str]:
    return []


def purge(workspace: Workspace, run: str, shown: Iterable[str]) -> None:
    pass


def list_left(workspace: Workspace, run: str) -> list[str]:
    return []


def list_old_copies(workspace: Workspace) -> list[Path]:
    return []


def clean_up(workspace: Workspace, days: int, keep: int, *, dry_run: bool) -> tuple[list[Run], int]:
    return [], 0


def executable_files(workspace: Workspace, *, outside: bool = False) -> list[Executable]:
    return []


def find_executable(path: Path) -> Executable | None:
    return None


def damages(workspace: Workspace) -> Iterator[Damage]:
    return iter(())


def health(workspace: Workspace) -> Iterable[Check]:
    return ()


def find_notice(setup: Setup) -> str | None:
    return None


def journal_id(name: str) -> str | None:
    return None


def own_id(workspace: Workspace, run: Run) -> str | None:
    return None


def find_active(workspace: Workspace) -> str | None:
    return None


def has_state(workspace: Workspace, name: str) -> bool:
    return False


def repair(workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
    from holdfast.layouts.protocol import FilesRepaired

    return FilesRepaired(known.id if known else name, None, changed=False)


def recover(workspace: Workspace, choose: str | None, establish: Callable[[Workspace], None]) -> Recovery | None:
    return None


def find_obstacle(workspace: Workspace) -> HoldfastError | None:
    return None


def follow(run: Run, session: Session | None, reading: Reading) -> list[Draft]:
    return []


def is_meant(workspace: Workspace) -> bool:
    return False


def prepare_start(workspace: Workspace) -> bool:
    return False


def find_current(journal: Journal, worktree: str) -> Run | None:
    return None


def make_id(workspace: Workspace, journal: Journal) -> str:
    return ids.make("run")


def default_steps(workspace: Workspace) -> tuple[str, ...]:
    return ()


def find_word(workspace: Workspace, run: Run) -> str | None:
    return None


def has_archive(workspace: Workspace) -> bool:
    return False


def ingest_archive(workspace: Workspace) -> None:
    pass


def silent_since(workspace: Workspace, run: Run) -> datetime | None:
    return None


def list_ways(workspace: Workspace, run: Run) -> list[Option]:
    return []


def list_resumable(workspace: Workspace) -> list[Run]:
    return []


def find_step(run: Run, name: str, new: bool) -> Meant:
    from holdfast.core.fold.team import Meant

    return Meant(name, name)


def keep_step(workspace: Workspace, run_id: str, meant: Meant) -> NoReturn:
    raise WrongUsage("Steps of this run are not kept as checkpoints", [("run", run_id)], ["`holdfast checkpoint`"])


def keep_run(workspace: Workspace, run: Run, reason: Reason, *, always: bool = False) -> Checkpoint | None:
    return None


def keep_interrupted(workspace: Workspace, run: Run) -> None:
    pass


def get_checkpoint(
    workspace: Workspace, journal: Journal, run: Run, name: str, *, left_too: bool = False
) -> Checkpoint:
    from holdfast.project.runs import select

    return select.count_back(workspace, journal, name)


def find_last_checkpoint(journal: Journal, run: Run) -> Checkpoint | None:
    """The run's last checkpoint, or the one that was gone back to since."""
    made = journal.list_checkpoints(run=run.id)
    last = next((kept for kept in made if not kept.reason.is_way_back), None)
    ledger = journal.ledger_of(run.worktree)
    ways = [way for way in (ledger.undoable if ledger else []) if way.code and not way.paths]
    if last is None or not ways or ways[-1].time < last.time:
        return last
    return journal.find_checkpoint(ways[-1].target) or last


def prepare_return(workspace: Workspace, run: Run, name: str) -> None:
    pass


def refuse_return(run: Run, planned: Restored) -> None:
    pass


def examine_checkpoints(workspace: Workspace, run: Run, broken: Mapping[str, list[str]]) -> list[Examined] | None:
    return None


def export_checkpoints(workspace: Workspace, run: Run) -> Exported:
    raise WrongUsage("Only a Go Team run has such files", [("run", run.id)], ["`holdfast checkpoints`"])


def begin_session(workspace: Workspace, call: Call, reading: Reading) -> str | None:
    return None


def end_session(workspace: Workspace, call: Call, reading: Reading) -> None:
    pass


def find_session_run(workspace: Workspace, name: str | None) -> tuple[bool, str | None]:
    return False, None


def load_session(
    workspace: Workspace,
    run: str | None,
    *,
    trigger: str,
    artifacts: tuple[str, ...],
    force: bool,
    dry_run: bool,
    budget: int,
) -> Reloaded:
    raise WrongUsage("Sessions of this run are not loaded", [("run", run)], ["`holdfast brief`"])


def save_session(workspace: Workspace, run: str | None, reason: str) -> SessionSaved:
    raise WrongUsage("Sessions of this run are not saved", [("run", run)], ["`holdfast save`"])


def load_screen(found: Reloaded, marks: Marks, now: datetime) -> list[str]:
    return []


def save_screen(found: SessionSaved, marks: Marks) -> list[str]:
    return []


def find_chat_run(workspace: Workspace, order: Order) -> Run | None:
    return None


def told_point(workspace: Workspace, run: Run, order: Order) -> Iterable[str] | None:
    return None


def told_missing(name: str) -> str | None:
    return None


def started_screen(run: Run, interval: float) -> Iterable[str]:
    return ()


def resumable_screen(runs: list[Run], silent: dict[str, datetime]) -> Iterable[str]:
    return ()


def recovery_screen(run: Run, options: list[Option], silent: datetime | None) -> Iterable[str]:
    return ()


def offer_screen(run: Run, options: list[Option]) -> Iterable[str]:
    return ()


def resumed_screen(run: Run, branch: str | None) -> Iterable[str]:
    return ()


def completed_screen(run: Run) -> Iterable[str]:
    return ()


def banner(run: Run, now: datetime) -> Iterable[str]:
    return ()


def banner_rows(run: Run, now: datetime) -> list[list[str]]:
    return []


def find_client_hooks(setup: Setup) -> list[ClientHooks]:
    return []


def is_client_hook(command: str) -> bool:
    return False


def find_plugin_hint(workspace: Workspace) -> str | None:
    return None
