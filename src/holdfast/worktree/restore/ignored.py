"""What a way back leaves alone because the checkpoint's own rules ignore it.

A file that is ignored is in no checkpoint. If the rules that ignore it are lost and then brought back by a restore, the
file looks like one that was created since; removing it would take away what the checkpoint never meant to hold.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from holdfast.system.git.command import Git, zsplit
from holdfast.worktree.capture import Shadow
from holdfast.worktree.restore.plan import Plan

RULES = b".gitignore"


def spare(shadow: Shadow, plan: Plan, tree: str) -> set[bytes]:
    """Take out of a plan the removals that the rules of a tree speak against; only where it brings other rules."""
    if not any(os.path.basename(change.path) == RULES for change in plan.changes):
        return set()
    going = {change.path for change in plan.changes if change.entry is None}
    spared = ignored_then(shadow, tree, sorted(going)) & going
    plan.changes = [change for change in plan.changes if change.path not in spared]
    return spared


def ignored_then(shadow: Shadow, tree: str, paths: Iterable[bytes]) -> set[bytes]:
    """Those of the paths that the rules in a tree ignore. Git is asked in a directory that holds these rules alone."""
    asked = list(paths)
    rules = {path: data for path in set(_rules_for(asked)) if (data := _content(shadow, tree, path)) is not None}
    if not rules:
        return set()
    with shadow.scratch() as place:
        for path, data in rules.items():
            full = os.path.join(os.fsencode(place), path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as file:
                file.write(data)
        there = Git(shadow.git.directory, place, shadow.git.objects, shadow.git.index, shadow.git.form)
        there.excludes = shadow.git.excludes
        listed = b"".join(path + b"\0" for path in asked)
        return set(zsplit(there.start("check-ignore", "-z", "--stdin", "--no-index").finish(listed, (1,))))


def _rules_for(paths: Iterable[bytes]) -> Iterator[bytes]:
    """Every file of rules that could speak about these paths."""
    for path in paths:
        while path:
            path = os.path.dirname(path)
            yield os.path.join(path, RULES)


def _content(shadow: Shadow, tree: str, path: bytes) -> bytes | None:
    entry = shadow.reader.find(tree, path)
    return shadow.reader.read(entry.id) if entry and not entry.is_tree else None
