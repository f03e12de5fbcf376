"""Thin out old checkpoints, and reclaim their space. Named, pinned and needed ones stay."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct, field

from holdfast.core.errors import HoldfastError, Trouble
from holdfast.core.model import Checkpoint, Draft
from holdfast.core.retention import Rules, plan_retention, still_needed
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.project.checkpoints.create import PATIENCE, never_kept_any, shadow_of
from holdfast.project.quota import Room
from holdfast.project.workspace import Workspace
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import prune, stored_bytes
from holdfast.worktree.packs.reachability import weigh


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


def tidy_checkpoints(workspace: Workspace, rules: Rules, *, dry_run: bool, thorough: bool, spares_open: bool) -> Tidied:
    """Drop checkpoints of this worktree, and of removed ones, that the retention rules exclude.

    If `thorough`, space that earlier drops left is searched for; with `spares_open`, all checkpoints of an open run
    stay, and not only its last.
    """
    workspace.store  # noqa: B018 - raises without a store, which the search for checkpoints would create
    if never_kept_any(workspace):
        return Tidied([], 0, dry_run, 0)
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            ended = _ended(workspace, shadow, journal)
            found = [made for made in journal.list_checkpoints() if made.worktree in {workspace.worktree, *ended}]
            needed = _needed(journal, found, spares_open)
        going = plan_retention(
            found, needed.keys(), workspace.clock.now(), rules, weights=_weights(shadow, found, rules), ended=ended
        )
        gone = {made.id for made in going}
        result = Tidied(
            [made.id for made in going], len(found) - len(going), dry_run, stored_bytes(shadow.object_store)
        )
        result.because = _because([made for made in found if made.id not in gone], needed)
        if dry_run or not (going or thorough):
            return result
        _drop(workspace, going)
        result.unknown = _take_off(workspace, shadow, found, gone)
    for worktree in sorted({made.worktree for made in going} & ended):
        other = Shadow(workspace.place, workspace.root, worktree)
        with other.locked(PATIENCE):  # safeguard: lock-gone-worktree
            result.unknown += _take_off(workspace, other, found, gone)
    return _give_back(workspace, result)


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
    return weigh(shadow, {made.id: [made.tree, *filter(None, [made.staged]), made.beside] for made in ordered})


def _because(staying: list[Checkpoint], needed: dict[str, str]) -> dict[str, int]:
    """Count why checkpoints stay despite the rules: the first reason of each counts."""
    reasons = ("pinned" if made.pinned else "named" if made.name else needed.get(made.id) for made in staying)
    return dict(Counter(filter(None, reasons)))


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
        return {id for made in journal.list_checkpoints() for id in (made.tree, made.beside, made.staged) if id}


def _give_back(workspace: Workspace, result: Tidied) -> Tidied:
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
    return result
