"""The Go Team's files as faces of the journal: what others put there is taken in, then ours are written, whole.

The registry can be lost: it is made again from the journal and from the directories of the sessions. The files are
never committed: a `.gitignore` among them says so.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from holdfast.core import ids
from holdfast.core.errors import Refused, Trouble
from holdfast.core.model import Draft, Run, Status
from holdfast.core.recovery import options, reason_of
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts.goteam import NAME, schema
from holdfast.layouts.goteam.external import take_all
from holdfast.layouts.goteam.files import (
    MOST,
    SHARED,
    Edited,
    Shelf,
    as_bytes,
    is_directory as is_directory,
    place_of,
    root_of as root_of,
    team_runs as team_runs,
)
from holdfast.layouts.goteam.recovery_options import list_ways
from holdfast.layouts.goteam.schema import MANIFEST, RECOVERY, ROLLBACKS, STATE, Around
from holdfast.project.drift import find_drift
from holdfast.project.sessions import is_silent, last_heard, live_sessions
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import Head, Repository

ATTEMPTS = 5
DIRECTORY = 0o755
PATIENCE = 3.0  # seconds for a look at what is not committed
LEFTOVER = re.compile(r"\.[^/]+\.json\.[0-9a-f]{12}")
ALWAYS = (STATE, MANIFEST, ROLLBACKS)


def reconcile(workspace: Workspace, *, saved: str | None = None) -> None:
    """Make the files and the journal say the same."""
    show_team(workspace)


def autosave(workspace: Workspace) -> None:
    """The same, and the current run's files are written in any case."""
    show_team(workspace, trigger="auto")


def show_team(workspace: Workspace, *, trigger: str | None = None) -> None:
    """Make the files and the journal say the same. With a trigger, the current run's are written in any case."""
    root = root_of(workspace)
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        name = path_text(root.relative_to(workspace.root))
        workspace.warn(f"{name} is not a directory, so the Go Team's files are not written")
        return
    with on_shelf(workspace) as shelf:
        show(shelf, trigger)


@contextlib.contextmanager
def on_shelf(workspace: Workspace) -> Iterator[Shelf]:
    """The files, for one of us at a time; what was written is remembered at the end."""
    place = place_of(workspace).parent
    for directory in (place.parent, place):
        files.make_private_directory(directory)
    with files.lock(place / "team.lock", workspace.settings.number("store.deadline")):  # safeguard: lock-team-files
        shelf = Shelf(workspace)
        try:
            yield shelf
        finally:
            shelf.save()


def show(shelf: Shelf, trigger: str | None = None) -> None:
    """Take in and write, until nobody else has written in between."""
    name = shelf.name(shelf.root)
    for _ in range(ATTEMPTS):
        take_all(shelf)
        if shelf.workspace.is_preview:
            return
        try:
            _write_all(shelf, trigger)
            return
        except Edited:
            continue
        except (Trouble, Refused, OSError) as error:  # what the user asked for is done; the next command writes them
            why = (error.strerror or "the system said no") if isinstance(error, OSError) else error.message
            shelf.workspace.warn(f"the Go Team's files in {name} could not be written: {why}")
            return
    shelf.workspace.warn(f"the files in {name} are written by somebody else all the time; ours will be written later")


def _write_all(shelf: Shelf, trigger: str | None) -> None:
    workspace, root, written = shelf.workspace, shelf.root, shelf.written
    with workspace.reading() as journal:
        runs, cleaned = team_runs(journal, workspace.worktree), _cleaned(journal, workspace.worktree)
        if not runs and not cleaned:  # a directory of this name may be anybody's
            return
        pointed = journal.view.pointer(workspace.worktree)
        active = [run for run in runs if run.status is Status.ACTIVE]
        heard = {run.id: _last_heard(workspace, journal, run) for run in active}
    _prepare(workspace, root)
    last = pointed if any(run.id == pointed for run in runs) else runs[-1].id if runs else None
    entries, head = [], Repository(workspace.root).head()
    for run in runs:
        around = _around(workspace, head, heard.get(run.id), trigger if run.id == pointed else None)
        if _is_stale(shelf, run) or around.trigger:
            _write_run(shelf, run, around)
            written.runs[run.id] = run.seq
            shelf.read_anew.discard(run.id)
        entries.append(schema.entry(run, around))
    shelf.put_registry(entries, last, cleaned)


def _is_stale(shelf: Shelf, run: Run) -> bool:
    """Whether a run's files are not what they should be: it went on, somebody changed one, or one is lost."""
    if shelf.written.runs.get(run.id) != run.seq or run.id in shelf.read_anew:
        return True
    return any(not os.path.lexists(shelf.root / run.id / name) for name in ALWAYS)


def _last_heard(workspace: Workspace, journal: Journal, run: Run) -> datetime | None:
    """The last action or auto-save of the processes that work on a run; None where none does."""
    alive = [session for session in live_sessions(journal, run.id) if not is_silent(workspace, session)]
    return max((last_heard(workspace, session) for session in alive), default=None)


def _cleaned(journal: Journal, worktree: str) -> set[str]:
    found, _ = journal.list_runs(RunQuery(worktree=worktree, layouts=frozenset({NAME}), limit=MOST))
    return {run.id for run in found if run.archived is not None}


def _prepare(workspace: Workspace, root: Path) -> None:
    """The directory, and in it the word that keeps all of it out of commits and of `git clean`."""
    files.make_directories(root, DIRECTORY, workspace.root)
    if not (root / ".gitignore").exists():
        files.write(root / ".gitignore", b"*\n", SHARED, workspace.root)


def _around(workspace: Workspace, head: Head, heard: datetime | None, trigger: str | None) -> Around:
    return Around(
        now=workspace.clock.now(),
        branch=path_text(head.branch) if head.branch else None,
        commit=head.commit,
        heard=heard,
        interval=workspace.settings.number("save.interval"),
        auto_resume=workspace.settings.values["recovery.auto_resume"].value == "on",
        trigger=trigger,
    )


def _write_run(shelf: Shelf, run: Run, around: Around) -> None:
    """The files of one run. Checkpoints come first, so that the live state is never older than they are."""
    directory = shelf.root / run.id
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        shelf.workspace.warn(f"{shelf.name(directory)} is not a directory, so the run's files are not written")
        return
    files.make_directories(directory, DIRECTORY, shelf.workspace.root)
    for name in os.listdir(directory):
        if LEFTOVER.fullmatch(name):  # of one of us who was killed; the lock is ours
            files.remove(directory / name, shelf.workspace.root)
    _write_points(shelf, directory, run)
    shelf.put(directory / MANIFEST, schema.manifest(run))
    shelf.put(directory / ROLLBACKS, schema.rollback_history(run))
    if (reason_of(run) is not None or run.status is Status.PAUSED) and run.status.is_open:
        bearings = find_drift(shelf.workspace, run, PATIENCE)
        around = msgspec.structs.replace(around, uncommitted=bool(bearings.uncommitted))
        shelf.put(directory / RECOVERY, schema.recovery(run, list_ways(shelf.workspace, run), around))
    elif run.standing.saved is None:  # else it is another program's file, about a session that is its own
        shelf.remove(directory / RECOVERY, schema.recovery(run, options(run), around))
    shelf.put(directory / STATE, schema.live(run, around))


def _write_points(shelf: Shelf, directory: Path, run: Run) -> None:
    for kept in run.standing.kept:
        path = directory / f"{kept.id}.json"
        if kept.checkpoint and ids.is_safe(kept.id) and not os.path.lexists(path):
            with shelf.workspace.reading() as journal:
                document = schema.point(kept, journal.run_at(run.id, kept.seq))
            shelf.put_bytes(path, None, as_bytes(document))


def note_cleaned(journal: Journal, run: Run) -> None:
    """A run whose files were cleaned up stays in the journal, and is shown in no file any more."""
    journal.append(run.id, Draft("run.archived", {"path": "the journal"}))
