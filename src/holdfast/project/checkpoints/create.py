"""Creation of checkpoints: scan, write the objects, update the ref, then commit the event.

The event comes last, so a checkpoint in the journal is complete. Each worktree has a lock, which serialises them. While
a restore is unfinished, the worktree may be a mixture, which no automatic checkpoint should hold.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import Damaged, HoldfastError, Interrupted, Refused, from_os_error
from holdfast.core.fold.run import VISITING, record_of
from holdfast.core.model import Checkpoint, Draft, Reason, Restore, Run
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.project import inbox_writer
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import DIRECTORY, Entry
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import TreeMetadata
from holdfast.worktree.packs.object_store import MERGED, differing
from holdfast.worktree.scan import Limits, Scan

NAMED_CHANGES = 200  # changed paths in the record of a checkpoint
PATIENCE = 120.0  # seconds to wait for another checkpoint of this worktree
MEGABYTE = 1_000_000


@contextlib.contextmanager
def shadow_of(workspace: Workspace, patience: float = PATIENCE) -> Iterator[Shadow]:
    """Lock the worktree's shadow."""
    shadow = _shadow(workspace)
    shadow.make_directory()
    with files.lock(shadow.directory / "lock", patience):  # safeguard: lock-shadow
        shadow.prepare()
        yield shadow


def never_kept_any(workspace: Workspace) -> bool:
    """True if there can be no checkpoints, because a link has always been in their place."""
    return _shadow(workspace).never_kept_any()


def _shadow(workspace: Workspace) -> Shadow:
    return workspace.keep(Shadow, lambda: Shadow(workspace.place, workspace.root, workspace.worktree))


def make_checkpoint(
    workspace: Workspace,
    shadow: Shadow,
    *,
    run: Run | None = None,
    session: str | None = None,
    name: str | None = None,
    message: str | None = None,
    reason: Reason = Reason.ASKED,
    named: Iterable[bytes] | None = None,
    seen: Scan | None = None,
) -> tuple[Checkpoint, Scan]:
    """Make a checkpoint of the worktree as it is, or as it was `seen`. It is durable when this returns."""
    scan = look(workspace, shadow, named) if seen is None else seen
    staged = shadow.staging.tree(scan.memory, shadow.reader)
    if shadow.staging.is_damaged:
        workspace.warn(f"The repository's index is damaged, or leads elsewhere: {shadow.staging.way_out()}")
    object_store = shadow.object_store
    with workspace.reading() as journal:
        number = journal.view.last_checkpoint_number(workspace.worktree) + 1
        before = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
    changed = _changed_since(shadow, before, scan)
    beside = object_store.blob(scan.beside.encode())
    parts = {b"tree": Entry(DIRECTORY, b"", scan.tree), b"beside": beside}
    if staged:
        parts[b"staged"] = Entry(DIRECTORY, b"", staged)
    object_store.rely_on(shadow.staging.relied)  # safeguard: sync-borrowed-objects
    object_store.keep(number, parts)
    shadow.staging.relied.clear()
    head = shadow.repository.head()
    made = Checkpoint(
        id=ids.make("cp"),
        worktree=workspace.worktree,
        number=number,
        time=workspace.clock.now(),
        tree=scan.tree,
        beside=beside.id,
        kind=reason,
        name=name,
        message=message,
        run=run.id if run else None,
        session=session,
        seq=run.seq if run else None,
        directory=path_text(workspace.root),
        staged=staged,
        commit=head.commit,
        branch=head.branch,
        under_way=head.under_way,
        changed=[path_text(os.fsdecode(path)) for path in changed[:NAMED_CHANGES]],
        changes=len(changed),
        skipped=[path_text(os.fsdecode(path)) for path in scan.beside.skipped],
    )
    with workspace.writing() as journal:
        ledger = journal.ledger(workspace.worktree)
        body = {name: value for name, value in record_of(made).items() if name != "time"}
        journal.append(ledger.id, Draft("checkpoint.made", body, time=made.time))
    shadow.remember(scan)
    _look_after(workspace, shadow)
    return made, scan


def _changed_since(shadow: Shadow, before: Checkpoint | None, scan: Scan) -> list[bytes]:
    """Return the paths that differ from the previous checkpoint, even if the last scan was for something else."""
    if before is None or before.tree == scan.base:
        return scan.changed
    with contextlib.suppress(HoldfastError):  # objects of the previous one may be lost
        return sorted(found.path for found in differing(shadow.reader, before.tree, scan.tree, []))
    return scan.changed


def beside_of(shadow: Shadow, target: Checkpoint) -> TreeMetadata:
    data = shadow.reader.read(target.beside)
    if data is None:
        raise Damaged("A part of this checkpoint is missing", [("checkpoint", target.id)], ["`holdfast checkpoints`"])
    return TreeMetadata.decode(data)


def _look_after(workspace: Workspace, shadow: Shadow) -> None:
    """Merge packs if there are many, and warn if they are large."""
    sizes = shadow.known.kept.values()
    if len(sizes) >= MERGED:
        from holdfast.worktree.packs.prune import merge

        with contextlib.suppress(HoldfastError):  # merging only saves space; the next checkpoint retries
            merge(shadow)
    cap = workspace.settings.whole("store.cap")
    if sum(sizes) > cap * MEGABYTE:
        workspace.warnings.append(f"checkpoints take more than {cap:,} MB; `holdfast tidy` frees space")


def look(workspace: Workspace, shadow: Shadow, named: Iterable[bytes] | None = None) -> Scan:
    """Scan the worktree within the limits of the settings."""
    settings = workspace.settings
    limits = Limits(
        settings.whole("checkpoint.file_limit") * MEGABYTE,
        settings.whole("checkpoint.total_limit") * MEGABYTE,
        settings.text("checkpoint.filtered") == "keep",
    )
    return shadow.scan(limits, named, _included(workspace))


def _included(workspace: Workspace) -> list[bytes]:
    """Return the ignored files that match `checkpoint.include`."""
    found: list[bytes] = []
    for pattern in workspace.settings.words("checkpoint.include"):
        import glob  # slow to import, and rarely needed

        if not os.path.isabs(pattern) and ".." not in pattern.split("/"):
            names = glob.glob(pattern, root_dir=workspace.root, recursive=True, include_hidden=True)
            found += [os.fsencode(name) for name in names if not os.path.isdir(workspace.root / name)]
    return [name for name in found if not name.startswith((b".git/", b".holdfast/"))]


class Turn(Struct):
    """The run and the session that a checkpoint belongs to."""

    run: str
    session: str | None = None
    has_acted: Callable[[], bool] = lambda: True  # called after the scan; false: it made no changes


def keep_changes(
    workspace: Workspace,
    shadow: Shadow,
    reason: Reason,
    run: Run | None,
    *,
    session: Callable[[], str | None] = lambda: None,
    holds: Callable[[Checkpoint], bool] = lambda last: True,
) -> tuple[Checkpoint, bool]:
    """Return the checkpoint of the present worktree, and True if it is new. The last one is reused if `holds`."""
    with workspace.reading() as journal:
        last = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
    scan = look(workspace, shadow)
    if last is not None and last.tree == scan.tree and holds(last):
        return last, False
    return make_checkpoint(workspace, shadow, run=run, session=session(), reason=reason, seen=scan)[0], True


def keep_if_changed(workspace: Workspace, reason: Reason, turn: Turn | None = None) -> None:
    """Make a checkpoint if the worktree has changed, for a turn's run or the current one."""
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            if find_unfinished(journal, workspace):
                return
            run = journal.find_run(turn.run) if turn else select.current_run(journal, workspace.worktree)
        session = (lambda: turn.session if turn.has_acted() else None) if turn else (lambda: None)
        keep_changes(workspace, shadow, reason, run, session=session)


def keep_or_note(workspace: Workspace, reason: Reason, turn: Turn | None = None) -> None:
    """The same for a hook: a failure goes into the trouble file, which `status` shows."""
    try:
        keep_if_changed(workspace, reason, turn)
    except HoldfastError as error:
        inbox_writer.note_trouble(str(workspace.place), "checkpoint", reason, error)


def refuse_unfinished(journal: Journal, workspace: Workspace) -> None:
    if unfinished := find_unfinished(journal, workspace):
        raise _broken_off(unfinished, Refused)


def find_unfinished(journal: Journal, workspace: Workspace) -> Restore | None:
    ledger = journal.ledger_of(workspace.worktree)
    return ledger.unfinished if ledger else None


@contextlib.contextmanager
def telling_when_interrupted(workspace: Workspace) -> Iterator[None]:
    """Add to Ctrl-C and to an error in the middle of a restore that the worktree may be a mixture, and the remedies."""
    before = _unfinished_now(workspace)
    try:
        yield
    except KeyboardInterrupt:
        unfinished = _unfinished_now(workspace)
        if unfinished is None:
            raise
        raise _broken_off(unfinished, Interrupted) from None
    except (HoldfastError, OSError) as error:
        try:
            unfinished = None if before else _unfinished_now(workspace)
        except HoldfastError:  # the store cannot be read either: the first error says more
            raise error from None
        if unfinished is None:
            raise
        told = from_os_error(error) if isinstance(error, OSError) else error
        left = _broken_off(unfinished, type(told))
        facts = [("because", told.message), *told.facts, *left.facts]
        raise type(told)(left.message, facts, [*left.hints, *told.hints]) from error


def _unfinished_now(workspace: Workspace) -> Restore | None:
    with workspace.reading() as journal:
        return find_unfinished(journal, workspace)


def _broken_off(unfinished: Restore, kind: type[HoldfastError]) -> HoldfastError:
    what, hints = "restore", ["`holdfast restore --continue` finishes it", "`holdfast restore --undo` takes it back"]
    if unfinished.verb == VISITING:
        what, hints = "bisect", ["`holdfast restore --continue`, or `--undo`: both lead back to where it began"]
    facts = [("to", unfinished.target), ("from", unfinished.before)]
    return kind(f"A {what} was interrupted, so the worktree may be a mixture", facts, hints)
