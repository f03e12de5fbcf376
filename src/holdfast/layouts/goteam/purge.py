"""Remove the files of Go Team runs: all traces of a purged run, or the files of runs that ended long ago.

The registry's entry goes too, or it would bring the run back. Files of other programs stay, and are named.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path

from holdfast.core import ids
from holdfast.core.errors import HoldfastError
from holdfast.core.model import Draft, Run, Status
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.goteam import NAME, RECORD, files as own, merge
from holdfast.layouts.goteam.reconcile import open_files, reconcile
from holdfast.layouts.goteam.schema import REGISTRY
from holdfast.layouts.json_file import LIMIT, parse_json
from holdfast.layouts.memory import each_locked, recall, remember, remove_shown
from holdfast.project.workspace import Workspace
from holdfast.system import files

ATTEMPTS = 5
OVER = (Status.COMPLETED, Status.ABANDONED, Status.ABORTED)


def own_files(workspace: Workspace, run: Run) -> Iterator[str]:
    directory = own.root_of(workspace) / run.id
    if run.layout != NAME or run.worktree != workspace.worktree or not own.is_directory(directory):
        return
    points = [f"{kept.id}.json" for kept in run.standing.kept if kept.checkpoint and ids.is_safe(kept.id)]
    for name in (*own.FACES, *points):
        if os.path.lexists(directory / name):
            yield path_text((directory / name).relative_to(workspace.root))


def foreign_files(workspace: Workspace, run: Run) -> list[str]:
    return [path_text(Path(run.directory) / own.root_of(workspace).relative_to(workspace.root) / run.id)]


def purge(workspace: Workspace, run: str, shown: Iterable[str]) -> None:
    root = own.root_of(workspace)
    if own.is_directory(root):
        with open_files(workspace) as shelf:  # else a process that has just read the journal would write them again
            ours = [path for path in shown if (workspace.root / path).parent == root / run]
            remove_shown(workspace, ours, lambda place: True)
            _leave_registry(shelf, run)
        with contextlib.suppress(OSError):  # it is missing, or has files of other programs
            os.rmdir(root / run)
    for record in each_locked(workspace, RECORD):
        remember(record, _without(recall(record, own.Written), run))


def list_left(workspace: Workspace, run: str) -> list[str]:
    root = own.root_of(workspace)
    if not own.is_directory(root):
        return []
    found = [root / run] if os.path.lexists(root / run) else []
    for path in sorted(root.glob(f"{REGISTRY}*")):
        with contextlib.suppress(HoldfastError):
            if run.encode() in (files.read(path, LIMIT, workspace.root) or b""):
                found.append(path)
    return [path_text(path) for path in found]


def _leave_registry(shelf: own.SessionFiles, run: str) -> None:
    path = shelf.root / REGISTRY
    for _ in range(ATTEMPTS):
        was_changed = shelf.is_changed(path)
        with contextlib.suppress(own.Edited):
            _rewrite(shelf, path, run)
            if was_changed:  # the other program's edit is still to be ingested
                shelf.written.looks.pop(REGISTRY, None)
            return


def _rewrite(shelf: own.SessionFiles, path: Path, run: str) -> None:
    try:
        before = files.read(path, LIMIT, shelf.workspace.root)
        value = parse_json(path, before).value if before else {}
    except HoldfastError:
        return
    if before and any(_is_of(item, run) for item in merge.sessions(value)):
        active = value.get("last_active_session")
        changed = merge.registry(value, (), None if active == run else active, {run})
        shelf.put_bytes(path, before, own.as_bytes(changed))


def _without(written: own.Written, run: str) -> own.Written:
    beside = {name: body for name, body in written.beside.items() if not name.startswith(f"{run}/")}
    if registry := beside.get(REGISTRY):
        listed = merge.sessions(registry)
        beside[REGISTRY] = {**registry, "sessions": [item for item in listed if not _is_of(item, run)]}
    return own.Written(
        {name: seq for name, seq in written.runs.items() if name != run},
        {name: look for name, look in written.looks.items() if not name.startswith(f"{run}/")},
        beside,
    )


def _is_of(item: object, run: str) -> bool:
    return isinstance(item, dict) and item.get("id") == run


def clean_up(workspace: Workspace, days: int, keep: int, *, dry_run: bool) -> tuple[list[Run], int]:
    now = workspace.clock.now()
    with workspace.reading() as journal:
        over = [run for run in own.team_runs(journal, workspace.worktree) if run.status in OVER]
        newest, old = sorted(over, key=lambda run: run.status_since or now, reverse=True), now - timedelta(days=days)
        superfluous = [run for place, run in enumerate(newest) if place >= keep or (run.status_since or now) < old]
        gone = [run for run in superfluous if not _is_needed(workspace, journal, run)]
    if not dry_run:
        for run in gone:
            _remove(workspace, own.root_of(workspace) / run.id, run)
        with workspace.writing(for_session=False) as journal:
            for run in gone:
                journal.append(run.id, Draft("run.archived", {"path": "the journal"}))
        reconcile(workspace)
    return gone, len(over) - len(gone)


def _is_needed(workspace: Workspace, journal: Journal, run: Run) -> bool:
    """Return whether a run is current, has a pinned checkpoint, or one that only its files know."""
    if journal.view.pointer(workspace.worktree) == run.id:
        return True
    is_exported = any((own.root_of(workspace) / run.id / "exports").glob("*.tar.gz"))
    if any(kept.checkpoint is None for kept in run.standing.kept) and not is_exported:
        workspace.warn(f"{run.id} stays: only its files know its checkpoints; `*cp-export` puts them into an archive")
        return True
    return any(made.pinned for made in journal.list_checkpoints(run=run.id))


def _remove(workspace: Workspace, directory: Path, run: Run) -> None:
    """Remove our files of a run. Files of other programs and exports stay."""
    if not own.is_directory(directory):
        return
    shelf = own.SessionFiles(workspace)
    for name in (*own.FACES, *(f"{kept.id}.json" for kept in run.standing.kept)):
        if os.sep not in name and not (directory / name).is_symlink():
            shelf.discard(directory / name)
    with contextlib.suppress(OSError):
        os.rmdir(directory)
