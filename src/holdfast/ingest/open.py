"""Open a project with all known agents and layouts; without a store, as a preview of other systems' files."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.agents import registry as agents
from holdfast.core import ids
from holdfast.layouts import registry as layouts
from holdfast.project.workspace import Progress, Workspace, locate_project, silent
from holdfast.system.clock import Clock

P = ParamSpec("P")
R = TypeVar("R")

NOTICE = "there is no store here: this was read from {files}, and nothing is recorded; `holdfast init` makes a store"


def open_workspace(
    directory: str | os.PathLike[str] = ".",
    *,
    clock: Clock | None = None,
    chance: Callable[[], str] = ids.make_mark,
    environ: Mapping[str, str] | None = None,
    progress: Progress = silent,
) -> Workspace:
    """The workspace of a directory: that of its repository, or of a project without one."""
    return Workspace(
        *locate_project(directory),
        clock=clock,
        chance=chance,
        environ=environ,
        progress=progress,
        clients=agents,
        rules_of=layouts.find_rules,
    )


class Preview(Workspace):
    """A workspace whose store and list of stores are temporary."""

    is_preview = True
    allows_broad = True

    def user_directory(self, kind: str) -> Path:
        return self.place.parent / kind if kind == "state" else super().user_directory(kind)

    def store_url(self, directory: Path) -> str:
        return str(directory)  # a preview never opens the project's own store


def previewed(function: Callable[Concatenate[Workspace, P], R]) -> Callable[Concatenate[Workspace, P], R]:
    """Decorator of verbs that only read: without a store, they work on a preview."""

    @functools.wraps(function)
    def call(workspace: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with readable(workspace) as found:
            return function(found, *args, **kwargs)

    return call


@contextlib.contextmanager
def readable(workspace: Workspace, *, noted: bool = True) -> Iterator[Workspace]:
    """The workspace itself; without a store, a preview of other systems' files in it, if there are any.

    A preview writes nothing into the project, its git directory or the user's own directories. `noted` adds a warning
    that nothing is recorded.
    """
    if workspace.exists or workspace.is_off or not (names := foreign_files(workspace)):
        yield workspace
        return
    import tempfile  # lazy, as below: slow to load, and a project without a store is rare

    from holdfast.ingest.catch_up import catch_up

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
    """The names of other systems' files in this worktree that hold runs."""
    return [name for layout in layouts.layouts() for name in layout.list_files(workspace)]
