"""Checkpoints: lists of them, what differs, what a command says at them."""

from __future__ import annotations

import os

from holdfast.core.errors import DONE, Damaged
from holdfast.core.fold.run import interrupted
from holdfast.core.text import one_line
from holdfast.operations.checkpoints import CheckpointDeleted, CheckpointsListed, Diffed, Exported, Validated
from holdfast.operations.guard import Bisected, Guarded
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.render.patch import coloured
from holdfast.surfaces.cli.runner import Said
from holdfast.system.clock import ago


@renders(CheckpointsListed)
def said_checkpoints(found: CheckpointsListed, view: View) -> Said:
    given = view.given
    if found.unfinished:
        view.workspace.warnings.append(interrupted(found.unfinished))
    if not found.checkpoints:
        return Said(found, talk=[_none(given.get("touching"), bool(given.get("asked") or given.get("run")))])
    worktree = ["worktree"] if given.get("every") else []
    rows = [
        [
            str(number),
            made.id,
            *([made.worktree] if given.get("every") else []),
            made.kind,
            ago(made.time),
            f"{made.changes:,}",
            about,
        ]
        for number, made in enumerate(found.checkpoints, 1)
        for about in [made.name or made.message or ""]
    ]
    talk = [f"There are more: `holdfast checkpoints --limit {10 * len(rows)}`"] if found.more else []
    return Said(
        found, lambda: terminal.table(["#", "checkpoint", *worktree, "kind", "made", "files", "what"], rows), talk
    )


def _none(touching: str | None, filtered: bool) -> str:
    if touching:
        return f"None of the checkpoints touched {one_line(os.path.relpath(touching))}"
    return "No checkpoint fits" if filtered else "No checkpoint yet: `holdfast checkpoint` makes one"


@renders(CheckpointDeleted)
def said_deleted(found: CheckpointDeleted, view: View) -> Said:
    made = found.checkpoint
    about = one_line(made.name or made.message or made.kind, 60)
    return Said(found, [made.id], [f"Deleted {made.id}: {about}", "`holdfast tidy` gives its space back"])


@renders(Validated)
def said_validated(found: Validated, view: View) -> Said:
    rows = [f"{one.id}  {one_line('; '.join(one.problems)) or 'whole'}" for one in found.checkpoints]
    return Said(found, rows, code=DONE if found.whole else Damaged.code)


@renders(Exported)
def said_exported(found: Exported, view: View) -> Said:
    return Said(found, [found.path], [f"sha256 {found.sha256}"])


@renders(Diffed)
def said_differences(found: Diffed, view: View) -> Said:
    talk = [f"run: {line}" for line in found.state]
    return Said(found, coloured(found.code), [*talk, *(f"{one_line(path)} {how}" for path, how in found.left.items())])


@renders(Guarded)
def said_guarded(found: Guarded, view: View) -> Said:
    if found.code == 0 and found.passed:
        talk = f"It passes; this state is kept as {found.passed.id}"
    elif found.restored and view.given.get("auto"):
        talk = f"It fails; back at {found.restored.to}. `holdfast undo` takes that back."
    elif found.restored:
        talk = "Back. `holdfast undo` takes that back."
    elif found.passed is None:
        talk = "It fails, and no checkpoint is known at which it passed."
    else:
        way = f"`holdfast restore {found.passed.id}`"
        talk = f"It fails. It passed at {found.passed.id}, {ago(found.passed.time)}: {way}"
    return Said(found, talk=[talk], code=found.code)


@renders(Bisected)
def said_bisected(found: Bisected, view: View) -> Said:
    bad_one = found.first_bad
    label = one_line(bad_one.name or bad_one.message or bad_one.kind, 80)
    talk = [f"First bad of {found.tried} tried: {bad_one.id} ({label})"]
    return Said(found, [bad_one.id], [*talk, f"See what it changed: `holdfast diff {found.last_good.id} {bad_one.id}`"])
