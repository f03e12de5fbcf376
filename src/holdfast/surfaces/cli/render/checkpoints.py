"""Checkpoints: made, listed, compared; commands run at them; ways back to them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from holdfast.core.errors import DONE, Damaged
from holdfast.core.fold.run import interrupted
from holdfast.core.model import Reason, Restore
from holdfast.core.text import count, one_line
from holdfast.project.checkpoints.conflicts import describe_clashes
from holdfast.project.checkpoints.describe import ListedCheckpoint, told_lines, told_words
from holdfast.surfaces.cli.pager import page
from holdfast.surfaces.cli.render import View, listed, previews, renders, say
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line, coloured, when
from holdfast.system.clock import ago

if TYPE_CHECKING:
    from holdfast.operations import checkpoint, checkpoints, restore

SHOWN = 20  # rows of a list that is part of an answer
FILTERED = "checkpoint.filtered"
NAMES, PATH = 2, 40  # changed files that a list names, characters of each
WORDS = 80  # characters of a prompt in a list
LINES = ("added", "removed")
STAT_PATH, BAR = 60, 30  # columns of a diffstat: at most for a path, and for its bar


@renders
def said_made(found: checkpoint.Made, view: View) -> Said:
    made = found.checkpoint
    talk: list[Line] = [f"Kept {count(made.changes, 'changed file')} since the last checkpoint"]
    if found.files is not None:
        talk = [f"Kept {count(found.files, 'file')}: the first checkpoint of this worktree"]
    reasons = list(found.left_out.items())
    talk += [("warn", f"Not kept: {one_line(path)} ({why})") for path, why in reasons[:SHOWN]]
    if len(reasons) > SHOWN:
        talk.append(("warn", f"Not kept: {len(reasons) - SHOWN:,} more"))
    if found.filtered:
        talk.append(
            f"{len(found.filtered)} of them are behind a filter: `holdfast config set {FILTERED} keep` keeps them"
        )
    return Said(found, [made.id], talk)


@renders
def said_checkpoints(found: checkpoints.CheckpointsListed, view: View) -> Said:
    given = view.given
    if found.unfinished:
        view.workspace.warnings.append(interrupted(found.unfinished))
    every = bool(given.get("every"))
    by_run = len(found.runs) > 1
    rows = [
        [
            str(number),
            made.id,
            *([made.worktree] if every else []),
            ago(made.time),
            *([made.run or "-"] if by_run else []),
            _changed(made),
            _what(made),
        ]
        for number, made in enumerate(found.checkpoints, 1)
    ]
    talk = [f"There are more: `holdfast checkpoints --limit {10 * len(rows)}`"] if found.more else []
    if rows and not by_run:
        talk += [f"Of {run}: {one_line(title, WORDS)}" for run, title in found.runs.items()]
    narrowed = any(given.get(name) for name in ("asked", "run", "since", "until", "search"))
    none = _none(given.get("touching"), narrowed)
    columns = f"# checkpoint {'worktree ' * every}made {'run ' * by_run}changed what"
    return listed(found, columns, rows, talk, none=none)


def _what(made: ListedCheckpoint) -> str:
    """Its words, and why it was made where neither a turn nor a request was the reason."""
    is_usual = made.reason in (Reason.TURN, Reason.ASKED)
    return " ".join(filter(None, ["" if is_usual else f"({made.kind})", told_words(made, WORDS)]))


def _changed(made: ListedCheckpoint) -> str:
    """The first changed files, how many more there are, and the lines."""
    names = ", ".join(one_line(path, PATH) for path in made.changed[:NAMES])
    more = made.changes - len(made.changed[:NAMES])
    if not names:
        return f"{count(made.changes, 'file')}" if made.changes else ""
    return f"{names}{f' and {more:,} more' if more else ''}{told_lines(made)}"


def _none(touching: str | None, filtered: bool) -> str:
    if touching:
        return f"None of the checkpoints touched {one_line(os.path.relpath(touching))}"
    return "No checkpoint fits" if filtered else "No checkpoint yet: `holdfast checkpoint` makes one"


say({"results.Exported": lambda found: (found.path, f"sha256 {found.sha256}")})


@renders
def said_deleted(found: checkpoints.CheckpointDeleted, view: View) -> Said:
    made = found.checkpoint
    about = one_line(made.name or made.message or made.kind, 60)
    return Said(found, [made.id], [f"Deleted {made.id}: {about}", "`holdfast tidy` gives its space back"])


@renders
def said_validated(found: checkpoints.Validated, view: View) -> Said:
    rows = [f"{one.id}  {one_line('; '.join(one.problems)) or 'whole'}" for one in found.checkpoints]
    return Said(found, rows, code=DONE if found.whole else Damaged.code)


@renders
def said_differences(found: checkpoints.Diffed, view: View) -> Said:
    given = view.given
    state = [f"run: {line}" for line in found.state] if given.get("state") else []
    talk = [f"{one_line(path)} {how}" for path, how in found.left.items()]
    if not found.code:
        hint = "" if found.b else f"; `holdfast show {found.a} --diff` shows what it changed itself"
        talk.append(f"No file differs between {found.a} and {found.b or 'the worktree'}{hint}")
    if given.get("name_only"):
        return Said(found, [one_line(file.path) for file in found.files], talk)
    lines = list(diffstat(found.files))
    if not given.get("stat") and found.code:
        lines += ["", *coloured(found.code)]
    lines += ["", *state] if state and lines else state
    return Said(found, lambda: page(lines, str(view.workspace.root)), talk)


def diffstat(files: Sequence[checkpoints.FileChanged]) -> Iterator[Line]:
    """A line for each file, with its changed lines as a bar, and the sum; as `git diff --stat` shows it."""
    names = [one_line(f"{file.before} => {file.path}" if file.before else file.path) for file in files]
    shown = [name if len(name) <= STAT_PATH else f"…{name[1 - STAT_PATH :]}" for name in names]
    width = max(map(len, shown), default=0)
    most = max(((file.added or 0) + (file.removed or 0) for file in files), default=0)
    digits = len(str(most))
    for name, file in zip(shown, files, strict=True):
        if file.added is None or file.removed is None:
            yield f" {name.ljust(width)} | {'Bin'.rjust(digits)}"
            continue
        scale = min(1.0, BAR / most) if most else 1.0
        plus, minus = (max(1, round(number * scale)) if number else 0 for number in (file.added, file.removed))
        number = f" {name.ljust(width)} | {str(file.added + file.removed).rjust(digits)} "
        yield [("", number if plus or minus else number.rstrip()), ("good", "+" * plus), ("bad", "-" * minus)]
    if files:
        added, removed = (sum(number or 0 for number in (getattr(file, name) for file in files)) for name in LINES)
        yield f" {count(len(files), 'file')} changed, {added:,} added and {removed:,} removed lines"


@renders
def said_guarded(found: restore.Guarded, view: View) -> Said:
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


@renders
def said_bisected(found: restore.Bisected, view: View) -> Said:
    bad_one = found.first_bad
    label = one_line(bad_one.name or bad_one.message or bad_one.kind, 80)
    talk = [f"First bad of {found.tried} tried: {bad_one.id} ({label})"]
    return Said(found, [bad_one.id], [*talk, f"See what it changed: `holdfast diff {found.last_good.id} {bad_one.id}`"])


@renders
def said_restored(found: restore.Restored, view: View) -> Said:
    data = list(planned(found)) if found.dry_run else [found.to]
    return Said(found, data, list(summary(found)))


def planned(found: restore.Restored) -> Iterator[str]:
    """The planned change of each path."""
    return (f"{act.ljust(6)}  {one_line(path)}" for path, act in found.acts.items())


@previews
def preview(found: restore.Restored) -> Iterator[Line]:
    """The plan, shown before the question whether to go back."""
    yield from summary(found)
    lines = list(planned(found))
    yield from (f"  {line}" for line in lines[:SHOWN])
    if len(lines) > SHOWN:
        yield f"  and {len(lines) - SHOWN:,} more"


def summary(found: restore.Restored) -> Iterator[Line]:
    if found.undone:
        yield _undone(found.undone, found.undone_name, found.restore)
    yield _went(found)
    if found.event is not None and (found.restore or found.dry_run):
        later = f"{count(found.later_events, 'later event')} {'stays' if found.later_events == 1 else 'stay'}"
        yield f"The run {'would be' if found.dry_run else 'is'} back at event {found.event:,}; {later} in the journal"
    for path, place in found.moved_aside.items():
        yield ("warn", f"Was in the way: {one_line(path)}, which is now {one_line(place)}")
    for path in found.brought_back:
        yield f"Is in its place again: {one_line(path)}"
    for path, why in list(found.left.items())[:SHOWN]:
        yield ("warn", f"Not brought back: {one_line(path)} {why}")
    yield from (("warn", line) for line in describe_clashes(found.clashes))


def _undone(undone: Restore, name: str | None, again: Restore | None) -> str:
    """Which way back is taken back, so that nobody takes back an older one unawares."""
    if again and again.verb == "redo":
        return f"Redoing what was undone {when(undone.time)}"
    return f"Undoing: {undone.verb} to {one_line(name or undone.target, 60)} of {when(undone.time)}"


def _directories(found: restore.Restored) -> str:
    number = len(found.acts) - len(found.paths)
    return f" and {number:,} empty director{'y' if number == 1 else 'ies'}" if number else ""


def _went(found: restore.Restored) -> str:
    label = f"{found.to} ({one_line(found.name, 60)})" if found.name else found.to
    if found.dry_run:
        return f"Would change {count(len(found.paths), 'file')}{_directories(found)}"
    if found.restore is None:
        what = "the worktree is at" if found.event is None else "all is as in"
        return f"Nothing to do: {what} {label} already"
    done = f"{found.written:,} written, {found.removed:,} removed"
    if found.given_up:
        return f"All is as it was before it began: {done}"
    way = f"; `holdfast {found.taken_back_by}` takes it back" if found.taken_back_by else ""
    return f"Back at {label}: {done}{way}"
