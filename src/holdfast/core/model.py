"""Values of the domain: runs, sessions, events, and the entries of a run."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, field

Body = dict[str, Any]
V = TypeVar("V")


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else ""


def texts_of(value: Any) -> list[str]:
    return [item for item in list_of(value) if isinstance(item, str)]


def object_of(value: Any) -> Body:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def int_of(value: Any, least: int = 0, most: int = 10**9) -> int | None:
    """Return an integer within the bounds, such as a number of tokens; None for anything else."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and least <= value <= most else None


def convert(value: Any, kind: type[V]) -> V | None:
    """Return a value stored in an event as its type; None if it does not fit."""
    try:
        return msgspec.convert(value, kind) if value is not None else None
    except msgspec.ValidationError:
        return None


class Status(StrEnum):
    CREATED = "created"
    ACTIVE = "active"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    ABANDONED = "abandoned"

    @property
    def is_open(self) -> bool:
        return self in OPEN


OPEN = frozenset({Status.CREATED, Status.ACTIVE, Status.PAUSED, Status.INTERRUPTED})


class Process(Struct, frozen=True):
    """A process, identified for good: a pid alone is reused."""

    pid: int
    start: str  # since boot, in the kernel's unit
    boot: str
    namespace: str = ""
    machine: str = ""
    host: str = ""


class Environment(Struct, frozen=True):
    host: str = ""
    platform: str = ""
    directory: str = ""
    branch: str | None = None
    commit: str | None = None


class Draft(Struct, frozen=True):
    """An event that is not in the journal yet."""

    kind: str
    body: Body = field(default_factory=dict)
    id: str | None = None
    time: datetime | None = None
    session: str | None = None
    agent: str | None = None


class Event(Struct, frozen=True):
    """An entry of the journal. Events are only ever added."""

    run: str
    seq: int
    id: str
    kind: str
    time: datetime
    session: str | None
    agent: str | None
    body: Body


class Beginning(StrEnum):
    """The start of an agent's conversation, or its continuation in a new process."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"
    FORK = "fork"
    IMPORTED = "imported"

    @classmethod
    def _missing_(cls, value: object) -> Beginning:
        return cls.STARTUP


class Ending(StrEnum):
    ENDED = "ended"
    STOPPED = "stopped"  # by a termination signal
    DIED = "died"
    TAKEN_OVER = "taken_over"

    @classmethod
    def _missing_(cls, value: object) -> Ending:
        return cls.ENDED


class Cause(StrEnum):
    """Why a run was interrupted, in the words of Go Team's document. The values are stored."""

    TIMEOUT = "timeout"
    CRASH = "crash"
    DISCONNECT = "disconnect"
    ERROR = "error"


class Session(Struct):
    """One agent process's stretch of work on a run."""

    id: str
    run: str
    opened: datetime
    agent: str | None = None
    agent_session: str | None = None
    process: Process | None = None
    environment: Environment | None = None
    epoch: int = 0
    last_active: datetime | None = None
    last_action: str | None = None
    events: int = 0
    ended: datetime | None = None
    how: Ending | None = None
    reason: str | None = None
    fenced: bool = False
    begun: Beginning | None = None
    transcript: str | None = None  # the agent's own file of the conversation
    brief: str | None = None  # digest of the last brief it was given
    context_tokens: int | None = None  # in its context when last measured
    context_window: int | None = None  # capacity of its context, in tokens
    model: str | None = None
    tokens_read: int = 0  # over all requests in the imported part of its transcript
    tokens_written: int = 0
    cost: float | None = None  # in US dollars, as counted by the agent
    followed_by: str | None = None  # the session on another run that continues its conversation

    @property
    def is_open(self) -> bool:
        return self.ended is None


class Note(Struct):
    id: str
    text: str
    time: datetime
    pinned: bool = False


class Decision(Struct):
    id: str
    text: str
    time: datetime
    because: str | None = None
    pinned: bool = False
    revoked: datetime | None = None
    revoked_because: str | None = None


class Task(Struct):
    id: str
    text: str
    added: datetime
    key: str | None = None  # the agent's id of it
    done: datetime | None = None
    outcome: str | None = None
    files: list[str] = []
    pinned: bool = False


class Prompt(Struct):
    text: str
    time: datetime
    key: str | None = None  # the agent's id of it


class Action(Struct):
    text: str
    time: datetime
    files: list[str] = []
    key: str | None = None  # the agent's id of it
    error: str | None = None
    reads: bool = False  # it changed nothing

    @property
    def headline(self) -> str:
        return f"{self.text} failed: {self.error}" if self.error else self.text


class Underway(Struct):
    text: str
    time: datetime  # when it began
    session: str | None = None  # that began it
    heir: str | None = None  # the session opened after that one ended


class Step(Struct):
    """A part of a run that is completed as a unit, usually by one agent."""

    name: str
    status: str = "pending"  # `pending`, `active`, `completed` or `failed`
    agent: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    error: str | None = None
    planned: bool = False  # in the plan, rather than discovered later


class Worker(Struct):
    """An agent sent out by an orchestrator for a task of the run."""

    id: str  # type and number: `code-1`
    type: str
    task: str = ""
    status: str = "in_progress"  # `in_progress`, `complete` or `failed`
    started: datetime | None = None
    completed: datetime | None = None
    progress: int | None = None  # per cent
    result: str | None = None
    tokens: int | None = None
    error: str | None = None
    key: str | None = None  # the client's id of it


class Mishap(Struct):
    """An error, and the agent of the run that met it, if known."""

    text: str
    time: datetime
    agent: str | None = None


class Reason(StrEnum):
    """Why a checkpoint was made. The values are stored; an unknown stored value is read as `OTHER`."""

    ASKED = "asked"
    SAVED = "saved"
    PASSED = "passed"
    TURN = "turn"
    STEP = "step"
    PAUSED = "paused"
    INTERRUPTED = "interrupted"
    ENDED = "ended"
    FOREIGN = "foreign"
    BEFORE_COMPACTION = "before-compaction"
    BEFORE_FRESH_START = "before-fresh-start"
    BEFORE_RESTORE = "before-restore"
    BEFORE_CONTINUE = "before-continue"
    BEFORE_UNDO = "before-undo"
    BEFORE_REDO = "before-redo"
    BEFORE_ROLLBACK = "before-rollback"
    BEFORE_RESUME = "before-resume"
    BEFORE_GUARD = "before-guard"
    BEFORE_BISECT = "before-bisect"
    OTHER = "other"

    @classmethod
    def _missing_(cls, value: object) -> Reason:
        return cls.OTHER

    @classmethod
    def before(cls, verb: str) -> Reason:
        """Return the reason of the safety checkpoint made before this verb."""
        return cls(f"before-{verb}")

    @property
    def is_way_back(self) -> bool:
        """True for a safety checkpoint: it holds the replaced state, so it is no target for resume or bisect."""
        return self in WAYS_BACK


WAYS_BACK = frozenset(
    Reason.before(verb)
    for verb in ("fresh-start", "restore", "continue", "undo", "redo", "rollback", "resume", "guard", "bisect")
)


class Checkpoint(Struct):
    """A named point in the journal, together with the exact worktree at that moment."""

    id: str
    worktree: str
    number: int
    time: datetime
    tree: str
    beside: str  # the blob with metadata that git trees lack
    kind: str = Reason.ASKED
    name: str | None = None
    message: str | None = None
    run: str | None = None
    session: str | None = None  # the session whose turn had ended, if that was the reason
    seq: int | None = None  # the run's last event at that time
    directory: str = ""
    staged: str | None = None
    commit: str | None = None
    branch: str | None = None
    under_way: str | None = None
    changed: list[str] = []  # since the previous checkpoint; up to a limit
    changes: int = 0
    skipped: list[str] = []
    pinned: bool = False

    @property
    def reason(self) -> Reason:
        return Reason(self.kind)

    @property
    def objects(self) -> list[str]:
        """Its objects in git, from which all others are reached."""
        return [self.tree, self.beside, *([self.staged] if self.staged else [])]


class Restore(Struct):
    """One restore of the worktree to a checkpoint."""

    id: str
    time: datetime
    before: str  # the safety checkpoint
    target: str
    paths: list[str] = []
    run: str | None = None
    seq_before: int | None = None
    seq_after: int | None = None
    code: bool = True
    verb: str = "restore"
    index: bool = False
    cleared: list[str] = []  # files outside `paths` that stood where a directory was needed
    undoes: str | None = None  # the restore that this one undoes


class Artifact(Struct):
    """A piece of context that an agent needs again."""

    path: str  # or the command that printed it
    text: str
    changed: datetime | None = None
    source: str = "a file of the project"


class Bearings(Struct):
    """Differences between git's current state and the journal."""

    disagreements: list[str] = []
    uncommitted: list[str] = []
    known: bool = True  # false: the worktree could not be read


class Owned(Struct):
    """The state of a run owned by another system, as its file says."""

    path: str  # relative to the worktree
    digest: str
    status: Status | None = None
    word: str = ""  # the system's word for the status
    phase: str | None = None
    step: str | None = None
    workflow: str | None = None
    sessions: list[str] = []  # session records that it lists
    earlier: list[str] = []  # digests of earlier versions
    lost: list[str] = []  # session records that it listed before and lacks now
    is_older: bool = False  # the file went back to an earlier version


class Kept(Struct):
    """A kept step result: a checkpoint under the name that the other system gives it."""

    id: str  # `cp-04-implementation-20251228-214500`
    step: str
    number: str  # `04`, `05b`
    time: datetime
    checkpoint: str | None = None  # our checkpoint; null: known from a file alone
    seq: int = 0  # the run's last event at that time
    actions: int = 0  # actions taken by then
    completes: bool = True  # False for one turn of a loop
    created: list[str] = []
    modified: list[str] = []
    deleted: list[str] = []
    branch: str | None = None
    commit: str | None = None
    invalidated_by: str | None = None  # the restore that went back past it
    flaw: str | None = None  # why a file written by another program is not proven

    @property
    def is_valid(self) -> bool:
        return self.invalidated_by is None


class Rollback(Struct):
    """A move of a run between two kept points."""

    id: str
    time: datetime
    reason: str
    from_checkpoint: str | None = None
    from_step: str | None = None
    to_checkpoint: str | None = None
    to_step: str | None = None


class Standing(Struct):
    """State of a run with steps: current agent, outputs, metrics, and the points it can return to."""

    agent: str | None = None  # current agent
    is_waiting: bool = False  # at a breakpoint, for an answer
    outputs: dict[str, str | list[str]] = {}
    metrics: dict[str, bool | int | float | str] = {}
    file: str | None = None  # last one worked on
    line: int | None = None
    actions: int = 0  # total ever taken
    iterations: int = 0  # turns of the review loop
    most_iterations: int = 3
    trigger: str = "action"  # reason of the last save of its files
    saved: datetime | None = None  # last save by another program; null: the journal is newer
    kept: list[Kept] = []
    rollbacks: list[Rollback] = []
    recovered: str | None = None  # last way of recovery: `checkpoint`, `live_state` or `fresh_start`


class Run(Struct):
    """A piece of work that outlives any one agent process: the state folded from its events."""

    id: str
    goal: str = ""
    name: str | None = None
    layout: str = "native"
    status: Status = Status.CREATED
    worktree: str = "."  # git's name for it; a dot for the main one
    directory: str = ""  # its path at the time
    created: datetime | None = None
    updated: datetime | None = None
    seq: int = 0
    epoch: int = 0
    unasked: bool = False  # created by a conversation or another system's file, and not chosen by a command since
    status_since: datetime | None = None
    status_reason: str | None = None
    evidence: str | None = None
    cause: Cause | None = None  # of the interruption; null: a crash
    tags: list[str] = []
    agents: list[str] = []
    decisions: list[Decision] = []
    tasks: list[Task] = []
    notes: list[Note] = []
    steps: list[Step] = []
    owned: Owned | None = None
    prompts: list[Prompt] = []
    actions: list[Action] = []
    files: dict[str, datetime] = {}
    entries: dict[str, int] = {}  # count of entries ever made, by kind
    doing: dict[str, Underway] = {}  # unfinished actions, by the agent's id of them
    reply: str | None = None  # the agent's last message, its beginning
    talk: list[int] = []  # numbers of the newest events with a prompt or with what the agent said
    errors: list[Mishap] = []
    mode: str | None = None  # of an orchestrator
    workers: list[Worker] = []
    archived: str | None = None  # its file in the system's archive, after its end
    subagents: dict[str, str] = {}  # id of each at work -> type
    summary: str | None = None  # the agent's summary at its last compaction
    compactions: int = 0
    compacted: datetime | None = None  # time of the last one
    context_tokens: int | None = None  # in its agent's context when last measured
    context_window: int | None = None  # capacity of that context, in tokens
    calls: int = 0
    last_call: str | None = None
    sessions: int = 0
    open_sessions: list[str] = []
    last_session: str | None = None
    forgotten: list[int] = []
    forked_from: str | None = None  # the run whose events up to `forked_at` it shares
    forked_at: int | None = None
    standing: Standing = field(default_factory=Standing)
    unfinished: Restore | None = None  # these three only in a worktree's log
    undoable: list[Restore] = []
    redoable: list[Restore] = []

    @property
    def title(self) -> str:
        return self.name or self.goal

    @property
    def is_open(self) -> bool:
        """True if a command can mean it without naming it: not ended, not archived."""
        return self.status.is_open and self.archived is None

    @property
    def open_tasks(self) -> list[Task]:
        return [task for task in self.tasks if task.done is None]

    @property
    def standing_decisions(self) -> list[Decision]:
        return [decision for decision in self.decisions if decision.revoked is None]

    @property
    def pinnable(self) -> dict[str, Decision | Note | Task]:
        entries: list[Decision | Note | Task] = [*self.decisions, *self.notes, *self.tasks]
        return {entry.id: entry for entry in entries}


OK, WARNING, BROKEN = "ok", "warning", "broken"


class Check(Struct):
    """Result of a check by `doctor`."""

    name: str
    state: str  # ok, warning, broken
    about: str
    hints: list[str] = []
