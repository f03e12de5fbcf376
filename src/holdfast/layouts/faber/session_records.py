"""FABER's session records and context metadata, by the rules of `docs/format.md`; no disk, no clock.

A record is one context window of an agent. A `Book` is made from a state, is changed, and returns the two members of
the state that are ours, with their unknown keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec import Struct

from holdfast.core.model import int_of, text_of, texts_of
from holdfast.core.text import one_line, parse_time, stamp
from holdfast.layouts.json_file import object_of, objects_of

FRESH = timedelta(minutes=5)
MOST = 2**53  # every JSON program can read counts below it
INTERRUPTED, COMPACTION = "interrupted", "compaction"
BEGINNING = "session_start"
UNREADABLE = "unreadable"
CUT = "compaction_detected"
WIDTH = 200  # of an id or a place in messages

State = dict[str, Any]


class Opening(Struct, frozen=True):
    now: datetime
    id: str  # of the record, if a new one is needed
    trigger: str = "manual"
    client: str | None = None  # the client's own name for its session
    source: str | None = None  # the beginning of the client's session: startup, resume, clear, compact
    by_hook: bool = False  # a hook acts for its own session only
    environment: State = {}
    worktree: str = ""  # its root directory
    phase: str | None = None
    step: str | None = None
    completed: tuple[str, ...] = ()  # phases of the run


class Entered(Struct):
    id: str
    is_new: bool
    closed: str | None = None  # the record that was closed first
    closed_because: str | None = None


class Left(Struct):
    """The record that was closed, or the reason why none was."""

    id: str | None
    why: str = ""  # none, already, other, elsewhere
    reason: str | None = None  # of the end; null: nothing was changed
    origin: str = ""  # host and directory, if they are other ones
    seconds: float | None = None
    ended_text: str = ""
    phases: list[str] = []
    artifacts: list[str] = []


def record_ids(state: State) -> list[str]:
    """The ids of all records of a state, as safe text."""
    sessions = state.get("sessions")
    history = sessions.get("session_history") if isinstance(sessions, dict) else None
    return [shown for record in objects_of(history) if (shown := _shown(record.get("session_id")))]


class Book:
    def __init__(self, state: State) -> None:
        self.sessions: State = _object(state.get("sessions"))
        self.context: State = _object(state.get("context_metadata"))
        _put_aside(self.sessions, "session_history", list)
        _put_aside(self.context, "artifacts_in_context", list, dict)
        _put_aside(self.context, "compaction_events", list)
        self.history: list[Any] = self.sessions.get("session_history") or []

    # Reading

    @property
    def current_id(self) -> str | None:
        found = self.sessions.get("current_session_id")
        return found if isinstance(found, str) and found else None

    def record(self, id: str | None) -> State | None:
        return next((record for record in reversed(self.records()) if id and record.get("session_id") == id), None)

    def records(self) -> list[State]:
        return objects_of(self.history)

    @property
    def open_record(self) -> State | None:
        """The record of the open session; it is created if the history lacks it."""
        id = self.current_id
        record = self.record(id)
        if record is None and id is not None:
            record = {"session_id": id}
            if started := self._begun():
                record["started_at"] = started
            self.history.append(record)
        return record if record is not None and not record.get("ended_at") else None

    def fresh_since(self, artifact: str, now: datetime) -> datetime | None:
        """The time at which an artifact was loaded into the open session, if it must still be in the context."""
        record = self.open_record
        if record is None or artifact not in texts_of(record.get("artifacts_loaded")):
            return None
        loaded = max((time for id, time in self._in_context() if id == artifact), default=None)
        started, cut = parse_time(record.get("started_at")), self.last_compaction
        if loaded is None or (started and loaded < started) or (cut and loaded <= cut):
            return None
        return loaded if timedelta(0) <= now - loaded < FRESH else None

    @property
    def last_compaction(self) -> datetime | None:
        events = self.context.get("compaction_events")
        found = [event.get("detected_at") for event in objects_of(events)] + [self.context.get("last_compaction")]
        return max((time for text in found if (time := parse_time(text))), default=None)

    @property
    def reloads(self) -> int:
        return int_of(self.context.get("reload_count"), 0, MOST - 1) or 0

    def _in_context(self) -> Iterable[tuple[str, datetime]]:
        found = self.context.get("artifacts_in_context")
        if isinstance(found, dict):
            pairs = [(id, value.get("loaded_at") if isinstance(value, dict) else value) for id, value in found.items()]
        else:
            pairs = [(entry.get("artifact_id"), entry.get("loaded_at")) for entry in objects_of(found)]
        return [(id, time) for id, text in pairs if isinstance(id, str) and id and (time := parse_time(text))]

    # Writing

    def enter(self, opening: Opening) -> Entered:
        """Open a session, or continue the open one."""
        record = self.open_record
        reason = _reason_to_close(record, opening) if record is not None else None
        if record is not None and reason is None:
            if opening.client and not record.get("agent_session_id"):
                record["agent_session_id"] = opening.client
            self._count()
            return Entered(_shown(record["session_id"]), is_new=False)
        if record is not None:
            self._close(record, reason or INTERRUPTED, opening)
        new: State = {"session_id": opening.id, "started_at": stamp(opening.now)}
        if opening.client:
            new["agent_session_id"] = opening.client
        environment = {**opening.environment, **({"worktree": opening.worktree} if opening.worktree else {})}
        self.history.append({**new, "environment": environment, "artifacts_loaded": []})
        self.sessions["current_session_id"] = opening.id
        self._count()
        closed = _shown(record["session_id"]) if record is not None else None
        return Entered(opening.id, is_new=True, closed=closed, closed_because=reason)

    def _close(self, record: State, reason: str, opening: Opening) -> None:
        """Close a record that was left open. Its end, if unknown, is the last sign of life."""
        if reason != COMPACTION:
            record["ended_at_inferred"] = True
        ended = opening.now if reason == COMPACTION else self._last_sign(record, opening.now)
        self._end(record, reason, opening, ended)

    def _end(self, record: State, reason: str, opening: Opening, ended: datetime) -> None:
        record["ended_at"] = stamp(ended)
        record.setdefault("started_at", self._begun() or record["ended_at"])
        record["end_reason"] = reason
        record["phases_completed"] = self._newly(opening.completed, record)
        if reason == COMPACTION:
            self._compacted(opening)
        self.sessions["current_session_id"] = None
        self._count()

    def _last_sign(self, record: State, now: datetime) -> datetime:
        mine = set(texts_of(record.get("artifacts_loaded")))
        signs = [parse_time(record.get("started_at")), parse_time(self.context.get("last_artifact_reload"))]
        signs += [time for id, time in self._in_context() if id in mine]
        return max((sign for sign in signs if sign and sign <= now), default=now)

    def loaded(self, artifacts: list[State], opening: Opening) -> None:
        """Record the artifacts that were just loaded: id, source and size of each."""
        self.context["last_artifact_reload"] = stamp(opening.now)
        self.context["reload_count"] = self.reloads + 1
        entries = [
            {
                "artifact_id": found["id"],
                "loaded_at": stamp(opening.now),
                "load_trigger": opening.trigger,
                "source": found["source"],
                "size_bytes": found["size"],
            }
            for found in artifacts
        ]
        ids = [entry["artifact_id"] for entry in entries]
        known = self.context.get("artifacts_in_context")
        if isinstance(known, dict):
            known.update({id: stamp(opening.now) for id in ids})
        else:
            old = known if isinstance(known, list) else []
            others = [item for item in old if not (isinstance(item, dict) and item.get("artifact_id") in ids)]
            self.context["artifacts_in_context"] = [*others, *entries]
        if record := self.open_record:
            record["artifacts_loaded"] = list(dict.fromkeys([*texts_of(record.get("artifacts_loaded")), *ids]))

    def leave(self, opening: Opening, reason: str, raw: str | None = None) -> Left:
        id = self.current_id
        record = self.record(id)
        if id is None or (record is not None and record.get("ended_at")):
            ended = record if record is not None else next(reversed(self.records()), None)
            if ended is None or not ended.get("ended_at"):
                return Left(None, "none")
            return Left(_shown(ended.get("session_id")), "already", ended_text=_shown(ended["ended_at"]))
        record = self.open_record
        assert record is not None
        is_elsewhere = is_foreign(record.get("environment"), opening.environment.get("hostname"), opening.worktree)
        is_others = is_of_another(record.get("agent_session_id"), opening.client, by_hook=opening.by_hook)
        if is_others or (is_elsewhere and opening.by_hook):
            return Left(_shown(id), "other")
        if is_elsewhere:
            return self._leave_behind(record, opening)
        self._end(record, reason, opening, opening.now)
        record["artifacts_loaded"] = self._loaded_in(record)
        record["environment"] = {**opening.environment, **object_of(record.get("environment"))}
        if raw:
            record["agent_end_reason"] = raw
            self.sessions["last_session_end"] = stamp(opening.now)
            self.sessions["last_session_end_reason"] = raw
        started = parse_time(record["started_at"])
        return Left(
            _shown(id),
            reason=reason,
            seconds=max(0.0, (opening.now - started).total_seconds()) if started else None,
            ended_text=record["ended_at"],
            phases=record["phases_completed"],
            artifacts=[_shown(artifact) for artifact in record["artifacts_loaded"]],
        )

    def _leave_behind(self, record: State, opening: Opening) -> Left:
        """Close a record of another host or worktree as interrupted: its end was not seen here."""
        self._close(record, INTERRUPTED, opening)
        origin, ended = described(record.get("environment")), _shown(record["ended_at"])
        return Left(_shown(record["session_id"]), "elsewhere", INTERRUPTED, origin, ended_text=ended)

    def _begun(self) -> str | None:
        """The substitute for a beginning that was not recorded."""
        found = self.context.get("last_artifact_reload")
        return found if isinstance(found, str) and found else None

    def _newly(self, completed: Iterable[str], record: State) -> list[str]:
        others = (texts_of(other.get("phases_completed")) for other in self.records() if other is not record)
        credited = {phase_name(name) for names in others for name in names}
        return [name for name in dict.fromkeys(completed) if name not in credited]

    def _loaded_in(self, record: State) -> list[str]:
        if mine := texts_of(record.get("artifacts_loaded")):
            return mine
        started = parse_time(record.get("started_at"))
        return list(dict.fromkeys(id for id, time in self._in_context() if started is None or time >= started))

    def _compacted(self, opening: Opening) -> None:
        event = {
            "detected_at": stamp(opening.now),
            "phase": opening.phase,
            "step": opening.step,
            "action_taken": "reload_critical_artifacts",
        }
        known = self.context.get("compaction_events")
        self.context["compaction_events"] = [*(known if isinstance(known, list) else []), event]

    def _count(self) -> None:
        self.sessions.setdefault("current_session_id", None)
        self.sessions["session_history"] = self.history
        self.sessions["total_sessions"] = len(self.history)

    def members(self, now: datetime) -> State:
        context = {"context_metadata": self.context} if self.context else {}
        return {"sessions": self.sessions, **context, "updated_at": stamp(now)}


def _reason_to_close(record: State, opening: Opening) -> str | None:
    """The reason not to continue an open record: it is of another context window, or was compacted."""
    if is_foreign(record.get("environment"), opening.environment.get("hostname"), opening.worktree):
        return INTERRUPTED
    if opening.trigger == CUT:
        return COMPACTION
    if opening.trigger != BEGINNING:
        return None
    is_same = opening.client is not None and record.get("agent_session_id") == opening.client
    if is_same:
        return COMPACTION if opening.source == "compact" else None
    return INTERRUPTED


def phase_name(name: str) -> str:
    return name.removesuffix("(partial)").strip()


def _shown(value: object) -> str:
    return one_line(value, WIDTH) if isinstance(value, str) else ""


def _object(value: object) -> State:
    """A copy of a member of the state as an object; a value that is none is kept inside."""
    found: State = value if isinstance(value, dict) else {} if value is None else {UNREADABLE: value}
    return {name: _copied(inner) for name, inner in found.items()}


def _copied(value: Any) -> Any:
    """Copy a JSON value; `copy.deepcopy` takes five times as long."""
    if isinstance(value, dict):
        return {name: _copied(inner) for name, inner in value.items()}
    return [_copied(inner) for inner in value] if isinstance(value, list) else value


def _put_aside(owner: State, name: str, *kinds: type) -> None:
    """Rename a member of a wrong type, so that it is not overwritten."""
    value = owner.get(name)
    if value is not None and not isinstance(value, kinds):
        owner[f"{name}_{UNREADABLE}"] = value
        owner[name] = None


def is_foreign(environment: object, host: object, worktree: str) -> bool:
    """Return whether a record's environment names another host or worktree; members may be missing."""
    found = object_of(environment)
    named, ours = text_of(found.get("hostname")), text_of(host)
    if named and ours and _label(named) != _label(ours):
        return True
    if root := text_of(found.get("worktree")):
        return bool(worktree) and root != worktree
    directory = text_of(found.get("cwd"))
    is_inside = f"{directory.rstrip('/')}/".startswith(f"{worktree.rstrip('/')}/")
    return bool(worktree and directory) and not is_inside


def is_of_another(owner: object, client: str | None, *, by_hook: bool) -> bool:
    """Return whether a record belongs to another conversation. For a hook, one without an owner does too."""
    if named := text_of(owner):
        return named != client and (by_hook or bool(client))
    return by_hook


def described(environment: object) -> str:
    """The host and the directory of a record, for people."""
    found = object_of(environment)
    directory = text_of(found.get("worktree")) or text_of(found.get("cwd"))
    return one_line(", ".join(part for part in (text_of(found.get("hostname")), directory) if part), WIDTH)


def _label(host: str) -> str:
    """The first label of a host name: the others change with the network."""
    return host.partition(".")[0].lower()
