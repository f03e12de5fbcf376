"""What each run takes on the disk."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.journal.journal import is_ledger
from holdfast.operations.parameters import option
from holdfast.operations.verb import verb
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.quota import Room, cap_of, measure_usage
from holdfast.project.workspace import Workspace
from holdfast.worktree.packs.reachability import weigh


class Sized(Struct):
    """What one run takes that nobody else needs, in bytes."""

    run: str
    title: str
    status: str
    total: int
    events: int  # with what they add up to
    values: int  # large ones that no other run refers to
    checkpoints: int  # what of them no newer checkpoint of any run has too


class RunsSized(Struct):
    runs: list[Sized]  # the largest first
    others: int  # bytes of runs that are not listed
    rest: dict[str, int]  # what belongs to no run alone -> bytes
    room: Room  # all of it: what the runs, the others and the rest add up to
    cap: int  # bytes that the store may take


@verb("runs --size", example="holdfast runs --size", changes=False)
def sizes(
    workspace: Workspace,
    *,
    limit: Annotated[int | None, option(least=1, most=10_000, metavar="N", help="At most N rows.")] = None,
) -> RunsSized:
    """What each run takes on the disk, the largest first."""
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
    """What the checkpoints of each run take that no newer one takes too; the key is empty for those of no run."""
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
