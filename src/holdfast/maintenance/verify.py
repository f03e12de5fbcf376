"""Verify a store, read-only: its bytes, its rows and runs against their events, and its checkpoints."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.event_text import searchable
from holdfast.core.fold import run as fold
from holdfast.core.model import Checkpoint, Run
from holdfast.core.text import path_text
from holdfast.journal import backup_file, codec
from holdfast.journal.codec import event_of, row_of_checkpoint, row_of_run, row_of_session
from holdfast.journal.journal import Journal, is_ledger
from holdfast.journal.store import EventRow
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git import repository
from holdfast.system.git.repository import BLOB, TREE, PackIndex
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.reachability import kinds, missing, promised, reached, tips

LOST = "`holdfast checkpoints` names others; a backup of the repository may have it"
TIP = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64})\n")  # content of a ref, as git writes it
encode = msgspec.json.Encoder().encode
COPY = re.compile(r"[0-9]{8}-[0-9a-f]{64}")


class Problem(Struct):
    where: str
    what: str


class Proof(Struct):
    """Result for checkpoints; `promised` objects are those that a partial clone has not fetched yet."""

    problems: list[Problem]
    objects: int = 0
    promised: int = 0


def prove(workspace: Workspace, found: list[Checkpoint], deep: bool) -> Proof:
    """Check that the checkpoints of all worktrees are complete. Nothing is changed, and no lock is taken."""
    proof = Proof([])
    if not found:
        return proof
    shadow = Shadow(workspace.place, workspace.root, workspace.worktree)
    try:
        shadow.git.prepare()
        proof.problems += _parts(shadow, found)
        for worktree in sorted({made.worktree for made in found}):
            proof.problems += _shelves(workspace, worktree, [made for made in found if made.worktree == worktree])
        if deep:
            _read_everything(workspace, shadow, found, proof)
    except HoldfastError as error:
        said = "; ".join(f"{name} {value}" for name, value in error.facts)
        proof.problems.append(Problem("checkpoints", f"{error.message} ({said})"))
    except (ValueError, IndexError, struct.error) as error:  # a damaged pack or tree
        proof.problems.append(Problem("checkpoints", f"their objects cannot be read ({error})"))
    finally:
        shadow.close()
    return proof


def _parts(shadow: Shadow, found: list[Checkpoint]) -> Iterator[Problem]:
    there = kinds(shadow, {id for made in found for id in made.objects})
    for made in found:
        for name, id, kind in (("files", made.tree, TREE), ("metadata", made.beside, BLOB)):
            if there.get(id) != kind:
                yield Problem(made.id, f"its {name} ({id}) are missing; {LOST}")
        if made.staged and there.get(made.staged) != TREE:
            yield Problem(made.id, f"its staged files ({made.staged}) are missing; `holdfast restore` without --index")


def _shelves(workspace: Workspace, worktree: str, found: list[Checkpoint]) -> Iterator[Problem]:
    """Check that the ref that protects checkpoints from garbage collection names them all."""
    shadow = Shadow(workspace.place, workspace.root, worktree)
    try:
        object_store = shadow.object_store
        written = files.read(object_store.home / object_store.ref)
        if written is not None and not TIP.fullmatch(written):
            yield Problem(object_store.ref, "this ref of ours was altered")
        shelves = object_store.shelves()
        there = kinds(shadow, shelves.values())
    finally:
        shadow.close()
    for made in found:
        if there.get(shelves.get(made.number, "")) != TREE:
            yield Problem(made.id, f"{object_store.ref} does not name it, so `git gc` may remove what it needs")


def _read_everything(workspace: Workspace, shadow: Shadow, found: list[Checkpoint], proof: Proof) -> None:
    there = kinds(shadow, {id for made in found for id in made.objects} | set(tips(shadow).values()))
    lacking = missing(shadow, there)
    user_lacks = promised(shadow) if lacking else set()
    proof.promised = len(lacking & user_lacks)
    if lacking - user_lacks:
        proof.problems += _who_lacks(shadow, found, lacking - user_lacks)
    packed: set[str] = set()
    for path in shadow.object_store.packs():
        try:
            shadow.git.run("verify-pack", str(path))
            packed.update(PackIndex(path, shadow.git.form).names())
        except HoldfastError as error:
            proof.problems.append(Problem(path.name, f"this pack of ours is damaged: {dict(error.facts).get('said')}"))
    names = [id for id in reached(shadow, there) if id not in packed]
    proof.objects = len(names) + len(packed)
    proof.problems += _unsound(workspace, shadow, names)


def _who_lacks(shadow: Shadow, found: list[Checkpoint], lacking: set[str]) -> Iterator[Problem]:
    for made in found:
        lost = lacking & missing(shadow, kinds(shadow, made.objects))
        if lost:
            yield Problem(made.id, f"{len(lost)} of its objects are missing, such as {min(lost)}; {LOST}")


def _unsound(workspace: Workspace, shadow: Shadow, names: list[str]) -> Iterator[Problem]:
    """Report objects of the user's own that checkpoints need and whose content does not match their id."""
    form = shadow.git.form
    for number, id in enumerate(names, 1):
        data = shadow.reader.read(id)
        if data is not None and id not in (form.id_of(BLOB, data), form.id_of(TREE, data)):
            yield Problem(id, "this object is corrupt; `git fsck` says more")
        if number % 1000 == 0 or number == len(names):
            workspace.progress("reading objects", number, len(names))


# Runs


class Checked(Struct):
    runs: int = 0
    events: int = 0
    problems: list[Problem] = []


def check_runs(journal: Journal, told: Callable[[int, int], None]) -> Checked:
    """Fold every run from its first event, and check the pointers of worktrees."""
    found = Checked(problems=[])
    names = journal.view.all_run_ids()
    for number, id in enumerate(names, 1):
        found.runs += not is_ledger(id)
        try:
            found.events += _check_run(journal, id, found.problems)
        except Damaged as error:
            found.problems.append(Problem(id, error.message))
        told(number, len(names))
    for worktree, run in journal.view.pointers().items():
        if run not in names:
            found.problems.append(Problem(worktree, f"it points at run {run}, which does not exist"))
    return found


def _check_run(journal: Journal, id: str, problems: list[Problem]) -> int:
    """Fold a run from its first event and compare with everything stored about it. Returns the number of events."""
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
            problems.append(Problem(id, f"the snapshot at event {count} does not match the events"))
    if count == 0:
        problems.append(Problem(id, "it has no events"))
    for seq in journal.view.unsound_events(id):
        problems.append(Problem(id, f"event {seq} is corrupt"))
    if snapshots and max(snapshots) > count:
        problems.append(Problem(id, f"there is a snapshot at event {max(snapshots)}, but no such event"))
    problems += _compare(journal, run, uses)
    return count


def _compare(journal: Journal, run: Run, uses: set[bytes]) -> Iterator[Problem]:
    stored = journal.view.find_run(run.id)
    if stored and stored.fold == fold.VERSION:
        for name, expected in row_of_run(run, journal.clock.now())._asdict().items():
            if name != "key" and getattr(stored, name) != expected:
                yield Problem(run.id, f"the stored {name} does not match the events")
    if uses != journal.view.blob_uses(run.id):
        yield Problem(run.id, "the list of large values does not match the events")
    if is_ledger(run.id):
        made = {row_of_checkpoint(found) for found in journal.fold_checkpoints(run.id).values()}
        for id in {row.id for row in made.symmetric_difference(journal.view.list_checkpoints(run.worktree))}:
            yield Problem(id, "the stored checkpoint does not match the events")
    if stored and stored.fold != fold.VERSION:  # its sessions are refolded with it
        return
    folded = {row_of_session(session) for session in journal.fold_sessions(run.id).values()}
    for id in {row.id for row in folded.symmetric_difference(journal.view.list_sessions(run.id))}:
        yield Problem(id, "the stored session does not match the events")


def _sound_blob(journal: Journal, digest: bytes) -> bytes | None:
    data = journal.view.blob(digest)
    if data is not None and codec.digest_of(data) != digest:
        raise Damaged("A stored value has changed", [("hash", digest.hex())])
    return data


# Bytes


def files_of(workspace: Workspace) -> Iterator[Problem]:
    """Check the files of a store: database pages and log, copies of layout files, backups, the mark of our packs."""
    for text in workspace.store.verify(lambda done, total: workspace.progress("reading the database", done, total)):
        yield Problem("database", text)
    for path in damaged_files(workspace.place):
        yield Problem(path_text(path.relative_to(workspace.place)), "this copy is corrupt")
    yield from mark_problems(workspace.place)


def damaged_files(place: Path) -> Iterator[Path]:
    """Yield damaged copies of layout files, and damaged backups."""
    for path in sorted((place / "faces").glob("*/*")):
        if COPY.fullmatch(path.name) and not _is_copy(path):
            yield path
    for path in backup_file.list_backups(place):
        try:
            backup_file.read_archive(path, lambda _: None)
        except HoldfastError:
            yield path


def mark_problems(place: Path) -> Iterator[Problem]:
    mark = files.read(place / "git" / "keep", 64)
    if mark is not None and mark != repository.KEEP:
        yield Problem("git/keep", "the mark of our packs was altered")


def rows_of(journal: Journal) -> Iterator[Problem]:
    """Check the tables as such, and the search index."""
    for text in journal.view.schema_problems():
        yield Problem("database", text)
    forgotten: dict[str, set[int]] = {}

    def words(row: EventRow) -> str:
        if row.run not in forgotten:
            run = journal.find_run(row.run)
            forgotten[row.run] = set(run.forgotten) if run else set()
        return "" if row.seq in forgotten[row.run] else searchable(event_of(row, journal.view.blob))

    try:
        for text in journal.view.index_problems(words):
            yield Problem("search", text)
    except Damaged as error:  # the damaged run has a problem of its own
        yield Problem("search", f"the search index cannot be compared: {error.message}")


def _is_copy(path: Path) -> bool:
    try:
        data = files.read(path)
    except HoldfastError:
        return False
    return data is not None and files.digest(data) == path.name.partition("-")[2]
