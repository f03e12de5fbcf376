"""The store's health: sweep, verify, repair, tidy, backup, delete."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from holdfast.core.errors import Damaged
from holdfast.core.text import count, one_line
from holdfast.maintenance.purge import Purged
from holdfast.operations.backup import BackedUp, PutStoreBack
from holdfast.operations.delete import Deleted
from holdfast.operations.maintenance import Mended, Repaired, Swept, Tidied, Verified
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.render.sizes import megabytes
from holdfast.surfaces.cli.render.troubles import told_troubles
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


@renders(Swept)
def said_swept(found: Swept, view: View) -> Said:
    talk: list[Line] = [f"Took in {count(found.taken_in, 'call')}"]
    if found.set_aside:
        talk.append(("warn", f"{count(found.set_aside, 'call')} could not be read and went to inbox/aside"))
    talk += told_troubles(found.troubles)
    return Said(found, found.interrupted, [*talk, f"{count(len(found.interrupted), 'run')} found interrupted"])


@renders(Verified)
def said_verified(found: Verified, view: View) -> Said:
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


@renders(Repaired)
def said_repaired(found: Repaired, view: View) -> Said:
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


def _mended(store: Mended) -> Iterator[Line]:
    if not store.changed:
        yield "The store is whole"
    for what in store.mended:
        yield f"Mended: {one_line(what, 200)}"
    for what in store.lost:
        yield "warn", f"Lost: {one_line(what, 200)}"
    if store.aside:
        yield f"The damaged database is kept in {store.aside} of the store"


def _seen(found: Verified) -> Iterator[str]:
    yield count(found.runs, "run")
    yield count(found.events, "event")
    if found.checkpoints:
        yield count(found.checkpoints, "checkpoint")
    if found.objects:
        yield count(found.objects, "object")


@renders(Tidied)
def said_tidied(found: Tidied, view: View) -> Said:
    return Said(found, found.dropped, list(_tidied(found)))


def _tidied(found: Tidied) -> Iterator[Line]:
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


@renders(BackedUp)
def said_backup(found: BackedUp, view: View) -> Said:
    held = f"{count(found.runs, 'run')}, {count(found.events, 'event')}, {count(found.checkpoints, 'checkpoint')}"
    talk: list[Line] = [f"Kept and verified: {held}, in {found.size / 1_000_000:,.1f} MB"]
    if found.unread:
        talk.append(("warn", f"Without {count(len(found.unread), 'kept call')} that cannot be read for the moment"))
    return Said(found, [found.path], talk)


@renders(PutStoreBack)
def said_put_back(found: PutStoreBack, view: View) -> Said:
    held = f"{count(found.runs, 'run')}, {count(found.events, 'event')}, {count(found.checkpoints, 'checkpoint')}"
    talk: list[Line] = [f"Put back: {held}"]
    if found.before:
        talk.append(
            f"What was there before is kept: `holdfast restore-backup {shlex.quote(found.before)}` takes this back"
        )
    if found.aside and found.before:
        talk.append(
            ("warn", f"Somebody wrote after that was kept; the files as they were are in {found.aside} of the store")
        )
    elif found.aside:
        talk.append(
            ("warn", f"No backup can be made of what was there before; its files are in {found.aside} of the store")
        )
    return Said(found, [found.path], talk)


@renders(Deleted)
def said_deleted(found: Deleted, view: View) -> Said:
    told = f"Deleted {count(found.events, 'event')}: {one_line(found.goal, 80)}"
    talk: list[Line] = [told if found.events else "Its events were deleted before"]
    return Said(found, [found.run], [*talk, *(_purged(found.run, found.purge) if found.purge else ())])


def _purged(run: str, found: Purged) -> Iterator[Line]:
    yield f"Purged, with {count(found.checkpoints, 'checkpoint')}; gave back {found.freed / 1_000_000:,.1f} MB"
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
