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
    from holdfast.errors import (
        Ambiguous as Ambiguous,
    )
    from holdfast.errors import (
        Busy as Busy,
    )
    from holdfast.errors import (
        Damaged as Damaged,
    )
    from holdfast.errors import (
        Fenced as Fenced,
    )
    from holdfast.errors import (
        HoldfastError as HoldfastError,
    )
    from holdfast.errors import (
        NotFound as NotFound,
    )
    from holdfast.errors import (
        Refused as Refused,
    )
    from holdfast.errors import (
        Trouble as Trouble,
    )
    from holdfast.errors import (
        WrongUsage as WrongUsage,
    )
    from holdfast.model import (
        Decision as Decision,
    )
    from holdfast.model import (
        Draft as Draft,
    )
    from holdfast.model import (
        Environment as Environment,
    )
    from holdfast.model import (
        Event as Event,
    )
    from holdfast.model import (
        Note as Note,
    )
    from holdfast.model import (
        Process as Process,
    )
    from holdfast.model import (
        Run as Run,
    )
    from holdfast.model import (
        Session as Session,
    )
    from holdfast.model import (
        Status as Status,
    )
    from holdfast.model import (
        Task as Task,
    )
    from holdfast.operations.brief import brief as brief
    from holdfast.operations.configure import (
        config_get as config_get,
    )
    from holdfast.operations.configure import (
        config_list as config_list,
    )
    from holdfast.operations.configure import (
        config_set as config_set,
    )
    from holdfast.operations.decide import decide as decide
    from holdfast.operations.decide import revoke as revoke
    from holdfast.operations.delete import delete as delete
    from holdfast.operations.forget import forget as forget
    from holdfast.operations.initialise import init as init
    from holdfast.operations.initialise import off as off
    from holdfast.operations.initialise import on as on
    from holdfast.operations.join import join as join
    from holdfast.operations.leave import leave as leave
    from holdfast.operations.look import log as log
    from holdfast.operations.look import runs as runs
    from holdfast.operations.look import sessions as sessions
    from holdfast.operations.look import show as show
    from holdfast.operations.note import note as note
    from holdfast.operations.pin import pin as pin
    from holdfast.operations.record import action as action
    from holdfast.operations.record import prompt as prompt
    from holdfast.operations.rename import rename as rename
    from holdfast.operations.rename import tag as tag
    from holdfast.operations.settle import (
        abandon as abandon,
    )
    from holdfast.operations.settle import (
        abort as abort,
    )
    from holdfast.operations.settle import (
        complete as complete,
    )
    from holdfast.operations.settle import (
        fail as fail,
    )
    from holdfast.operations.settle import (
        pause as pause,
    )
    from holdfast.operations.start import start as start
    from holdfast.operations.status import status as status
    from holdfast.operations.sweep import sweep as sweep
    from holdfast.operations.switch import switch as switch
    from holdfast.operations.task import add_task as add_task
    from holdfast.operations.task import finish_task as finish_task
    from holdfast.operations.task import list_tasks as list_tasks
    from holdfast.operations.verify import verify as verify
    from holdfast.workspace import Workspace as Workspace
    from holdfast.workspace import open_workspace as open_workspace

    open = open_workspace

HOMES = {
    "errors": "Ambiguous Busy Damaged Fenced HoldfastError NotFound Refused Trouble WrongUsage",
    "model": "Decision Draft Environment Event Note Process Run Session Status Task",
    "operations.brief": "brief",
    "operations.configure": "config_get config_list config_set",
    "operations.decide": "decide revoke",
    "operations.delete": "delete",
    "operations.forget": "forget",
    "operations.initialise": "init off on",
    "operations.join": "join",
    "operations.leave": "leave",
    "operations.look": "log runs sessions show",
    "operations.note": "note",
    "operations.pin": "pin",
    "operations.record": "action prompt",
    "operations.rename": "rename tag",
    "operations.settle": "abandon abort complete fail pause",
    "operations.start": "start",
    "operations.status": "status",
    "operations.sweep": "sweep",
    "operations.switch": "switch",
    "operations.task": "add_task finish_task list_tasks",
    "operations.verify": "verify",
    "workspace": "Workspace open",
}
_HOME = {name: module for module, names in HOMES.items() for name in names.split()}
__all__ = sorted([*(name for name in _HOME if name != "open_workspace"), "open", "__version__"])


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'holdfast' has no attribute {name!r}")
    actual = "open_workspace" if name == "open" else name
    value = getattr(import_module(f"holdfast.{_HOME[name]}"), actual)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
