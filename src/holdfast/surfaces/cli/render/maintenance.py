"""The store's health: sweep, verify, repair, tidy, backup, delete; runs exported and imported; secrets found."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.core.errors import Damaged
from holdfast.core.text import count, one_line
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.render.details import told_troubles
from holdfast.surfaces.cli.render.runs import megabytes
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

if TYPE_CHECKING:
    from holdfast.maintenance import prune
    from holdfast.maintenance.purge import Purged
    from holdfast.maintenance.repair import repair
    from holdfast.operations import export, import_run, maintenance, scan_secrets

NAMED = 10


@renders
def said_swept(found: maintenance.Swept, view: View) -> Said:
    talk: list[Line] = [f"Took in {count(found.taken_in, 'call')}"]
    if found.set_aside:
        talk.append(("warn", f"{count(found.set_aside, 'call')} could not be read and went to inbox/aside"))
    talk += told_troubles(found.troubles)
    return Said(found, found.interrupted, [*talk, f"{count(len(found.interrupted), 'run')} found interrupted"])


@renders
def said_verified(found: maintenance.Verified, view: View) -> Said:
    seen = ", ".join(_seen(found))
    if damaged := [*found.problems, *found.faces]:
        data: list[Line] = [f"{problem.where}: {one_line(problem.what)}" for problem in damaged]
        told: list[Line] = [("bad", f"Damaged: {count(len(damaged), 'problem')} in {seen}")]
        told += ["`holdfast repair` mends what can be mended, and says what is lost"] if found.problems else []
        return Said(found, data, told, Damaged.code)
    talk: list[Line] = []
    if found.set_aside:
        talk.append(f"{count(found.set_aside, 'call')} that could not be read lie in inbox/aside")
    if found.unread:
        talk.append(("warn", f"{count(found.unread, 'call')} in the inbox cannot be read for the moment"))
    if found.promised:
        talk.append(f"{count(found.promised, 'object')} of yours are not fetched yet: this is a partial clone")
    return Said(found, [f"Whole: {seen}"], talk)


@renders
def said_repaired(found: maintenance.Repaired, view: View) -> Said:
    talk = list(_mended(found.store)) if found.store else []
    if found.path is None:
        mine = [f"Nothing to repair: {found.run} has no file that `repair` mends"] if found.run else []
        return Said(found, talk=[*talk, *mine])
    if found.source is None:
        talk.append("Taken as it is" if found.changed else "Nothing to repair: it is whole")
        return Said(found, [found.path], talk)
    talk.append(f"Put back from {found.source}")
    for made in found.files:
        talk.append(f"{made.path} is made anew: {one_line(made.why, 120)}. What stood there is now {made.aside}")
    if found.aside:
        talk.append(f"What stood there is now {found.aside}")
    talk += [("warn", f"Lost: {one_line(what, 200)}") for what in found.lost]
    return Said(found, [found.path], talk)


def _mended(store: repair.Mended) -> Iterator[Line]:
    if not store.changed:
        yield "The store is whole"
    for what in store.mended:
        yield f"Mended: {one_line(what, 200)}"
    for what in store.lost:
        yield "warn", f"Lost: {one_line(what, 200)}"
    if store.aside:
        yield f"The damaged database is kept in {store.aside} of the store"


def _seen(found: maintenance.Verified) -> Iterator[str]:
    yield count(found.runs, "run")
    yield count(found.events, "event")
    if found.checkpoints:
        yield count(found.checkpoints, "checkpoint")
    if found.objects:
        yield count(found.objects, "object")


@renders
def said_tidied(found: prune.Tidied, view: View) -> Said:
    return Said(found, found.dropped, list(_tidied(found)))


def _tidied(found: prune.Tidied) -> Iterator[Line]:
    word = "Would drop" if found.dry_run else "Dropped"
    yield f"{word} {count(len(found.dropped), 'checkpoint')}, {found.kept:,} stay"
    if found.because:
        reasons = ", ".join(f"{number:,} {why}" for why, number in found.because.items())
        yield f"Stay whatever the numbers say: {reasons}"
    removed = "Would remove" if found.dry_run else "Removed"
    if found.copies:
        yield f"{removed} {count(len(found.copies), 'backup')} that upgrades made"
    yield from (f"{removed} what was put aside: {one_line(name, 120)}" for name in found.aside)
    if found.thinned:
        thinned = "Would thin" if found.dry_run else "Thinned"
        yield f"{thinned} out the tool output of {count(len(found.thinned), 'run')}"
    if found.removed:
        yield f"{removed} {count(len(found.removed), 'run')} that had ended and were exported"
    if found.backups:
        yield f"{word} {count(len(found.backups), 'backup')} of state files whose runs ended long ago"
    if not found.dry_run:
        yield f"Gave back {megabytes(found.given_back)}"
    yield f"Taken: {megabytes(found.room.total)} of {megabytes(found.cap)}"
    if found.waiting:
        yield f"Git has just used {count(found.waiting, 'pack')}; what they hold can go in an hour"
    if found.unknown:
        yield ("warn", f"{count(found.unknown, 'state')} that the journal does not know are kept")


def _held(found: maintenance.BackedUp | maintenance.PutStoreBack) -> str:
    return f"{count(found.runs, 'run')}, {count(found.events, 'event')}, {count(found.checkpoints, 'checkpoint')}"


@renders
def said_backup(found: maintenance.BackedUp, view: View) -> Said:
    talk: list[Line] = [f"Kept and verified: {_held(found)}, in {megabytes(found.size)}"]
    if found.unread:
        talk.append(("warn", f"Without {count(len(found.unread), 'kept call')} that cannot be read for the moment"))
    return Said(found, [found.path], talk)


@renders
def said_put_back(found: maintenance.PutStoreBack, view: View) -> Said:
    talk: list[Line] = [f"Put back: {_held(found)}"]
    if found.before:
        way = f"`holdfast restore-backup {shlex.quote(found.before)}` takes this back"
        talk.append(f"What was there before is kept: {way}")
    if found.aside:
        later = "Somebody wrote after that was kept; the files as they were are"
        never = "No backup can be made of what was there before; its files are"
        talk.append(("warn", f"{later if found.before else never} in {found.aside} of the store"))
    return Said(found, [found.path], talk)


@renders
def said_deleted(found: maintenance.Deleted, view: View) -> Said:
    told = f"Deleted {count(found.events, 'event')}: {one_line(found.goal, 80)}"
    talk: list[Line] = [told if found.events else "Its events were deleted before"]
    return Said(found, [found.run], [*talk, *(_purged(found.run, found.purge) if found.purge else ())])


def _purged(run: str, found: Purged) -> Iterator[Line]:
    yield f"Purged, with {count(found.checkpoints, 'checkpoint')}; gave back {megabytes(found.freed)}"
    yield from (
        ("warn", f"Removed a copy of the store that may have held it: {one_line(path)}") for path in found.copies
    )
    yield from (("warn", f"Stays, for it is not ours: {one_line(path)}") for path in found.files)
    if found.set_aside:
        yield (
            "warn",
            f"{count(found.set_aside, 'call')} in inbox/aside could not be read: nobody knows whose they are",
        )
    if found.waiting:
        again = f"`holdfast delete {run} --purge --yes` in an hour finishes it"
        yield ("warn", f"Git has just used {count(found.waiting, 'pack')}, which may hold some of its code; {again}")


@renders
def said_scan(found: scan_secrets.Scanned, view: View) -> Said:
    data: list[Line] = [
        f"{one_line(secret.where, 300)}: {secret.kind}, {count(secret.length, 'character')}" for secret in found.secrets
    ]
    return Said(found, data, _scanned(found, of_files=view.given.get("target") is not None))


def _scanned(found: scan_secrets.Scanned, *, of_files: bool) -> list[Line]:
    looked = count(found.files, "file") if of_files else count(found.events, "event")
    number = len(found.secrets) + found.more
    talk: list[Line] = [f"Looked at {looked}"]
    if found.code is not None:
        talk.append(f"Looked at {count(found.code, 'file')} in {count(found.checkpoints, 'checkpoint')}")
    elif found.checkpoints:
        talk.append("The code in checkpoints was not looked at: `holdfast scan --code` does")
    if found.skipped:
        talk.append(f"{count(found.skipped, 'file')} skipped: no text, too large, or not to be read")
    if found.hidden:
        kinds = ", ".join(f"{times:,} of kind {kind}" for kind, times in found.hidden.items())
        talk.append(f"Hidden: {kinds}")
    if found.more:
        talk.append(f"{count(found.more, 'secret')} more, not listed")
    if not number:
        return [*talk, "Nothing that looks like a secret stands there as it is"]
    in_code = sum(secret.run is None for secret in found.secrets) if not found.files else 0
    if in_code:
        talk.append(("warn", f"{count(in_code, 'secret')} in the code of checkpoints, which is kept as it is"))
        number -= in_code
    if not number:
        return talk
    if found.files:
        return [*talk, ("warn", f"{count(number, 'secret')} would be hidden")]
    run = next((secret.run for secret in found.secrets if secret.run), "RUN")
    way = f"`holdfast export {run} FILE`, `holdfast delete {run} --purge`, then `holdfast import FILE`"
    return [*talk, ("warn", f"{count(number, 'secret')} stored as they are, by an older version: {way} hides them")]


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
