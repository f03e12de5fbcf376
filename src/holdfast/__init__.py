"""Durable sessions for AI coding agents: no agent loses its place, and nothing that was acknowledged is lost.

    import holdfast

    with holdfast.open() as project:
        holdfast.start(project, "Add retries to the client")
        holdfast.decide(project, "Use exponential backoff", because="the server sheds load")

Every name is loaded on first use, so that a program pays only for what it uses.
"""

from __future__ import annotations

__version__ = "0.1.0"

TYPE_CHECKING = False  # what the typing module would say, without its 10 ms

if TYPE_CHECKING:
    from holdfast.core.errors import (
        Ambiguous as Ambiguous,
        Busy as Busy,
        Damaged as Damaged,
        Fenced as Fenced,
        HoldfastError as HoldfastError,
        Interrupted as Interrupted,
        NotFound as NotFound,
        Refused as Refused,
        Trouble as Trouble,
        WrongUsage as WrongUsage,
    )
    from holdfast.core.model import (
        Checkpoint as Checkpoint,
        Decision as Decision,
        Draft as Draft,
        Environment as Environment,
        Event as Event,
        Note as Note,
        Process as Process,
        Restore as Restore,
        Run as Run,
        Session as Session,
        Status as Status,
        Step as Step,
        Task as Task,
    )
    from holdfast.ingest.open import open_workspace as _open
    from holdfast.operations.agent import (
        complete_agent as complete_agent,
        fail_agent as fail_agent,
        list_agents as list_agents,
        progress_agent as progress_agent,
        start_agent as start_agent,
    )
    from holdfast.operations.backup import backup as backup, restore_backup as restore_backup
    from holdfast.operations.brief import brief as brief
    from holdfast.operations.budget import budget as budget
    from holdfast.operations.chat_command import command as command
    from holdfast.operations.checkpoint import checkpoint as checkpoint
    from holdfast.operations.checkpoints import checkpoints as checkpoints, diff as diff
    from holdfast.operations.cleanup import cleanup as cleanup
    from holdfast.operations.compacted import compressed as compressed
    from holdfast.operations.config import (
        config_get as config_get,
        config_list as config_list,
        config_set as config_set,
    )
    from holdfast.operations.decide import decide as decide, revoke as revoke
    from holdfast.operations.delete import delete as delete
    from holdfast.operations.delete_checkpoint import delete_checkpoint as delete_checkpoint
    from holdfast.operations.disk_usage import sizes as sizes
    from holdfast.operations.doctor import doctor as doctor
    from holdfast.operations.export import export as export
    from holdfast.operations.finish import (
        abandon as abandon,
        abort as abort,
        complete as complete,
        fail as fail,
        pause as pause,
        reopen as reopen,
    )
    from holdfast.operations.forget import forget as forget
    from holdfast.operations.guard import bisect as bisect, guard as guard
    from holdfast.operations.import_claude import import_claude as import_claude
    from holdfast.operations.import_run import import_run as import_run
    from holdfast.operations.init import init as init, off as off, on as on
    from holdfast.operations.join import join as join
    from holdfast.operations.leave import leave as leave
    from holdfast.operations.look import log as log, sessions as sessions, show as show
    from holdfast.operations.note import note as note
    from holdfast.operations.past_runs import past_runs as past_runs
    from holdfast.operations.pin import pin as pin
    from holdfast.operations.record import action as action, error as error, prompt as prompt
    from holdfast.operations.recover import recover as recover
    from holdfast.operations.rename import rename as rename, tag as tag
    from holdfast.operations.repair import repair as repair
    from holdfast.operations.report import picture as picture, report as report
    from holdfast.operations.restore import (
        continue_restore as continue_restore,
        redo as redo,
        restore as restore,
        undo as undo,
        undo_restore as undo_restore,
    )
    from holdfast.operations.resume import resume as resume
    from holdfast.operations.rollback import rollback as rollback
    from holdfast.operations.run import run as run
    from holdfast.operations.runs import runs as runs
    from holdfast.operations.runs_everywhere import everywhere as everywhere
    from holdfast.operations.save import save as save
    from holdfast.operations.scan_secrets import scan as scan
    from holdfast.operations.search import search as search
    from holdfast.operations.session_load import session_load as session_load, session_save as session_save
    from holdfast.operations.start import start as start
    from holdfast.operations.status import status as status
    from holdfast.operations.step import (
        complete_step as complete_step,
        fail_step as fail_step,
        list_steps as list_steps,
        start_step as start_step,
    )
    from holdfast.operations.sweep import sweep as sweep
    from holdfast.operations.switch import switch as switch
    from holdfast.operations.task import add_task as add_task, finish_task as finish_task, list_tasks as list_tasks
    from holdfast.operations.team import (
        breakpoint as breakpoint,
        handoff as handoff,
        metric as metric,
        output as output,
    )
    from holdfast.operations.team_checkpoints import (
        export_checkpoints as export_checkpoints,
        validate_checkpoints as validate_checkpoints,
    )
    from holdfast.operations.tidy import tidy as tidy
    from holdfast.operations.trust import list_trusted as list_trusted, trust as trust, untrust as untrust
    from holdfast.operations.uninit import uninit as uninit
    from holdfast.operations.verify import verify as verify
    from holdfast.project.workspace import Workspace as Workspace

    open = _open

HOMES = {
    "core.errors": "Ambiguous Busy Damaged Fenced HoldfastError Interrupted NotFound Refused Trouble WrongUsage",
    "core.model": "Checkpoint Decision Draft Environment Event Note Process Restore Run Session Status Step Task",
    "operations.backup": "backup restore_backup",
    "operations.brief": "brief",
    "operations.budget": "budget",
    "operations.checkpoint": "checkpoint",
    "operations.checkpoints": "checkpoints diff",
    "operations.cleanup": "cleanup",
    "operations.chat_command": "command",
    "operations.compacted": "compressed",
    "operations.config": "config_get config_list config_set",
    "operations.decide": "decide revoke",
    "operations.delete": "delete",
    "operations.delete_checkpoint": "delete_checkpoint",
    "operations.doctor": "doctor",
    "operations.export": "export",
    "operations.forget": "forget",
    "operations.guard": "bisect guard",
    "operations.import_claude": "import_claude",
    "operations.import_run": "import_run",
    "operations.init": "init off on",
    "operations.join": "join",
    "operations.report": "picture report",
    "operations.resume": "resume",
    "operations.leave": "leave",
    "operations.look": "log sessions show",
    "operations.note": "note",
    "operations.past_runs": "past_runs",
    "operations.pin": "pin",
    "operations.team_checkpoints": "export_checkpoints validate_checkpoints",
    "operations.record": "action error prompt",
    "operations.agent": "complete_agent fail_agent list_agents progress_agent start_agent",
    "operations.recover": "recover",
    "operations.rename": "rename tag",
    "operations.restore": "continue_restore redo restore undo undo_restore",
    "operations.rollback": "rollback",
    "operations.run": "run",
    "operations.runs": "runs",
    "operations.search": "search",
    "operations.runs_everywhere": "everywhere",
    "operations.save": "save",
    "operations.session_load": "session_load session_save",
    "operations.scan_secrets": "scan",
    "operations.disk_usage": "sizes",
    "operations.finish": "abandon abort complete fail pause reopen",
    "operations.start": "start",
    "operations.status": "status",
    "operations.step": "complete_step fail_step list_steps start_step",
    "operations.sweep": "sweep",
    "operations.switch": "switch",
    "operations.task": "add_task finish_task list_tasks",
    "operations.team": "breakpoint handoff metric output",
    "operations.tidy": "tidy",
    "operations.trust": "list_trusted trust untrust",
    "operations.uninit": "uninit",
    "operations.repair": "repair",
    "operations.verify": "verify",
    "ingest.open": "open",
    "project.workspace": "Workspace",
}
_HOME = {name: module for module, names in HOMES.items() for name in names.split()}
__all__ = sorted([*(name for name in _HOME if name != "open_workspace"), "open", "__version__"])


if not TYPE_CHECKING:  # or a type checker would believe in every name

    def __getattr__(name):
        from importlib import import_module

        if name not in _HOME:
            raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
        actual = "open_workspace" if name == "open" else name
        value = getattr(import_module(f"holdfast.{_HOME[name]}"), actual)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
