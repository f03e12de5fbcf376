"""Purging a Go Team run from its files: those that we write go, and its entry in the registry, or they would bring it
back. What others put beside them stays, and is named. What the store remembers of the files is forgotten.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from holdfast.core import ids
from holdfast.core.errors import HoldfastError
from holdfast.core.model import Run
from holdfast.core.text import path_text
from holdfast.layouts.goteam import NAME, merge
from holdfast.layouts.goteam.files import FACES, SEEN, Edited, Shelf, Written, as_bytes, is_directory, root_of
from holdfast.layouts.goteam.reconcile import on_shelf
from holdfast.layouts.goteam.schema import REGISTRY
from holdfast.layouts.json_file import LIMIT, Unreadable, parse_face
from holdfast.layouts.memory import recall
from holdfast.layouts.shown_files import remove_shown
from holdfast.project.workspace import Workspace
from holdfast.system import files

ATTEMPTS = 5


def own_files(workspace: Workspace, run: Run) -> Iterator[str]:
    """The files that we write for a run of this worktree, from its root."""
    directory = root_of(workspace) / run.id
    if run.layout != NAME or run.worktree != workspace.worktree or not is_directory(directory):
        return
    points = [f"{kept.id}.json" for kept in run.standing.kept if kept.checkpoint and ids.is_safe(kept.id)]
    for name in (*FACES, *points):
        if os.path.lexists(directory / name):
            yield path_text((directory / name).relative_to(workspace.root))


def foreign_files(workspace: Workspace, run: Run) -> list[str]:
    """The directory of a run, in which others may have something."""
    return [path_text(Path(run.directory) / root_of(workspace).relative_to(workspace.root) / run.id)]


def purge(workspace: Workspace, run: str, shown: Iterable[str]) -> None:
    """Remove the files that show a run here, its entry in the registry, and what every worktree remembers of them."""
    root = root_of(workspace)
    if is_directory(root):
        with on_shelf(workspace) as shelf:  # or another process that has just read the journal would write them again
            ours = [path for path in shown if (workspace.root / path).parent == root / run]
            remove_shown(workspace, ours, lambda place: True)
            _leave_registry(shelf, run)
        with contextlib.suppress(OSError):  # it is not there, or others have something in it
            os.rmdir(root / run)
    for path in (workspace.here / "worktrees").glob(f"*/{SEEN}"):
        # safeguard: lock-team-in-purge
        with files.lock(path.with_name("team.lock"), workspace.settings.number("store.deadline")):
            files.put(path, msgspec.json.encode(_without(recall(path, Written), run)), synced=False)


def list_left(workspace: Workspace, run: str) -> list[str]:
    """What of the Go Team's files still names a run: its directory, the registry, and damaged ones that were kept."""
    root = root_of(workspace)
    if not is_directory(root):
        return []
    found = [root / run] if os.path.lexists(root / run) else []
    for path in sorted(root.glob(f"{REGISTRY}*")):
        with contextlib.suppress(HoldfastError):
            if run.encode() in (files.read(path, LIMIT, workspace.root) or b""):
                found.append(path)
    return [path_text(path) for path in found]


def _leave_registry(shelf: Shelf, run: str) -> None:
    path = shelf.root / REGISTRY
    for _ in range(ATTEMPTS):
        was_changed = shelf.is_changed(path)
        with contextlib.suppress(Edited):
            _rewrite(shelf, path, run)
            if was_changed:  # what somebody else said in it is still to be heard
                shelf.written.looks.pop(REGISTRY, None)
            return


def _rewrite(shelf: Shelf, path: Path, run: str) -> None:
    try:
        before = files.read(path, LIMIT, shelf.workspace.root)
        value = parse_face(path, before).value if before else {}
    except (Unreadable, HoldfastError):
        return
    if before and any(_is_of(item, run) for item in merge.sessions(value)):
        active = value.get("last_active_session")
        changed = merge.registry(value, (), None if active == run else active, {run})
        shelf.put_bytes(path, before, as_bytes(changed))


def _without(written: Written, run: str) -> Written:
    beside = {name: body for name, body in written.beside.items() if not name.startswith(f"{run}/")}
    if registry := beside.get(REGISTRY):
        listed = merge.sessions(registry)
        beside[REGISTRY] = {**registry, "sessions": [item for item in listed if not _is_of(item, run)]}
    return Written(
        {name: seq for name, seq in written.runs.items() if name != run},
        {name: look for name, look in written.looks.items() if not name.startswith(f"{run}/")},
        beside,
    )


def _is_of(item: object, run: str) -> bool:
    return isinstance(item, dict) and item.get("id") == run
