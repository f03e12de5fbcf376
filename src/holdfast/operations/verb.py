"""What makes a function a verb: it starts from what is true now.

Before each verb, what hooks have kept is taken in and the dead are noticed, so that nobody ever looks at stale state.
After it, the files that show a run to another system say what the journal says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.core.text import count
from holdfast.ingest.catch_up import catch_up, face
from holdfast.project.workspace import Workspace
from holdfast.system import files

P = ParamSpec("P")
R = TypeVar("R")


def _tell_hidden(workspace: Workspace) -> None:
    """Whoever says a secret hears that it was not stored."""
    if workspace.hidden:
        kinds = ", ".join(f"{number:,} of kind {kind}" for kind, number in sorted(workspace.hidden.items()))
        number = count(workspace.hidden.total(), "secret")
        way = "`holdfast config set redact.allow PATTERN` allows it"
        workspace.warn(f"{number} hidden before anything was stored ({kinds}); {way}")


def verb(function: Callable[Concatenate[Workspace, P], R]) -> Callable[Concatenate[Workspace, P], R]:
    """Mark something one can do with a workspace."""

    @functools.wraps(function)
    def call(workspace: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with files.os_errors():
            if not workspace.exists or workspace.is_off:
                return function(workspace, *args, **kwargs)
            catch_up(workspace)
            before = workspace.store.changes()
            workspace.hidden.clear()  # what came with calls and files, nobody has just said
            result = function(workspace, *args, **kwargs)
            _tell_hidden(workspace)  # safeguard: tell-hidden
            if workspace.store.changes() != before:
                face(workspace)
            return result

    return call
