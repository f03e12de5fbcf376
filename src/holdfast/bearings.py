"""Taking bearings: what git and the files show now, beside what the record believes of them.

The record believes its last checkpoint of the worktree. Whatever is otherwise now, somebody did without us.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from holdfast.checkpointing import look, shadow_of
from holdfast.errors import HoldfastError
from holdfast.model import Bearings, Checkpoint
from holdfast.repository import Head
from holdfast.restoring import differing
from holdfast.shadow import Shadow
from holdfast.text import count, path_text
from holdfast.workspace import Workspace

NAMED = 100  # files that are named
FEW = 5
COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")  # what stands in HEAD may be anything


def take_bearings(workspace: Workspace, patience: float) -> Bearings:
    """What git shows and where the record does not agree; waits no longer than `patience` for another look."""
    with workspace.reading() as journal:
        last = next(journal.list_checkpoints(workspace.worktree, limit=1), None)
    if last is None:  # the first look at a worktree takes its time, and there is nothing to compare with
        return Bearings(known=False)
    try:
        with shadow_of(workspace, patience) as shadow:
            head = shadow.head()
            tree = look(workspace, shadow).tree
            committed = _tree_of(shadow, head.commit)
            changes = _changed(shadow, committed, tree) if committed else []
            return Bearings(list(_disagreements(shadow, last, head, tree)), list(_named(changes)))
    except HoldfastError:  # somebody else looks right now, or git does not answer: nothing is claimed then
        return Bearings(known=False)


def _disagreements(shadow: Shadow, last: Checkpoint, head: Head, tree: str) -> Iterator[str]:
    if last.branch != head.branch:
        yield f"the last checkpoint was made on {_branch(last.branch)}; git is on {_branch(head.branch)} now"
    if last.commit != head.commit:
        yield _moved(shadow, last.commit, head.commit)
    if last.under_way != head.under_way:
        yield f"then {last.under_way or 'nothing'} was under way in git, now {head.under_way or 'nothing'}"
    changed = _changed(shadow, last.tree, tree)
    if changed:
        files = ", ".join(change.partition(" ")[2] for change in changed[:FEW])
        more = f" and {len(changed) - FEW:,} more" if len(changed) > FEW else ""
        yield f"{count(len(changed), 'file')} not as the last checkpoint {last.id} has them: {files}{more}"


def _branch(name: str | None) -> str:
    return f"branch {path_text(name)}" if name else "no branch"


def _moved(shadow: Shadow, then: str | None, now: str | None) -> str:
    """How HEAD came from one commit to another, as far as git can tell."""
    words = f"HEAD was at {(then or 'no commit')[:12]}, and is at {(now or 'no commit')[:12]} now"
    if not (then and now and COMMIT.fullmatch(then) and COMMIT.fullmatch(now)):
        return words
    try:
        gone, come = map(int, shadow.git.run("rev-list", "--left-right", "--count", f"{then}...{now}").split())
    except (HoldfastError, ValueError):  # a shallow clone, or a commit that is gone
        return words
    told = [f"{count(come, 'commit')} came"] if come else []
    told += [f"{count(gone, 'commit')} no longer in it"] if gone else []
    return f"{words}: {', '.join(told)}" if told else words


def _tree_of(shadow: Shadow, commit: str | None) -> str | None:
    data = shadow.reader.read(commit) if commit and COMMIT.fullmatch(commit) else None
    first = data.partition(b"\n")[0] if data else b""
    return first[5:].decode() if first.startswith(b"tree ") else None


def _changed(shadow: Shadow, then: str | None, now: str) -> list[str]:
    """`M path`, `A path`, `D path` for every file that differs, in order."""
    empty = shadow.git.form.id_of("tree", b"")
    found = differing(shadow.reader, now if now != empty else None, then if then != empty else None, [])
    return [
        f"{'A' if change.then is None else 'D' if change.now is None else 'M'} {path_text(os.fsdecode(change.path))}"
        for change in sorted(found, key=lambda change: change.path)
    ]


def _named(changes: list[str]) -> Iterator[str]:
    yield from changes[:NAMED]
    if len(changes) > NAMED:
        yield f"and {len(changes) - NAMED:,} more: `git status` names them"
