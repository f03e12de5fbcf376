"""Quarantined originals: files that `repair` found damaged, and stores that a backup has replaced.

A database that was repaired without loss is a second copy. Any other original may be the last copy of something, so it
stays for some time, then goes when space is needed, and only if the store that replaced it is intact. Files displaced
by a restore belong to the user, and are not among these.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from holdfast.core.errors import Busy, Damaged
from holdfast.core.text import count, format_date, path_text
from holdfast.project.quota import MEGABYTE, bytes_of
from holdfast.project.workspace import Workspace
from holdfast.system import files

PLACES = ("aside/journal-*", "aside/packs/*", "aside/copies/*", "backups/replaced-*.tar.gz")
MARK = "nothing-lost"  # file in the directory of a database all of whose events are in its replacement


class Original(NamedTuple):
    path: Path
    size: int
    since: datetime
    is_second_copy: bool


def list_originals(workspace: Workspace) -> list[Original]:
    """Return all originals, oldest first."""
    found = []
    for path in (path for place in PLACES for path in workspace.place.glob(place)):
        since = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
        found.append(Original(path, bytes_of(path), since, (path / MARK).is_file()))
    return sorted(found, key=lambda original: (original.since, original.path))


def remove_originals(workspace: Workspace, needed: int, dry_run: bool) -> tuple[list[str], int]:
    """Remove originals past their time, as space is needed. Returns their names and bytes."""
    patience = workspace.settings.number("store.deadline")
    kept, removed, freed = _kept_for(workspace), list[str](), 0
    if kept is None or needed <= 0:
        return removed, freed
    found, now = list_originals(workspace), workspace.clock.now()
    going = [original for original in found if not original.is_second_copy and now - original.since > kept]
    if not going or not (dry_run or _is_whole(workspace)):
        return removed, freed
    try:
        with files.lock(workspace.place / "repair.lock", patience):  # safeguard: lock-originals
            for original in going:
                if freed < needed:
                    removed.append(path_in_store(workspace, original))
                    freed += original.size
                    if not dry_run:
                        remove_original(original)
    except Busy:  # a repair may be reading them
        pass
    return removed, freed


def remove_original(original: Original) -> None:
    """Remove an original. The mark of a second copy is removed last, so that it survives a kill.

    The database sorts first: what a kill leaves has a new date, and stays as long as a new original.
    """
    if original.path.is_dir():
        for path in sorted(original.path.iterdir(), key=lambda path: (path.name == MARK, path.name)):
            files.remove(path)
        shutil.rmtree(original.path)
    else:
        files.remove(original.path)


def path_in_store(workspace: Workspace, original: Original) -> str:
    return path_text(original.path.relative_to(workspace.place))


def quarantine_notice(workspace: Workspace) -> str | None:
    """Return one line about the originals, and when they go."""
    found = list_originals(workspace)
    if not found:
        return None
    kept, size = _kept_for(workspace), sum(original.size for original in found)
    what = f"{count(len(found), 'original')} ({size / MEGABYTE:,.1f} MB) that `repair` or `restore-backup` put aside"
    if kept is None:
        return f"{what}: they stay, as `aside.keep_days` is 0"
    when = format_date(found[0].since + kept)
    return f"{what}: from {when} on the oldest go when room is needed, so copy away what you still need"


def _kept_for(workspace: Workspace) -> timedelta | None:
    """Return how long an original stays in any case; None: for good."""
    days = workspace.settings.whole("aside.keep_days")
    return timedelta(days=days) if days else None


def _is_whole(workspace: Workspace) -> bool:
    """Check every page of the database, and that they fit together."""
    try:
        problems = workspace.store.verify(lambda done, total: workspace.progress("reading pages", done, total))
        with workspace.reading() as journal:
            return not problems and not journal.view.problems()
    except Damaged:
        return False
