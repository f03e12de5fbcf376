"""What makes a function a verb: it starts from what is true now.

Before each verb, what hooks have kept is taken in and the dead are noticed, so that nobody ever looks at stale state.
After it, the files that show a run to another system say what the journal says.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from holdfast import files
from holdfast.catchup import catch_up, face
from holdfast.workspace import Workspace

P = ParamSpec("P")
R = TypeVar("R")


def verb(function: Callable[Concatenate[Workspace, P], R]) -> Callable[Concatenate[Workspace, P], R]:
    """Mark something one can do with a workspace."""

    @functools.wraps(function)
    def call(workspace: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with files.os_errors():
            if not workspace.exists or workspace.is_off:
                return function(workspace, *args, **kwargs)
            catch_up(workspace)
            before = workspace.store.changes()
            result = function(workspace, *args, **kwargs)
            if workspace.store.changes() != before:
                face(workspace)
            return result

    return call
