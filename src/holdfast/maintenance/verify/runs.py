"""Comparing everything that is stored about runs with what their events add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct

from holdfast.core.errors import Damaged
from holdfast.core.fold import run as fold
from holdfast.core.model import Run
from holdfast.journal import codec
from holdfast.journal.journal import LEDGER_PREFIX, Journal, is_ledger
from holdfast.journal.rows import event_of, row_of_checkpoint, row_of_run, row_of_session
from holdfast.maintenance.verify.checkpoints import Problem

encode = msgspec.json.Encoder().encode


class Checked(Struct):
    runs: int = 0
    events: int = 0
    problems: list[Problem] = []


def check_runs(journal: Journal, told: Callable[[int, int], None]) -> Checked:
    """Fold every run from its first event, and look at where each worktree points."""
    found = Checked(problems=[])
    names = journal.view.all_run_ids()
    for number, id in enumerate(names, 1):
        found.runs += not id.startswith(LEDGER_PREFIX)
        try:
            found.events += _check_run(journal, id, found.problems)
        except Damaged as error:
            found.problems.append(Problem(id, error.message))
        told(number, len(names))
    found.problems += _check_pointers(journal, set(names))
    return found


def _check_run(journal: Journal, id: str, problems: list[Problem]) -> int:
    """Fold a run from its first event and compare with all that is stored about it. Answers with its events."""
    snapshots = {found.seq: found for found in journal.view.snapshots(id)}
    uses: set[bytes] = set()
    run = Run(id=id)
    count = 0
    for row in journal.view.events(id):
        count += 1
        if row.seq != count:
            problems.append(Problem(id, f"event {count} is missing"))
            return count
        event = event_of(row, lambda digest: _sound_blob(journal, digest))
        uses |= codec.blobs_in(row.body)
        if event.kind in fold.REFOLDED:
            run = journal.fold(id, until=count)
        else:
            journal.apply(run, event)
        found = snapshots.get(count)
        if found and found.fold == fold.VERSION and found.state != encode(run):
            problems.append(Problem(id, f"the snapshot at event {count} is not what the events add up to"))
    if count == 0:
        problems.append(Problem(id, "it has no events"))
    for seq in journal.view.unsound_events(id):
        problems.append(Problem(id, f"event {seq} has changed since it was written"))
    if snapshots and max(snapshots) > count:
        problems.append(Problem(id, f"there is a snapshot at event {max(snapshots)}, but no such event"))
    problems += _compare(journal, run, uses)
    return count


def _compare(journal: Journal, run: Run, uses: set[bytes]) -> Iterator[Problem]:
    stored = journal.view.find_run(run.id)
    if stored and stored.fold == fold.VERSION:
        for name, expected in row_of_run(run, journal.clock.now())._asdict().items():
            if name != "key" and getattr(stored, name) != expected:
                yield Problem(run.id, f"the stored {name} is not what the events add up to")
    if uses != journal.view.blob_uses(run.id):
        yield Problem(run.id, "the list of large values is not what the events refer to")
    if is_ledger(run.id):
        made = {found.id: row_of_checkpoint(found) for found in journal.fold_checkpoints(run.id).values()}
        kept = {row.id: row for row in journal.view.list_checkpoints(run.worktree)}
        for id in made.keys() | kept.keys():
            if made.get(id) != kept.get(id):
                yield Problem(id, "the stored checkpoint is not what the events add up to")
    if stored and stored.fold != fold.VERSION:  # its sessions are brought up to date with it
        return
    folded = {session.id: row_of_session(session) for session in journal.fold_sessions(run.id).values()}
    rows = {row.id: row for row in journal.view.list_sessions(run.id)}
    for id in folded.keys() | rows.keys():
        if folded.get(id) != rows.get(id):
            yield Problem(id, "the stored session is not what the events add up to")


def _sound_blob(journal: Journal, digest: bytes) -> bytes | None:
    data = journal.view.blob(digest)
    if data is not None and codec.digest_of(data) != digest:
        raise Damaged("A stored value has changed", [("hash", digest.hex())])
    return data


def _check_pointers(journal: Journal, known: set[str]) -> Iterator[Problem]:
    for worktree, run in journal.view.pointers().items():
        if run not in known:
            yield Problem(worktree, f"it points at run {run}, which is not there")
