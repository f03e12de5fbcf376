"""How a run begins, rests and ends, and who works on it."""

from __future__ import annotations

from holdfast.core.model import Session
from holdfast.core.text import one_line
from holdfast.operations.lifecycle import Joined, Left, Settled, Switched
from holdfast.operations.start import Started
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


@renders(Settled)
def said_settled(found: Settled, view: View) -> Said:
    now = f"{found.run.id} is {found.run.status}" if found.changed else f"{found.run.id} was {found.run.status} already"
    return Said(found, [found.run.id], [f"{now}: {one_line(found.run.title, 80)}"])


@renders(Started)
def said_started(found: Started, view: View) -> Said:
    talk: list[Line] = [f"Started {found.run.id}: {one_line(found.run.goal, 80)}"]
    talk += [f"Paused {id}" for id in found.paused]
    talk += [f"Archived {id}" for id in found.archived]
    talk += [
        f"Could go on instead: `holdfast switch {run.id}`  {run.status}, {one_line(run.title, 60)}"
        for run in found.resumable
    ]
    if found.session:
        talk.append(told_session(found.session))
    return Said(found, [found.run.id], talk)


@renders(Switched)
def said_switched(found: Switched, view: View) -> Said:
    moved = [f"It moved here from {found.moved_from}"] if found.moved_from else []
    return Said(found, [found.run.id], [f"Now on {found.run.id}: {one_line(found.run.title, 80)}", *moved])


@renders(Joined)
def said_joined(found: Joined, view: View) -> Said:
    talk: list[Line] = [f"Joined {found.run.id}: {one_line(found.run.title, 80)}", told_session(found.session)]
    talk += [f"Taken over from {session.id}" for session in found.taken_from]
    talk += [f"Also on it: {session.id}" for session in found.others]
    return Said(found, [found.session.id], talk)


@renders(Left)
def said_left(found: Left, view: View) -> Said:
    return Said(found, [found.session.id], [f"Ended {found.session.id}" if found.changed else "It had ended already"])


def told_session(session: Session) -> str:
    return f"Its session is {session.id}; hand it on with `export HOLDFAST_SESSION={session.id}`"
