"""Drift: differences between the worktree and its last state in the journal.

That state is the last checkpoint, with what was restored since, and the files that the run's agent has written since.
All other differences were made without Holdfast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from holdfast.core.errors import HoldfastError
from holdfast.core.model import Bearings, Checkpoint, Run
from holdfast.core.text import count, path_text, unescape_path
from holdfast.project.checkpoints.create import look, shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system.git.repository import Head
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.object_store import differing

NAMED = 100  # files that are named
FEW = 5
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")  # HEAD may contain anything


def find_drift(workspace: Workspace, run: Run, patience: float) -> Bearings:
    """Compare the worktree with the journal; waits at most `patience` seconds for another scan."""
    with workspace.reading() as journal:
        shown = journal.rules_of(run).files
        last = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
        if last is None:  # there is nothing to compare with, and a first scan is slow
            return Bearings(known=False)
        # the restore for which the last checkpoint was made: the worktree is at its target, not at the checkpoint
        ledger = journal.ledger_of(last.worktree)
        ways = [*ledger.undoable[-1:], *ledger.redoable[-1:]] if ledger else []
        restored = next((way for way in ways if way.before == last.id and way.code), None)
        target = journal.find_checkpoint(restored.target) if restored and not restored.paths else None
    believed = target.tree if target else last.tree
    known = {path for path, time in run.files.items() if time > last.time}
    known |= {path_text(os.fsdecode(unescape_path(path))) for path in restored.paths} if restored else set()
    known |= set(shown)  # files in which a layout shows the run, which we and its system write
    known |= {run.owned.path + suffix for suffix in ("", ".backup", ".lock")} if run.owned else set()
    try:
        with shadow_of(workspace, patience) as shadow:
            head = shadow.repository.head()
            now = look(workspace, shadow).tree
            data = shadow.reader.read(head.commit) if head.commit and COMMIT.fullmatch(head.commit) else None
            first = data.partition(b"\n")[0] if data else b""
            committed = first[5:].decode() if first.startswith(b"tree ") else None
            since = workspace.hide(_changed(shadow, believed, now))  # redacted, as names are in the journal
            moved = _moved(shadow, last, head._replace(branch=workspace.hide(head.branch)))  # safeguard: hide-branch
            # safeguard: hide-changed-files
            uncommitted = workspace.hide(_changed(shadow, committed, now)) if committed else []
            more = len(uncommitted) - NAMED
            rest = [f"and {more:,} more: `git status` names them"] if more > 0 else []
            return Bearings([*moved, *_other_files(last, since, known)], uncommitted[:NAMED] + rest)
    except HoldfastError:  # another process is scanning, or git fails: the drift is unknown
        return Bearings(known=False)


def _moved(shadow: Shadow, last: Checkpoint, head: Head) -> Iterator[str]:
    if last.branch != head.branch:
        yield f"the last checkpoint was made on {_branch(last.branch)}; git is on {_branch(head.branch)} now"
    if last.commit != head.commit:
        yield _distance(shadow, last.commit, head.commit)
    if last.under_way != head.under_way:
        yield f"then {last.under_way or 'nothing'} was under way in git, now {head.under_way or 'nothing'}"


def _other_files(last: Checkpoint, changes: list[str], known: set[str]) -> Iterator[str]:
    changed = (change.partition(" ")[2] for change in changes)
    paths = [path for path in changed if not any(f"{path}/".startswith(f"{above}/") for above in known)]
    if paths:
        more = f" and {len(paths) - FEW:,} more" if len(paths) > FEW else ""
        yield f"{count(len(paths), 'file')} changed since the last checkpoint {last.id}: {', '.join(paths[:FEW])}{more}"


def _branch(name: str | None) -> str:
    return f"branch {path_text(name)}" if name else "no branch"


def _distance(shadow: Shadow, then: str | None, now: str | None) -> str:
    """Describe how HEAD moved, with the number of commits if git can count them."""
    words = f"HEAD was at {(then or 'no commit')[:12]}, and is at {(now or 'no commit')[:12]} now"
    if not (then and now and COMMIT.fullmatch(then) and COMMIT.fullmatch(now)):
        return words
    try:
        gone, come = map(int, shadow.git.run("rev-list", "--left-right", "--count", f"{then}...{now}").split())
    except (HoldfastError, ValueError):  # a shallow clone, or a missing commit
        return words
    told = [f"{count(come, 'commit')} came"] if come else []
    told += [f"{count(gone, 'commit')} no longer in it"] if gone else []
    return f"{words}: {', '.join(told)}" if told else words


def _changed(shadow: Shadow, then: str | None, now: str) -> list[str]:
    """Return `M path`, `A path` or `D path` for every file that differs, sorted."""
    empty = shadow.git.form.id_of("tree", b"")
    found = differing(shadow.reader, now if now != empty else None, then if then != empty else None, [])
    return [
        f"{'A' if change.then is None else 'D' if change.now is None else 'M'} {path_text(os.fsdecode(change.path))}"
        for change in sorted(found, key=lambda change: change.path)
    ]
