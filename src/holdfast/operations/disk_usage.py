"""Disk usage of each run."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.journal.journal import is_ledger
from holdfast.operations.runs import Limit
from holdfast.operations.verb import verb
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.quota import Room, cap_of, measure_usage
from holdfast.project.workspace import Workspace
from holdfast.worktree.packs.reachability import weigh


class Sized(Struct):
    """Bytes that one run alone uses."""

    run: str
    title: str
    status: str
    total: int
    events: int  # with the folded state
    values: int  # large values that no other run refers to
    checkpoints: int  # objects that no newer checkpoint of any run shares


class RunsSized(Struct):
    runs: list[Sized]  # largest first
    others: int  # bytes of runs that are not listed
    rest: dict[str, int]  # category of data that belongs to no run alone -> bytes
    room: Room  # the total of the runs, the others and the rest
    cap: int  # limit of the store, in bytes


@verb("runs --size", example="holdfast runs --size", changes=False)
def sizes(
    workspace: Workspace,
    *,
    limit: Limit = None,
) -> RunsSized:
    """List the disk usage of each run, largest first."""
    if limit is not None and limit < 1:
        raise WrongUsage("A list has at least one row", [("limit", limit)])
    weights = _weights(workspace)
    with workspace.reading() as journal:
        stored = {found.run: found for found in journal.view.run_sizes()}
        totals = Counter({run: found.total + weights[run] for run, found in stored.items() if not is_ledger(run)})
        listed = []
        for name, total in totals.most_common(limit or workspace.settings.whole("list.limit")):
            run, size = journal.get_run(name), stored[name]
            listed.append(Sized(name, run.title, run.status, total, size.events, size.values, weights[name]))
        shared = journal.view.shared_bytes()
    room = measure_usage(workspace)
    own = sum(found.total for run, found in stored.items() if not is_ledger(run))
    ledgers = sum(found.total for run, found in stored.items() if is_ledger(run))
    of_runs = sum(weights[run] for run in totals)
    rest = {
        "values that several runs share": shared,
        "records of checkpoints": ledgers,
        "indexes, search and free pages": room.journal - own - ledgers - shared,
        "checkpoints of no run, and packs": room.checkpoints - of_runs,
        "inbox": room.inbox,
        "copies and backups": room.copies,
        "put aside": room.aside,
        "caches": room.caches,
        "the rest": room.rest,
    }
    return RunsSized(listed, own + of_runs - sum(found.total for found in listed), rest, room, cap_of(workspace))


def _weights(workspace: Workspace) -> Counter[str]:
    """Return the bytes of each run's checkpoints that no newer one shares; the empty key is for those of no run."""
    with workspace.reading() as journal:
        made = list(journal.list_checkpoints())
    if not made:
        return Counter()
    with shadow_of(workspace) as shadow:
        roots = {found.id: [found.tree, *filter(None, [found.staged]), found.beside] for found in made}
        weights = weigh(shadow, roots)
    found_by_run: Counter[str] = Counter()
    for found in made:
        found_by_run[found.run or ""] += weights[found.id]
    return found_by_run
