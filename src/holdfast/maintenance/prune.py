"""Enforce the quota of the store, and evict what is over it.

Above the quota, second copies of the store go first, then tool output of ended runs, oldest first; then exported runs;
then quarantined originals; then checkpoints. Whatever is open, pinned, named, in use or unknown stays, and recording
goes on, with a warning. This runs in the background after a turn, if the sizes of files call for it or at an interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct, field

from holdfast.core.errors import HoldfastError, Trouble
from holdfast.core.model import Checkpoint, Draft, Run
from holdfast.core.retention import RAW, Rules, plan_retention, still_needed, why_output_stays, why_run_stays
from holdfast.core.text import path_text
from holdfast.journal import codec
from holdfast.journal.journal import Journal, is_ledger
from holdfast.journal.store import EventRow
from holdfast.layouts.registry import present
from holdfast.maintenance.repair import quarantine
from holdfast.maintenance.repair.quarantine import Original
from holdfast.project.checkpoints.create import PATIENCE, never_kept_any, shadow_of
from holdfast.project.quota import Last, Room, cap_of, has_outgrown, last_tidied, measure_usage, note_tidied
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import prune, stored_bytes
from holdfast.worktree.packs.reachability import weigh

FRESH = timedelta(days=7)
AIM = 0.9  # of the quota, so that not every turn evicts something


class Tidied(Struct):
    dropped: list[str]
    kept: int
    dry_run: bool
    stored: int  # bytes of our packs afterwards
    freed: int = 0
    waiting: int = 0  # packs that git has relied on in the last hour
    unknown: int = 0  # stored checkpoints that the journal does not know
    backups: list[str] = []  # of state files of runs that ended long ago
    because: dict[str, int] = {}  # why checkpoints stay despite the rules -> how many
    copies: list[str] = []  # backups of upgrades
    aside: list[str] = []  # damaged originals and replaced stores, by their paths in the store
    thinned: list[str] = []  # runs whose tool output was thinned out
    removed: list[str] = []  # exported runs that were too old, too many or too large
    given_back: int = 0  # bytes of the store in total
    cap: int = 0  # quota in bytes (`store.cap`)
    room: Room = field(default_factory=Room)  # sizes afterwards


def enforce_quota(workspace: Workspace) -> Tidied | None:
    """Tidy if that is due, or if the store is over its quota."""
    last, now, room = last_tidied(workspace), workspace.clock.now(), measure_usage(workspace)
    every = workspace.settings.number("tidy.every")
    is_due = bool(every) and (last.time is None or now - last.time > timedelta(hours=every))
    if not is_due and not has_outgrown(workspace, room.total):
        return None
    note_tidied(workspace, Last(now, room.total))  # so that a failing eviction is not retried after every turn
    thorough = room.total > cap_of(workspace)
    result = tidy_up(workspace, checkpoint_rules(workspace), thorough=thorough, spares_open=True)
    note_tidied(workspace, Last(now, result.room.total))
    return result


def checkpoint_rules(workspace: Workspace) -> Rules:
    """Return the retention rules of the settings."""
    settings = workspace.settings
    days, most = settings.whole("checkpoint.keep_days"), settings.whole("checkpoint.most")
    return Rules(oldest=timedelta(days=days) if days else None, most=most or None)


def tidy_up(
    workspace: Workspace, rules: Rules, *, dry_run: bool = False, thorough: bool = True, spares_open: bool = False
) -> Tidied:
    """Evict tool output, runs and checkpoints, in this order; then reclaim the space.

    Checkpoints of open runs are thinned out only on explicit request.
    """
    before, cap = measure_usage(workspace), cap_of(workspace)
    aim = int(AIM * cap) if before.total > cap else cap
    needed, result = before.total - aim, Tidied([], 0, dry_run, 0, cap=cap)
    freed = _remove_copies(workspace, needed, result)
    freed += _thin_out(workspace, needed - freed, result)
    freed += _remove_runs(workspace, needed - freed, result)
    old, more = quarantine.remove_originals(workspace, needed - freed, dry_run)
    result.aside += old
    if rules.bytes is None:
        rules.bytes = max(0, aim - (before.total - before.checkpoints - freed - more))
    _tidy_checkpoints(workspace, rules, result, thorough=thorough, spares_open=spares_open)
    ended = [path for layout in present(workspace) for path in layout.list_old_copies(workspace)]
    result.backups = [path_text(path.relative_to(workspace.root)) for path in ended]
    if not dry_run:
        for path in ended:
            files.remove(path)
        workspace.store.shrink(lambda done, total: workspace.progress("giving space back", done, total))
    result.room = measure_usage(workspace)
    result.given_back = max(0, before.total - result.room.total)
    return result


def _remove_copies(workspace: Workspace, needed: int, result: Tidied) -> int:
    """Remove second copies of the store, oldest first, as space is needed: backups of upgrades, and databases that were
    repaired without loss. The newest stays for a week. Returns the bytes.
    """
    freed = 0
    copies = [original for original in quarantine.list_originals(workspace) if original.is_second_copy]
    for path in (workspace.here / "backups").glob("format-*"):
        about = path.stat()
        copies.append(Original(path, about.st_size, datetime.fromtimestamp(about.st_mtime, UTC), True))
    found = sorted(copies, key=lambda copy: (copy.since, copy.path))
    for copy in found:
        is_young = workspace.clock.now() - copy.since < FRESH
        if freed >= needed or (copy == found[-1] and is_young):
            break
        if copy.path.parent.name == "backups":
            result.copies.append(path_text(copy.path.name))
        else:
            result.aside.append(quarantine.path_in_store(workspace, copy))
        freed += copy.size
        if not result.dry_run:
            quarantine.remove_original(copy)
    return freed


def _remove_runs(workspace: Workspace, needed: int, result: Tidied) -> int:
    """Remove exported runs, oldest first: those too old, then those too many, then as space is needed."""
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
        if is_old or (most and len(runs) - len(result.removed) > most) or freed < needed:
            result.removed.append(run.id)
            freed += _remove(workspace, run.id, result.dry_run)
    return freed


def _remove(workspace: Workspace, run: str, dry_run: bool) -> int:
    """Remove a run, if it still may go. Returns the bytes of its events and values."""
    with workspace.reading() if dry_run else workspace.writing(for_session=False) as journal:
        size = sum(found.total for found in journal.view.run_sizes(run))
        if dry_run:
            return size
        if _removable(workspace, journal, run) is None:
            return 0
        conversations = {found.agent_session for found in journal.list_sessions(run) if found.agent_session}
        journal.delete(run)
    tombstones.note_deleted(workspace.here, run, conversations, msgspec.json.encode({"run": run}))
    return size


def _removable(workspace: Workspace, journal: Journal, name: str) -> Run | None:
    run = journal.find_run(name)
    if run is None:
        return None
    is_pointed_at = run.id in journal.view.pointers().values()
    has_checkpoints = next(journal.list_checkpoints(run=run.id, limit=1), None) is not None
    told = tombstones.find_exported(workspace.here, name)
    exported = told.seq if told and tombstones.is_current(told, journal) else 0
    return None if why_run_stays(run, journal.rules_of(run), exported, is_pointed_at or has_checkpoints) else run


def _ago(workspace: Workspace, key: str) -> datetime | None:
    days = workspace.settings.whole(key)
    return workspace.clock.now() - timedelta(days=days) if days else None


# Tool output: events stay, and of their long texts only the sizes


def _thin_out(workspace: Workspace, needed: int, result: Tidied) -> int:
    """Thin out tool output of runs that are too old, then of more as space is needed. Returns the bytes.

    Each run is one transaction, in which it is checked once more.
    """
    freed, oldest = 0, _ago(workspace, "output.keep_days")
    with workspace.reading() as journal:
        names = journal.view.runs_with_output()
    for number, name in enumerate(names):
        with workspace.reading() as journal:
            run = journal.find_run(name)
            is_old = run is not None and oldest is not None and run.updated is not None and run.updated < oldest
        if not is_old and freed >= needed:
            break
        with workspace.reading() if result.dry_run else workspace.writing(for_session=False) as journal:
            changed = list(_changes(journal, name))
            if changed:
                result.thinned.append(name)
                freed += _freed(journal, name, changed)
            if changed and not result.dry_run:
                journal.replace_bodies(name, {row.seq: small for row, small in changed})
        workspace.progress("thinning out tool output", number + 1, len(names))
    return freed


def _changes(journal: Journal, name: str) -> Iterator[tuple[EventRow, bytes]]:
    """Yield the events of a run with long tool output, and their smaller bodies."""
    run = journal.find_run(name)
    if run is None or why_output_stays(run, journal.rules_of(run)):
        return
    for row in journal.view.events(run.id):
        if places := RAW.get(row.kind):
            small = codec.thin(row.body, places, journal.view.blob)
            if small is not None:
                yield row, small


def _freed(journal: Journal, run: str, changed: list[tuple[EventRow, bytes]]) -> int:
    """Return the bytes that smaller bodies save, and those of values that only these events refer to."""
    small = {row.seq: body for row, body in changed}
    going = {digest for row, _ in changed for digest in codec.blobs_in(row.body)}
    for row in journal.view.events(run) if going else ():
        going -= codec.blobs_in(small.get(row.seq, row.body))
    return sum(len(row.body) - len(body) for row, body in changed) + journal.view.stored_bytes(run, going)


# Checkpoints: named, pinned and needed ones stay


def _tidy_checkpoints(workspace: Workspace, rules: Rules, result: Tidied, *, thorough: bool, spares_open: bool) -> None:
    """Drop checkpoints of this worktree, and of removed ones, that the retention rules exclude.

    If `thorough`, space that earlier drops left is searched for; with `spares_open`, all checkpoints of an open run
    stay, and not only its last.
    """
    workspace.store  # noqa: B018 - raises without a store, which the search for checkpoints would create
    if never_kept_any(workspace):
        return
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            ended = _ended(workspace, shadow, journal)
            found = [made for made in journal.list_checkpoints() if made.worktree in {workspace.worktree, *ended}]
            needed = _needed(journal, found, spares_open)
        going = plan_retention(
            found, needed.keys(), workspace.clock.now(), rules, weights=_weights(shadow, found, rules), ended=ended
        )
        gone = {made.id for made in going}
        result.dropped, result.kept = [made.id for made in going], len(found) - len(going)
        result.stored = stored_bytes(shadow.object_store)
        staying = (made for made in found if made.id not in gone)
        reasons = ("pinned" if made.pinned else "named" if made.name else needed.get(made.id) for made in staying)
        result.because = dict(Counter(filter(None, reasons)))
        if result.dry_run or not (going or thorough):
            return
        _drop(workspace, going)
        result.unknown = _take_off(workspace, shadow, found, gone)
    for worktree in sorted({made.worktree for made in going} & ended):
        other = Shadow(workspace.place, workspace.root, worktree)
        with other.locked(PATIENCE):  # safeguard: lock-gone-worktree
            result.unknown += _take_off(workspace, other, found, gone)
    _give_back(workspace, result)


def _ended(workspace: Workspace, shadow: Shadow, journal: Journal) -> set[str]:
    """Return the removed worktrees that have checkpoints."""
    common = shadow.repository.common
    if common is None:
        return set()
    standing = {path_text(path.name) for path in (common / "worktrees").glob("*")}
    return {made.worktree for made in journal.list_checkpoints()} - standing - {".", workspace.worktree}


def _weights(shadow: Shadow, found: list[Checkpoint], rules: Rules) -> dict[str, int]:
    """Return the size of each checkpoint, newest first; only if all together are too large."""
    if rules.bytes is None or stored_bytes(shadow.object_store) <= rules.bytes:
        return {}
    ordered = sorted(found, key=lambda made: (made.time, made.number), reverse=True)
    return weigh(shadow, {made.id: made.objects for made in ordered})


def _needed(journal: Journal, found: list[Checkpoint], spares_open: bool) -> dict[str, str]:
    """Return the checkpoints that an undo, an unfinished restore or an open run needs, with the reason."""
    needed: dict[str, str] = {}
    for worktree in {made.worktree for made in found}:
        needed |= dict.fromkeys(still_needed(journal.ledger_of(worktree)), "needed by undo or redo")
    last_of_run: dict[str, Checkpoint] = {}
    for made in found:
        if made.run and (made.run not in last_of_run or made.number > last_of_run[made.run].number):
            last_of_run[made.run] = made
    open_runs = {run for run in last_of_run if (state := journal.find_run(run)) and state.status.is_open}
    if spares_open:
        return dict.fromkeys((made.id for made in found if made.run in open_runs), "of an open run") | needed
    return dict.fromkeys((last_of_run[run].id for run in open_runs), "the last of an open run") | needed


def _drop(workspace: Workspace, going: list[Checkpoint]) -> None:
    with workspace.writing() as journal:
        for worktree in sorted({made.worktree for made in going}):
            drafts = [Draft("checkpoint.dropped", {"id": made.id}) for made in going if made.worktree == worktree]
            journal.append(journal.ledger(worktree).id, *drafts)


def _take_off(workspace: Workspace, shadow: Shadow, found: list[Checkpoint], gone: set[str]) -> int:
    """Remove dropped checkpoints from the ref, including those of a killed run. Returns how many the journal does not
    know: these stay.
    """
    known = {made.number for made in found if made.worktree == shadow.worktree and made.id not in gone}
    surplus = shadow.object_store.numbers() - known
    if not surplus:
        return 0
    with workspace.reading() as journal:
        dropped = surplus & _dropped(journal, shadow.worktree)
    if dropped:
        shadow.object_store.drop(dropped)
    return len(surplus - dropped)


def _dropped(journal: Journal, worktree: str) -> set[int]:
    """Return the numbers of all checkpoints that a worktree's ledger lists as dropped."""
    ledger = journal.ledger_of(worktree)
    made: dict[str, int] = {}
    dropped: set[str] = set()
    for event in journal.events(ledger.id) if ledger else ():
        if event.kind == "checkpoint.made":
            made[str(event.body.get("id"))] = event.body.get("number", 0)
        elif event.kind == "checkpoint.dropped":
            dropped.add(str(event.body.get("id")))
    return {number for id, number in made.items() if id in dropped}


def named_objects(workspace: Workspace) -> set[str]:
    """Return the objects of the journal's checkpoints, whatever has become of our refs."""
    with workspace.reading() as journal:
        return {id for made in journal.list_checkpoints() for id in made.objects}


def _give_back(workspace: Workspace, result: Tidied) -> None:
    shadow = Shadow(workspace.place, workspace.root, workspace.worktree)
    try:
        pruned = prune(shadow, workspace.place, workspace.progress, named_objects(workspace))
    except HoldfastError as error:
        raise Trouble(
            "The space of dropped checkpoints could not be reclaimed",
            [("because", error.message), *error.facts],
            [*error.hints, "`git fsck`", "`holdfast tidy` tries again"],
        ) from error
    result.stored, result.freed, result.waiting = pruned.after, max(0, pruned.before - pruned.after), pruned.waiting
