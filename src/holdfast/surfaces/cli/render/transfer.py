"""Runs that were exported or imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.text import count, one_line
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

if TYPE_CHECKING:
    from holdfast.operations import export, import_run

NAMED = 10


@renders
def said_exported(found: export.RunExported, view: View) -> Said:
    talk: list[Line] = [
        f"Exported {found.run}: {count(found.events, 'event')}, {count(found.checkpoints, 'checkpoint')}"
        + (f", {count(found.transcripts, 'transcript')}" if view.given.get("transcripts") else "")
    ]
    if found.raw:
        talk.append(("warn", "Nothing was redacted"))
    elif found.redacted:
        kinds = ", ".join(f"{number:,} of kind {kind}" for kind, number in sorted(found.redacted.items()))
        talk.append(f"Redacted: {kinds}")
    if found.left_out:
        talk.append(f"{count(found.left_out, 'checkpoint')} left out, with the code")
    if found.checkpoints and not found.raw:
        talk.append(("warn", "The code in it is as it was: code is never redacted; `--without-code` leaves it out"))
    talk += [("warn", f"Skipped {one_line(path)}: it cannot be read") for path in found.skipped[:NAMED]]
    return Said(found, [found.path], talk)


@renders
def said_imported(found: import_run.RunImported, view: View) -> Said:
    goal = one_line(found.goal, 80)
    talk: list[Line] = []
    if found.outcome == "known":
        talk.append(f"{found.run} has all its events already: {goal}")
    elif found.outcome == "extended":
        talk.append(f"Added {count(found.added, 'event')} to {found.run}: {goal}")
    else:
        talk.append(f"Imported {found.run}: {count(found.added, 'event')}: {goal}")
    if found.forked_from:
        parted = f"It was the same as {found.forked_from} up to event {found.forked_at}, and then went another way"
        talk.append(("warn", f"{parted}: {found.run} is a run of its own") if found.outcome == "forked" else parted)
    if found.checkpoints:
        talk.append(f"{count(found.checkpoints, 'checkpoint')} came along; `holdfast checkpoints` lists them")
    if found.left_out:
        talk.append(("warn", f"{count(found.left_out, 'checkpoint')} cannot be kept in this repository"))
    if found.redacted and found.outcome != "known":
        talk.append("Secrets were taken out of it before")
    talk += [f"Transcript: {one_line(file)}" for file in found.transcripts]
    return Said(found, [found.run], talk)


@renders
def said_conversations(found: import_run.Imported, view: View) -> Said:
    numbers = f"{count(found.prompts, 'prompt')}, {count(found.actions, 'action')}"
    imported = f"Imported {count(len(found.runs), 'run')} of {count(found.conversations, 'conversation')}: {numbers}"
    talk: list[Line] = [f"Nothing to import: {found.reason}" if found.reason else imported]
    if found.joined:
        talk.append(f"{count(len(found.joined), 'run')} that were there already learned something")
    if found.left:
        talk.append(f"{count(found.left, 'older conversation')} left: `holdfast import --claude --all` takes them too")
    if found.damaged:
        talk.append(("warn", f"{count(found.damaged, 'line')} could not be read; what stood there is not taken in"))
    talk += [("warn", f"Skipped {one_line(each.file)}: {each.reason}") for each in found.skipped[:NAMED]]
    if len(found.skipped) > NAMED:
        talk.append(("warn", f"and {len(found.skipped) - NAMED:,} more; `--json` names them"))
    return Said(found, found.runs, talk)
