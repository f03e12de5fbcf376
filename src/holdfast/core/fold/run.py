"""Fold of events into the state of a run and of a session.

`fold` is a pure function of a prefix of a run's events. An event of an unknown kind, or a move that the lifecycle
refuses, is counted and changes nothing: one odd event must not make a run unreadable.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from datetime import datetime

from msgspec import structs

from holdfast.core.errors import Refused
from holdfast.core.event_text import headline
from holdfast.core.fold import activity, external, steps, team
from holdfast.core.lifecycle import Move, Rules, RulesOf, native_rules, transition
from holdfast.core.model import (
    OPEN,
    Beginning,
    Body,
    Cause,
    Checkpoint,
    Decision,
    Draft,
    Ending,
    Environment,
    Event,
    Note,
    Process,
    Restore,
    Run,
    Session,
    Status,
    Task,
    convert,
    int_of,
    text_of,
    texts_of,
)

VERSION = 13  # of the fold; snapshots of another version are folded again

FORGOTTEN = "event.forgotten"
BLANK = "event.blank"
RETURNED = "run.returned"
REFOLDED = frozenset({FORGOTTEN, RETURNED})
OPENED = "session.opened"
ENDED = "session.ended"
TOLD_OF = "session.told"
BRIEFED = "brief.given"  # our own brief is no activity of the agent
FENCING = {Ending.DIED, Ending.TAKEN_OVER}

MOVES = {
    "run.resumed": Move.RESUME,
    "run.paused": Move.PAUSE,
    "run.interrupted": Move.INTERRUPT,
    "run.completed": Move.COMPLETE,
    "run.failed": Move.FAIL,
    "run.aborted": Move.ABORT,
    "run.abandoned": Move.ABANDON,
    "run.reopened": Move.REOPEN,
}
KIND_OF_MOVE = {move: kind for kind, move in MOVES.items()}
LETTERS = {"note.added": "n", "decision.made": "d", "task.added": "t"}
KEPT_RESTORES = 100
VISITING = "bisect"  # visits many checkpoints and returns: there is nothing to undo
STAYING = (  # what going back to an earlier state leaves as it is now
    *("seq", "updated", "worktree", "directory", "agents", "epoch", "sessions", "open_sessions", "last_session"),
    *("doing", "subagents", "forgotten", "unasked", "owned"),
)

CONVERSATION = "conversation"  # key of the conversation id in an event without a run


def fold(run: str, events: Iterable[Event], forgotten: Iterable[int] = (), rules_of: RulesOf = native_rules) -> Run:
    """Return the state of a run after all its events, without those forgotten by `forgotten` or by an event."""
    listed = list(events)
    state = Run(id=run)
    gone = {*forgotten, *(int_of(event.body.get("seq")) or 0 for event in listed if event.kind == FORGOTTEN)}
    for event in without(listed, gone):
        apply(state, event, rules_of)
        if event.kind == RETURNED:
            to = min(int_of(event.body.get("to")) or 0, event.seq - 1)
            then = fold(run, (found for found in listed if found.seq <= to), forgotten, rules_of)
            state = _gone_back(state, then, event)
    return state


def without(events: Iterable[Event], forgotten: Container[int]) -> Iterator[Event]:
    """Yield the events, with forgotten ones reduced to their kind."""
    for event in events:
        known = event.seq not in forgotten
        yield event if known else structs.replace(event, kind=BLANK, body={"kind": event.kind})


def apply(run: Run, event: Event, rules_of: RulesOf = native_rules) -> None:
    """Apply one event to a state. Those of `REFOLDED` change earlier events and need a new fold."""
    run.seq = event.seq
    run.updated = event.time if run.updated is None else max(run.updated, event.time)
    if event.agent and event.agent not in run.agents:
        run.agents.append(event.agent)
    handler = HANDLERS.get(event.kind)
    move = handler(run, event, event.body) if handler else None
    if event.kind == "step.started":
        team.began(run, event, rules_of(run.layout).agents)
    if move is not None:
        _move(run, event, move, rules_of(run.layout))


def apply_session(session: Session | None, event: Event) -> Session | None:
    """Apply one event to the record of its session."""
    if event.kind == OPENED:
        return _opened_session(event)
    if session is None:
        return None
    activity.measure_session(session, event)
    if event.kind in activity.SILENT:
        return session
    if event.kind == BRIEFED:
        session.brief = text_of(event.body.get("digest")) or None
        return session
    if event.kind == TOLD_OF:
        session.agent_session = text_of(event.body.get("agent_session")) or session.agent_session
        session.transcript = text_of(event.body.get("transcript")) or session.transcript
        return session
    if event.kind == ENDED:
        session.ended = convert(event.body.get("at"), datetime) or event.time
        session.how = Ending(text_of(event.body.get("how")))
        session.reason = text_of(event.body.get("reason")) or None
        session.fenced = session.how in FENCING
        session.followed_by = text_of(event.body.get("followed_by")) or None
        return session
    session.events += 1
    session.last_active = event.time
    if event.kind != "call.kept" or _is_activity(event.body):
        session.last_action = headline(event)
    return session


def entry_id(run: Run, kind: str) -> str:
    """Return the id of the next entry of this kind: `d1`, `t2`, `n3`."""
    return f"{LETTERS[kind]}{run.entries.get(LETTERS[kind], 0) + 1}"


def status_draft(
    move: Move, reason: str | None = None, evidence: str | None = None, cause: Cause | None = None
) -> Draft:
    """Return the event that records a lifecycle move."""
    body = {"reason": reason, "evidence": evidence, "cause": cause}
    return Draft(KIND_OF_MOVE[move], {key: value for key, value in body.items() if value})


def _blanked(run: Run, event: Event, body: Body) -> None:
    """Count a forgotten entry, so that its id is not reused."""
    if (kind := text_of(body.get("kind"))) in LETTERS:
        _entry(run, kind)


def _gone_back(now: Run, then: Run, event: Event) -> Run:
    """Return the earlier state with the current sessions. Ids given since are not reused."""
    return structs.replace(
        then,
        **{name: getattr(now, name) for name in STAYING},
        status=then.status if then.status.is_open and not now.owned else now.status,
        entries={letter: max(number, then.entries.get(letter, 0)) for letter, number in now.entries.items()},
        steps=now.steps if now.owned else then.steps,
        standing=team.gone_back(now, then, event),
    )


def _move(run: Run, event: Event, move: Move, rules: Rules) -> None:
    run.standing.saved = None
    try:
        after = external.moved(run, move) if run.owned else transition(run.status, move, rules)
    except Refused:
        return
    if after is not run.status:
        if move is Move.REOPEN and not run.owned and (before := text_of(event.body.get("status"))) in OPEN:
            after = Status(before)
        run.status, run.status_since = after, event.time
        run.status_reason = text_of(event.body.get("reason")) or None if event.kind in MOVES else None
        run.evidence = text_of(event.body.get("evidence")) or None
        run.cause = convert(event.body.get("cause"), Cause)


def _started(run: Run, event: Event, body: Body) -> None:
    run.goal = text_of(body.get("goal"))
    run.layout = text_of(body.get("layout")) or "native"
    run.mode = text_of(body.get("mode")) or None
    run.forked_from = text_of(body.get("forked_from")) or None
    run.forked_at = int_of(body.get("forked_at")) or 0 if run.forked_from else None
    run.unasked = body.get("unasked") is True
    _moved(run, event, body)
    run.created = run.status_since = event.time


def _settled(run: Run, event: Event, body: Body) -> Move:
    return MOVES[event.kind]


def _opened(run: Run, event: Event, body: Body) -> Move:
    session = event.session or ""
    activity.reset_context(run, body)
    activity.pass_on(run, session)
    run.sessions += 1
    run.last_session = session
    run.epoch = max(run.epoch, int_of(body.get("epoch")) or 0)
    run.open_sessions = [*(name for name in run.open_sessions if name != session), session]
    return Move.ATTEND


def _ended(run: Run, event: Event, body: Body) -> None:
    run.open_sessions = [name for name in run.open_sessions if name != event.session]


def _noted(run: Run, event: Event, body: Body) -> Move:
    run.notes.append(Note(_entry(run, event.kind), text_of(body.get("text")), event.time))
    return Move.TELL


def _decided(run: Run, event: Event, body: Body) -> Move:
    because = text_of(body.get("because")) or None
    run.decisions.append(Decision(_entry(run, event.kind), text_of(body.get("decision")), event.time, because))
    return Move.TELL


def _revoked(run: Run, event: Event, body: Body) -> None:
    for decision in run.decisions:
        if decision.id == body.get("entry"):
            decision.revoked = event.time
            decision.revoked_because = text_of(body.get("because")) or None


def _task_added(run: Run, event: Event, body: Body) -> Move:
    key = text_of(body.get("key")) or None
    if key is None or all(task.key != key for task in run.tasks):
        run.tasks.append(Task(_entry(run, event.kind), text_of(body.get("text")), event.time, key))
    return Move.TELL


def _task_done(run: Run, event: Event, body: Body) -> None:
    key = text_of(body.get("key"))
    for task in run.tasks:
        if task.id == body.get("entry") or (key and task.key == key):
            task.done = event.time
            task.outcome = text_of(body.get("outcome")) or None
            task.files = texts_of(body.get("files"))
    activity.touch(run, event, texts_of(body.get("files")))


def _task_dropped(run: Run, event: Event, body: Body) -> None:
    run.tasks = [task for task in run.tasks if task.id != body.get("entry")]


def _pinned(run: Run, event: Event, body: Body) -> None:
    if entry := run.pinnable.get(text_of(body.get("entry"))):
        entry.pinned = event.kind == "entry.pinned"


def _forgotten(run: Run, event: Event, body: Body) -> None:
    run.forgotten.append(int_of(body.get("seq")) or 0)


def _told(run: Run, event: Event, body: Body) -> Move:
    """Fold an event of an agent, a step or a team by the module of its subject."""
    TOLD[event.kind](run, event, body)
    return Move.TELL if event.kind in TELLING else Move.ATTEND if activity.is_reported(event) else Move.ACT


def _called(run: Run, event: Event, body: Body) -> Move | None:
    """Count a call. Presence alone (start, end, waiting) moves nothing."""
    run.calls += 1
    run.last_call = headline(event)
    return Move.ACT if _is_activity(body) else None


def _is_activity(body: Body) -> bool:
    """Return True if a stored call may be work: only generic agents' calls have a directory.

    Adapters turn work into events of its own, and store only the payload of other calls.
    """
    return "directory" in body and body.get("quiet") is not True


def _entry(run: Run, kind: str) -> str:
    """Return the next id. The body has it too, but only counting makes a duplicate impossible."""
    id = entry_id(run, kind)
    run.entries[id[0]] = int(id[1:])
    return id


def _opened_session(event: Event) -> Session:
    body = event.body
    return Session(
        id=event.session or "",
        run=event.run,
        opened=event.time,
        agent=event.agent,
        agent_session=text_of(body.get("agent_session")) or None,
        transcript=text_of(body.get("transcript")) or None,
        begun=Beginning(begun) if (begun := text_of(body.get("begun"))) else None,
        process=convert(body.get("process"), Process),
        environment=convert(body.get("environment"), Environment),
        epoch=int_of(body.get("epoch")) or 0,
        last_active=event.time,
    )


def _chosen(run: Run, event: Event, body: Body) -> None:
    run.unasked = False


def _renamed(run: Run, event: Event, body: Body) -> None:
    run.name = text_of(body.get("name")) or None


def _moved(run: Run, event: Event, body: Body) -> None:
    run.worktree = text_of(body.get("worktree")) or run.worktree
    run.directory = text_of(body.get("directory")) or run.directory


def _tagged(run: Run, event: Event, body: Body) -> None:
    removed = set(texts_of(body.get("removed")))
    run.tags = [tag for tag in run.tags if tag not in removed]
    run.tags += [tag for tag in dict.fromkeys(texts_of(body.get("added"))) if tag not in run.tags]


def _retold(run: Run, event: Event, body: Body) -> None:
    run.goal = text_of(body.get("goal")) or run.goal
    run.mode = text_of(body.get("mode")) or run.mode


def _archived(run: Run, event: Event, body: Body) -> None:
    run.archived = text_of(body.get("path")) or None


def record_of(checkpoint: Checkpoint) -> Body:
    """Return a checkpoint as stored, without empty fields."""
    return {name: value for name, value in structs.asdict(checkpoint).items() if value not in (None, "", [], False)}


def apply_checkpoint(checkpoint: Checkpoint | None, event: Event) -> Checkpoint | None:
    """Apply one event of a worktree's log to a checkpoint."""
    if event.kind == "checkpoint.made":
        return convert({**event.body, "time": event.time}, Checkpoint)
    if checkpoint is not None and event.kind in ("checkpoint.pinned", "checkpoint.unpinned"):
        return structs.replace(checkpoint, pinned=event.kind == "checkpoint.pinned")
    return checkpoint


def restore_began(run: Run, event: Event, body: Body) -> None:
    run.unfinished = convert(body.get("restore"), Restore)


def restore_ended(run: Run, event: Event, body: Body) -> None:
    """Make a restore undoable and an undo redoable; anything else clears the redo list."""
    restore = convert(body.get("restore"), Restore)
    run.unfinished = None
    if restore is None or body.get("given_up") or restore.verb == VISITING:
        return
    if restore.verb == "undo":
        run.undoable, run.redoable = run.undoable[:-1], [*run.redoable, restore]
    else:
        run.redoable = run.redoable[:-1] if restore.verb == "redo" else []
        run.undoable = [*run.undoable, restore][-KEPT_RESTORES:]


def checkpoint_dropped(run: Run, event: Event, body: Body) -> None:
    """Drop restores that need a removed checkpoint, and the ones behind them."""
    run.undoable, run.redoable = (_reachable(ways, body.get("id")) for ways in (run.undoable, run.redoable))


def needs(way: Restore, checkpoint: object) -> bool:
    """Return True if a restore starts or ends at this checkpoint."""
    return checkpoint in (way.before, way.target)


def _reachable(ways: list[Restore], dropped: object) -> list[Restore]:
    last = max((place for place, way in enumerate(ways) if needs(way, dropped)), default=-1)
    return ways[last + 1 :]


def interrupted(restore: Restore) -> str:
    """Return the warning about an unfinished restore."""
    if restore.verb == VISITING:
        return (
            "A bisect was interrupted, so the worktree may be a mixture: `holdfast restore --continue` and "
            "`holdfast restore --undo` both lead back to where it began"
        )
    return (
        f"A restore to {restore.target} was interrupted, so the worktree may be a mixture: "
        "`holdfast restore --continue` finishes it, `holdfast restore --undo` takes it back"
    )


TOLD = {**activity.HANDLERS, **steps.HANDLERS, **team.HANDLERS}
TELLING = {"step.planned", "error.met", *team.HANDLERS}
# Each returns the lifecycle move of its event, if any.
HANDLERS: dict[str, Callable[[Run, Event, Body], Move | None]] = {
    "run.started": _started,
    "run.chosen": _chosen,
    "run.renamed": _renamed,
    "run.moved": _moved,
    "run.tagged": _tagged,
    "goal.changed": _retold,
    "mode.chosen": _retold,
    "run.archived": _archived,
    **dict.fromkeys(MOVES, _settled),
    OPENED: _opened,
    ENDED: _ended,
    "note.added": _noted,
    "decision.made": _decided,
    "decision.revoked": _revoked,
    "task.added": _task_added,
    "task.done": _task_done,
    "task.dropped": _task_dropped,
    "entry.pinned": _pinned,
    "entry.unpinned": _pinned,
    FORGOTTEN: _forgotten,
    BLANK: _blanked,
    **dict.fromkeys(TOLD, _told),
    "call.kept": _called,
    "save.told": team.saved,
    external.TOLD: external.told,
    activity.MEASURED: activity.measured,
    "restore.began": restore_began,
    "restore.ended": restore_ended,
    "checkpoint.dropped": checkpoint_dropped,
}
