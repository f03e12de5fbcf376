"""Originals that were put aside: what `repair` found damaged, and the stores that a backup has replaced.

A database of which repair lost nothing is a second copy. Any other original may hold the last copy of something, so it
stays for some time whatever happens, then goes when room is needed, and only if the store that took its place is whole.
What a restore moved aside belongs to the user, and is none of these.
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
MARK = "nothing-lost"  # in the directory of a database all of whose events are in the one that took its place


class Original(NamedTuple):
    path: Path
    size: int
    since: datetime
    is_second_copy: bool


def mark_second_copy(directory: Path) -> None:
    """Remember that nothing was lost when this database was replaced."""
    files.write(directory / MARK, b"")


def list_originals(workspace: Workspace) -> list[Original]:
    """All of them, the oldest first."""
    found = []
    for path in (path for place in PLACES for path in workspace.place.glob(place)):
        since = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
        found.append(Original(path, bytes_of(path), since, (path / MARK).is_file()))
    return sorted(found, key=lambda original: (original.since, original.path))


def remove_originals(workspace: Workspace, needed: int, dry_run: bool) -> tuple[list[str], int]:
    """Remove those that were kept long enough, as room is needed; answers with their names and bytes."""
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
                    removed.append(name_of(workspace, original))
                    freed += original.size
                    if not dry_run:
                        remove_original(original)
    except Busy:  # a repair may be looking into them
        pass
    return removed, freed


def remove_original(original: Original) -> None:
    """Remove one. Its mark goes last, so that what a kill leaves is still known for what it is.

    The database goes first, as its name sorts: what a kill leaves looks new, and stays as long as a new one would.
    """
    if original.path.is_dir():
        for path in sorted(original.path.iterdir(), key=lambda path: (path.name == MARK, path.name)):
            files.remove(path)
        shutil.rmtree(original.path)
    else:
        files.remove(original.path)


def name_of(workspace: Workspace, original: Original) -> str:
    return path_text(original.path.relative_to(workspace.place))


def told_of_originals(workspace: Workspace) -> str | None:
    """One line about what lies aside, and when it goes."""
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
    """How long an original stays whatever happens; None: for good."""
    days = workspace.settings.whole("aside.keep_days")
    return timedelta(days=days) if days else None


def _is_whole(workspace: Workspace) -> bool:
    """Whether every page of the database is as it was written, and all of them fit together."""
    try:
        problems = workspace.store.verify(lambda done, total: workspace.progress("reading pages", done, total))
        with workspace.reading() as journal:
            return not problems and not journal.view.problems()
    except Damaged:
        return False
