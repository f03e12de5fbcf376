"""Limits that hold by themselves: what the store may take, and what goes first when it takes more.

At the cap, second copies of the store go first, then what the tools of ended runs gave, the oldest before all; then
runs that were exported; then originals that have lain aside long enough; then checkpoints. What is open, pinned,
named, in use or unknown stays, and recording goes on, with a warning. It happens where nobody waits: after a turn,
when a look at the sizes of files says so, and once in a while anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from holdfast.core.model import Run
from holdfast.core.retention import Rules, why_run_stays
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal, is_ledger
from holdfast.layouts.registry import present
from holdfast.maintenance.prune.checkpoints import Tidied, tidy_checkpoints
from holdfast.maintenance.prune.output import thin_out
from holdfast.maintenance.repair.quarantine import Original, list_originals, name_of, remove_original, remove_originals
from holdfast.project.quota import Last, cap_of, has_outgrown, last_tidied, measure_usage, note_tidied
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace
from holdfast.system import files

FRESH = timedelta(days=7)
AIM = 0.9  # of the cap, so that not every turn has something to do


def hold(workspace: Workspace) -> Tidied | None:
    """Tidy where that is due, or where the store has outgrown its cap; nobody waits for this."""
    last, now, room = last_tidied(workspace), workspace.clock.now(), measure_usage(workspace)
    every = workspace.settings.number("tidy.every")
    is_due = bool(every) and (last.time is None or now - last.time > timedelta(hours=every))
    if not is_due and not has_outgrown(workspace, room.total):
        return None
    note_tidied(workspace, Last(now, room.total))  # so that what fails is not tried after every turn
    thorough = room.total > cap_of(workspace)
    result = tidy_up(workspace, checkpoint_rules(workspace), thorough=thorough, spares_open=True)
    note_tidied(workspace, Last(now, result.room.total))
    return result


def checkpoint_rules(workspace: Workspace) -> Rules:
    """What the settings say."""
    settings = workspace.settings
    days, most = settings.whole("checkpoint.keep_days"), settings.whole("checkpoint.most")
    return Rules(oldest=timedelta(days=days) if days else None, most=most or None)


def tidy_up(
    workspace: Workspace, rules: Rules, *, dry_run: bool = False, thorough: bool = True, spares_open: bool = False
) -> Tidied:
    """Everything that can go: tool output, runs, checkpoints, in this order; then the space is given back.

    Checkpoints of open runs are thinned out only where somebody asks for it.
    """
    before, cap = measure_usage(workspace), cap_of(workspace)
    aim = int(AIM * cap) if before.total > cap else cap
    needed, old_output = before.total - aim, _ago(workspace, "output.keep_days")
    copies, aside, freed = _remove_copies(workspace, needed, dry_run)
    thinned = thin_out(workspace, older_than=old_output, until_freed=needed - freed, dry_run=dry_run)
    removed, more = _remove_runs(workspace, needed - freed - thinned.freed, dry_run)
    freed += thinned.freed + more
    old, more = remove_originals(workspace, needed - freed, dry_run)
    if rules.bytes is None:
        rules.bytes = max(0, aim - (before.total - before.checkpoints - freed - more))
    result = tidy_checkpoints(workspace, rules, dry_run=dry_run, thorough=thorough, spares_open=spares_open)
    result.copies, result.thinned, result.removed, result.cap = copies, thinned.runs, removed, cap
    result.aside = [*aside, *old]
    ended = [path for layout in present(workspace) for path in layout.list_old_copies(workspace)]
    result.backups = [path_text(path.relative_to(workspace.root)) for path in ended]
    if not dry_run:
        for path in ended:
            files.remove(path)
        workspace.store.shrink(lambda done, total: workspace.progress("giving space back", done, total))
    result.room = measure_usage(workspace)
    result.given_back = max(0, before.total - result.room.total)
    return result


def _remove_copies(workspace: Workspace, needed: int, dry_run: bool) -> tuple[list[str], list[str], int]:
    """Remove second copies of the store, oldest first, as room is needed: backups that upgrades made, and databases of
    which a repair lost nothing. The newest stays for a week."""
    backups, aside, freed = list[str](), list[str](), 0
    found = sorted(_second_copies(workspace), key=lambda copy: (copy.since, copy.path))
    for copy in found:
        is_young = workspace.clock.now() - copy.since < FRESH
        if freed >= needed or (copy == found[-1] and is_young):
            break
        if copy.path.parent.name == "backups":
            backups.append(path_text(copy.path.name))
        else:
            aside.append(name_of(workspace, copy))
        freed += copy.size
        if not dry_run:
            remove_original(copy)
    return backups, aside, freed


def _second_copies(workspace: Workspace) -> Iterator[Original]:
    for path in (workspace.here / "backups").glob("format-*"):
        about = path.stat()
        yield Original(path, about.st_size, datetime.fromtimestamp(about.st_mtime, UTC), True)
    yield from (original for original in list_originals(workspace) if original.is_second_copy)


def _remove_runs(workspace: Workspace, needed: int, dry_run: bool) -> tuple[list[str], int]:
    """Remove runs that were exported, oldest first: those too old, then those too many, then as room is needed."""
    removed: list[str] = []
    freed = 0
    oldest, most = _ago(workspace, "run.keep_days"), workspace.settings.whole("run.most")
    with workspace.reading() as journal:
        candidates = sorted(
            (run for name in tombstones.list_exported(workspace.here) if (run := _removable(workspace, journal, name))),
            key=lambda run: (run.updated or workspace.clock.now(), run.id),
        )
        runs = [name for name in journal.view.all_run_ids() if not is_ledger(name)]
    for run in candidates:
        is_old = oldest is not None and run.updated is not None and run.updated < oldest
        if is_old or (most and len(runs) - len(removed) > most) or freed < needed:
            removed.append(run.id)
            freed += _remove(workspace, run.id, dry_run)
    return removed, freed


def _remove(workspace: Workspace, run: str, dry_run: bool) -> int:
    """Remove a run, if it still may go; answers with the bytes of its events and values."""
    if dry_run:
        with workspace.reading() as journal:
            return _size(journal, run)
    with workspace.writing(for_session=False) as journal:
        if _removable(workspace, journal, run) is None:
            return 0
        size = _size(journal, run)
        conversations = {found.agent_session for found in journal.list_sessions(run) if found.agent_session}
        journal.delete(run)
    tombstones.note_deleted(workspace.here, run, conversations, msgspec.json.encode({"run": run}))
    return size


def _size(journal: Journal, run: str) -> int:
    return sum(found.total for found in journal.view.run_sizes(run))


def _removable(workspace: Workspace, journal: Journal, name: str) -> Run | None:
    run = journal.find_run(name)
    if run is None:
        return None
    is_pointed_at = run.id in journal.view.pointers().values()
    has_checkpoints = next(journal.list_checkpoints(run=run.id, limit=1), None) is not None
    in_use, exported = is_pointed_at or has_checkpoints, _exported(workspace, journal, name)
    return None if why_run_stays(run, journal.rules_of(run), exported, in_use) else run


def _exported(workspace: Workspace, journal: Journal, run: str) -> int:
    """The last event of a run that a file holds, if the run still has that very event; 0 where none does."""
    told = tombstones.find_exported(workspace.here, run)
    rows = journal.view.events(run, after=told.seq - 1, until=told.seq) if told else ()
    return next((row.seq for row in rows if told and row.id.hex() == told.event), 0)


def _ago(workspace: Workspace, key: str) -> datetime | None:
    days = workspace.settings.whole(key)
    return workspace.clock.now() - timedelta(days=days) if days else None
