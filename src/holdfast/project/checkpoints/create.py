"""Making a checkpoint: look, write the objects, point the ref, then commit the event. In that order it is acknowledged.

Whoever makes one in a worktree holds that worktree's lock, so that there are never two at once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator

from holdfast.core import ids
from holdfast.core.errors import Damaged, HoldfastError
from holdfast.core.fold.run import record_of
from holdfast.core.model import Checkpoint, Draft, Reason, Run
from holdfast.core.text import path_text
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import DIRECTORY, Entry
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import TreeMetadata
from holdfast.worktree.packs.object_store import MERGED, differing
from holdfast.worktree.scan import Limits, Scan

NAMED_CHANGES = 200  # changed paths that a checkpoint's record names
PATIENCE = 120.0  # seconds to wait for another checkpoint of this worktree
MEGABYTE = 1_000_000


@contextlib.contextmanager
def shadow_of(workspace: Workspace, patience: float = PATIENCE) -> Iterator[Shadow]:
    """The worktree's shadow, for us alone."""
    shadow = _shadow(workspace)
    if not shadow.directory.exists():
        files.make_private_directory(shadow.directory.parent)
        files.make_private_directory(shadow.directory)
    with files.lock(shadow.directory / "lock", patience):  # safeguard: lock-shadow
        shadow.prepare()
        yield shadow


def never_kept_any(workspace: Workspace) -> bool:
    """Whether there is no checkpoint to look for, because a link has always stood where they would be kept."""
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
    """Keep the worktree as it is now, or as it was `seen` a moment ago. On disk when this returns."""
    scan = look(workspace, shadow, named) if seen is None else seen
    staged = shadow.staging.tree(scan.memory, shadow.reader)
    if shadow.staging.is_damaged:
        workspace.warn(f"The repository's index is damaged, or made to lead elsewhere: {shadow.staging.way_out()}")
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
    head = shadow.head()
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
    """What differs from the checkpoint before. The last look may have been another one, as the one after a restore."""
    if before is None or before.tree == scan.base:
        return scan.changed
    with contextlib.suppress(HoldfastError):  # some of the one before may be lost
        return sorted(found.path for found in differing(shadow.reader, before.tree, scan.tree, []))
    return scan.changed


def beside_of(shadow: Shadow, target: Checkpoint) -> TreeMetadata:
    """What a checkpoint keeps beside its tree."""
    data = shadow.reader.read(target.beside)
    if data is None:
        raise Damaged("A part of this checkpoint is missing", [("checkpoint", target.id)], ["`holdfast checkpoints`"])
    return TreeMetadata.decode(data)


def _look_after(workspace: Workspace, shadow: Shadow) -> None:
    """Keep packs few, and tell when they have become large."""
    sizes = shadow.known.kept_sizes()
    if len(sizes) >= MERGED:
        from holdfast.worktree.packs.prune import merge

        with contextlib.suppress(HoldfastError):  # merging only saves space; the next one tries again
            merge(shadow)
    cap = workspace.settings.whole("store.cap")
    if sum(sizes) > cap * MEGABYTE:
        workspace.warnings.append(f"checkpoints take more than {cap:,} MB; `holdfast tidy` gives room back")


def look(workspace: Workspace, shadow: Shadow, named: Iterable[bytes] | None = None) -> Scan:
    settings = workspace.settings
    limits = Limits(
        settings.whole("checkpoint.file_limit") * MEGABYTE,
        settings.whole("checkpoint.total_limit") * MEGABYTE,
        settings.values["checkpoint.filtered"].value == "keep",
    )
    return shadow.scan(limits, named, _included(workspace))


def _included(workspace: Workspace) -> list[bytes]:
    """The ignored files that the user wants kept too."""
    found: list[bytes] = []
    patterns = workspace.settings.words("checkpoint.include")
    if not patterns:
        return found
    import glob  # takes its time to load, and few need it

    for pattern in patterns:
        if not os.path.isabs(pattern) and ".." not in pattern.split("/"):
            names = glob.glob(pattern, root_dir=workspace.root, recursive=True, include_hidden=True)
            found += [os.fsencode(name) for name in names if not os.path.isdir(workspace.root / name)]
    return [name for name in found if not name.startswith((b".git/", b".holdfast/"))]
