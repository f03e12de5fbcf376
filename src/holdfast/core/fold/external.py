"""Runs owned by another system: the content of its file, folded in.

Such a run has the status of its file. The one exception: if its process is gone, it is interrupted here until there is
new activity or a new status in the file.
"""

from __future__ import annotations

from typing import NoReturn

from holdfast.core.errors import Refused
from holdfast.core.fold.steps import ACTIVE, COMPLETED, FAILED, MOST_STEPS, PENDING
from holdfast.core.lifecycle import Move
from holdfast.core.model import Body, Event, Owned, Run, Status, Step, convert, text_of, texts_of
from holdfast.core.text import one_line

TOLD = "owner.told"
REMEMBERED = 20  # earlier digests that are recognized
STEP_STATUSES = {"in_progress": ACTIVE, "active": ACTIVE, "completed": COMPLETED, "failed": FAILED}


def told(run: Run, event: Event, body: Body) -> None:
    """Fold the content of the owner's file."""
    before = None if body.get("accepted") is True else run.owned
    digest = text_of(body.get("digest"))
    earlier = [*before.earlier, before.digest] if before else []
    sessions = texts_of(body.get("sessions"))
    known = dict.fromkeys([*before.lost, *before.sessions] if before else [])
    run.owned = Owned(
        path=text_of(body.get("path")),
        digest=digest,
        status=convert(body.get("status"), Status),
        word=text_of(body.get("word")),
        phase=text_of(body.get("phase")) or None,
        step=text_of(body.get("step")) or None,
        workflow=text_of(body.get("workflow")) or None,
        sessions=sessions,
        earlier=[other for other in earlier if other != digest][-REMEMBERED:],
        lost=[id for id in known if id not in sessions],
        is_older=digest in earlier[:-1] or (before is not None and before.is_older and digest == before.digest),
    )
    run.goal = text_of(body.get("goal")) or run.goal
    run.steps = list(_steps(body.get("phases")))
    _follow(run, before, event)


def _follow(run: Run, before: Owned | None, event: Event) -> None:
    """Follow a change of the owner's status; a repeated status does not override ours."""
    status = run.owned.status if run.owned else None
    if status is None or (before is not None and before.status is status) or run.status is status:
        return
    run.status, run.status_since, run.status_reason, run.evidence, run.cause = status, event.time, None, None, None


def moved(run: Run, move: Move) -> Status:
    """Return the status of an owned run after a move."""
    owned = run.owned.status if run.owned else None
    if move is Move.INTERRUPT and run.status is Status.ACTIVE:
        return Status.INTERRUPTED
    if move in (Move.ATTEND, Move.ACT, Move.RESUME) and run.status is Status.INTERRUPTED:
        return owned or Status.ACTIVE
    if move is Move.ABANDON and run.status.is_open:
        return Status.ABANDONED
    if move is Move.REOPEN and run.status is Status.ABANDONED:
        return owned or Status.ACTIVE
    return run.status


def said(owned: Owned) -> str:
    """Return the owner's file in one line."""
    parts = [owned.word or "no status"]
    parts += [f"{noun} {name}" for noun, name in (("phase", owned.phase), ("step", owned.step)) if name]
    return one_line(f"FABER says {', '.join(parts)}", 200)


def refuse_owned(run: Run, why: str) -> NoReturn:
    """Refuse a change that only the owner can make."""
    file = run.owned.path if run.owned else ""
    raise Refused(
        f"Run {run.id} is FABER's: {why}",
        [("status", run.owned.word if run.owned else run.status), ("file", file)],
        ["`/fractary-faber:workflow-status` in the client", "`holdfast abandon` only leaves it, and changes no file"],
    )


def _steps(phases: object) -> list[Step]:
    pairs = [pair for pair in phases if isinstance(pair, list) and len(pair) == 2] if isinstance(phases, list) else []
    return [
        Step(name, STEP_STATUSES.get(text_of(status), PENDING), planned=True)
        for name, status in pairs[:MOST_STEPS]
        if isinstance(name, str) and name
    ]
