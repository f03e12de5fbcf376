"""Added and removed lines of checkpoints, counted by one git process when a list is shown, and never in a hook."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.model import Checkpoint
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.checkpoints.describe import ListedCheckpoint
from holdfast.project.workspace import Workspace
from holdfast.worktree.capture import Shadow

FILES_COUNTED = 5_000  # changed files of a list whose lines are counted
BINARY = "core.bigFileThreshold=1m"  # git takes larger files for binary, so counting their lines costs nothing
PATIENCE = 1.0  # seconds to wait for a checkpoint that is being made


class Lines(Struct, frozen=True):
    """The lines that a change added and removed; of binary files there are none."""

    added: int
    removed: int
    files: int = 0


def add_lines(workspace: Workspace, listed: list[ListedCheckpoint], before: dict[str, Checkpoint]) -> None:
    """Count the lines of the newest of these checkpoints; `before`: the one before each in its worktree."""
    wanted, files = [], 0
    for found in listed:
        files += found.changes
        if found.id in before and files <= FILES_COUNTED:
            wanted.append(found)
    if not wanted:
        return
    try:
        with shadow_of(workspace, PATIENCE) as shadow:
            counted = count_lines(shadow, [(before[found.id].tree, found.tree) for found in wanted])
    except (HoldfastError, OSError):  # a checkpoint is being made, or the store cannot be written
        return
    for found, lines in zip(wanted, counted, strict=True):
        if lines:
            found.added, found.removed = lines.added, lines.removed


def count_lines(shadow: Shadow, pairs: list[tuple[str, str]]) -> list[Lines | None]:
    """Count the lines that differ between two trees, for each pair, with one git process. None: it cannot be told."""
    if not pairs:
        return []
    found: dict[tuple[str, str], Lines] = {}
    asked = "".join(f"{before} {after}\n" for before, after in pairs)
    try:
        told = shadow.git.run("-c", BINARY, "diff-tree", "--stdin", "-r", "--numstat", "--no-renames",
                              "--no-ext-diff", "--no-textconv", input=asked.encode())  # fmt: skip
    except HoldfastError:  # objects of a checkpoint are lost: a list is no place to fail for that
        return [None] * len(pairs)
    key = ("", "")
    for line in told.decode("utf-8", "replace").splitlines():
        added, tab, rest = line.partition("\t")
        if not tab:  # the two trees, before their files
            before, _, after = line.partition(" ")
            key = (before, after)
            continue
        removed = rest.partition("\t")[0]
        known = found.get(key, Lines(0, 0))
        lines = (int(number) if number.isdecimal() else 0 for number in (added, removed))
        found[key] = Lines(known.added + next(lines), known.removed + next(lines), known.files + 1)
    return [found.get(pair, Lines(0, 0)) for pair in pairs]
