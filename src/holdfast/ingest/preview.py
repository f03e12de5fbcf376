"""Reading verbs in a project without a store: another system's files, imported into a temporary store.

Nothing is written into the project, its git directory or the user's own directories, and the files stay as they are.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.ingest.catch_up import catch_up
from holdfast.layouts.registry import layouts
from holdfast.project.workspace import Workspace

P = ParamSpec("P")
R = TypeVar("R")

NOTICE = "no store is here yet: this was read from {files}, and nothing is recorded; `holdfast init` makes a store"


class Preview(Workspace):
    """A workspace whose store and list of stores are temporary."""

    is_preview = True
    allows_broad = True

    def user_directory(self, kind: str) -> Path:
        return self.place.parent / kind if kind == "state" else super().user_directory(kind)


def previewed(function: Callable[Concatenate[Workspace, P], R]) -> Callable[Concatenate[Workspace, P], R]:
    """Mark a verb that only reads, so that it works on another system's files without a store."""

    @functools.wraps(function)
    def call(workspace: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with readable(workspace) as found:
            return function(found, *args, **kwargs)

    return call


@contextlib.contextmanager
def readable(workspace: Workspace, *, noted: bool = True) -> Iterator[Workspace]:
    """The workspace itself; without a store, a preview of what other systems keep in its files, if they keep any.

    `noted`: say that nothing is recorded.
    """
    if workspace.exists or workspace.is_off or not (names := foreign_files(workspace)):
        yield workspace
        return
    import tempfile  # takes its time to load, and a project without a store is rare

    with tempfile.TemporaryDirectory(prefix="holdfast-") as directory:
        preview = Preview(
            workspace.root,
            Path(directory) / "store",
            clock=workspace.clock,
            chance=workspace.chance,
            environ=workspace.environ,
            progress=workspace.progress,
            clients=workspace.clients,
            rules_of=workspace.rules_of,
        )
        preview.warnings = workspace.warnings
        try:
            preview.create()
            catch_up(preview)
            if noted:
                preview.warn(NOTICE.format(files=" and ".join(names)))
            yield preview
        finally:
            preview.close()


def foreign_files(workspace: Workspace) -> list[str]:
    """The systems that keep runs in files of this worktree, by the names of these files."""
    return [name for layout in layouts() for name in layout.list_files(workspace)]
