"""What things are: runs, sessions, events, and the entries a run knows. Values only; nothing here acts."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

Body = dict[str, Any]


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
    """One process, recognisable for ever: a number alone is used again."""

    pid: int
    start: str  # since boot, in the kernel's own unit
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
    """An event that has no place in the journal yet."""

    kind: str
    body: Body = field(default_factory=dict)
    id: str | None = None
    time: datetime | None = None
    session: str | None = None
    agent: str | None = None


class Event(Struct, frozen=True):
    """One thing that happened. Events are only ever added."""

    run: str
    seq: int
    id: str
    kind: str
    time: datetime
    session: str | None
    agent: str | None
    body: Body


class Beginning(StrEnum):
    """How an agent's conversation began, or went on in a new process."""

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
    """How a session ended."""

    ENDED = "ended"
    STOPPED = "stopped"  # by a signal that asks a program to end
    DIED = "died"
    TAKEN_OVER = "taken_over"

    @classmethod
    def _missing_(cls, value: object) -> Ending:
        return cls.ENDED


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
    transcript: str | None = None  # the file in which the agent itself keeps the conversation
    brief: str | None = None  # the digest of what it was last told
    context_tokens: int | None = None  # in its context when that was last measured
    context_window: int | None = None  # tokens that its context holds
    model: str | None = None
    tokens_read: int = 0  # over all its requests, as far as its transcript was imported
    tokens_written: int = 0
    cost: float | None = None  # in US dollars, as the agent counted it
    followed_by: str | None = None  # the session on another run in which its conversation goes on

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
    key: str | None = None  # the agent's own name for it
    done: datetime | None = None
    outcome: str | None = None
    files: list[str] = []
    pinned: bool = False


class Prompt(Struct):
    text: str
    time: datetime
    key: str | None = None  # the agent's own name for it


class Action(Struct):
    text: str
    time: datetime
    files: list[str] = []
    key: str | None = None  # the agent's own name for it
    error: str | None = None


class Underway(Struct):
    text: str
    time: datetime  # when it was begun
    session: str | None = None  # whose it is
    heir: str | None = None  # the session that was opened since that one ended


class Step(Struct):
    """A part of a run that is done as one, mostly by one agent."""

    name: str
    status: str = "pending"  # `pending`, `active`, `completed` or `failed`
    agent: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    error: str | None = None
    planned: bool = False  # whether it was in the plan; else it was met on the way


class Worker(Struct):
    """An agent that an orchestrator sent out to do a task of the run."""

    id: str  # its type and a number: `code-1`
    type: str
    task: str = ""
    status: str = "in_progress"  # `in_progress`, `complete` or `failed`
    started: datetime | None = None
    completed: datetime | None = None
    progress: int | None = None  # per cent
    result: str | None = None
    tokens: int | None = None
    error: str | None = None
    key: str | None = None  # the client's own name for it


class Mishap(Struct):
    """An error that was met, and by which agent of the run, where one is known."""

    text: str
    time: datetime
    agent: str | None = None


class Reason(StrEnum):
    """Why a checkpoint was made. The values are stored; a stored text that is none of them is read as `OTHER`."""

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
        """The reason of the checkpoint that a way back makes first."""
        return cls(f"before-{verb}")

    @property
    def is_way_back(self) -> bool:
        """Whether it holds what a way back was about to replace: no state to resume from or to bisect."""
        return self in WAYS_BACK


WAYS_BACK = frozenset(
    {
        Reason.BEFORE_FRESH_START,
        Reason.BEFORE_RESTORE,
        Reason.BEFORE_CONTINUE,
        Reason.BEFORE_UNDO,
        Reason.BEFORE_REDO,
        Reason.BEFORE_ROLLBACK,
        Reason.BEFORE_RESUME,
        Reason.BEFORE_GUARD,
        Reason.BEFORE_BISECT,
    }
)


class Checkpoint(Struct):
    """A named point in the journal, together with the exact worktree at that moment."""

    id: str
    worktree: str
    number: int
    time: datetime
    tree: str
    beside: str  # the blob that holds what git's trees do not know
    kind: str = Reason.ASKED
    name: str | None = None
    message: str | None = None
    run: str | None = None
    session: str | None = None  # the one whose turn had ended, for a checkpoint that was made because of that
    seq: int | None = None  # the run's last event then
    directory: str = ""
    staged: str | None = None
    commit: str | None = None
    branch: str | None = None
    under_way: str | None = None
    changed: list[str] = []  # since the checkpoint before it, as far as they are few
    changes: int = 0
    skipped: list[str] = []
    pinned: bool = False

    @property
    def reason(self) -> Reason:
        return Reason(self.kind)


class Restore(Struct):
    """One way back: from what was there to a checkpoint."""

    id: str
    time: datetime
    before: str  # the checkpoint of what was there
    target: str
    paths: list[str] = []
    run: str | None = None
    seq_before: int | None = None
    seq_after: int | None = None
    code: bool = True
    verb: str = "restore"
    index: bool = False
    cleared: list[str] = []  # files outside of the paths that stood where a directory was needed
    undoes: str | None = None  # the restore that this one takes back


class Artifact(Struct):
    """A piece of context that an agent needs again."""

    path: str  # or the command that printed it
    text: str
    changed: datetime | None = None
    source: str = "a file of the project"


class Bearings(Struct):
    """What git shows now, beside what the record believes."""

    disagreements: list[str] = []
    uncommitted: list[str] = []
    known: bool = True  # whether the files could be looked at


class Owned(Struct):
    """What the file of another system says about a run that is that system's own."""

    path: str  # from the root of the worktree
    digest: str
    status: Status | None = None
    word: str = ""  # the system's own word for the status
    phase: str | None = None
    step: str | None = None
    workflow: str | None = None
    sessions: list[str] = []  # the session records that it held
    earlier: list[str] = []  # digests that it had before
    lost: list[str] = []  # session records that it held once and lacks now
    is_older: bool = False  # it is again as it was before


class Kept(Struct):
    """A step's result that was kept: a checkpoint of ours, under the name that its system gives it."""

    id: str  # `cp-04-implementation-20251228-214500`
    step: str
    number: str  # `04`, `05b`
    time: datetime
    checkpoint: str | None = None  # ours; null: it is known from a file alone
    seq: int = 0  # the run's last event then
    actions: int = 0  # that were taken by then
    completes: bool = True  # whether the step was over; one turn of a loop is not
    created: list[str] = []
    modified: list[str] = []
    deleted: list[str] = []
    branch: str | None = None
    commit: str | None = None
    invalidated_by: str | None = None  # the way back that left it behind
    flaw: str | None = None  # why a file that others wrote is not proven

    @property
    def is_valid(self) -> bool:
        return self.invalidated_by is None


class Rollback(Struct):
    """One way back of a run, between two kept points."""

    id: str
    time: datetime
    reason: str
    from_checkpoint: str | None = None
    from_step: str | None = None
    to_checkpoint: str | None = None
    to_step: str | None = None


class Standing(Struct):
    agent: str | None = None  # who has the run now
    is_waiting: bool = False  # at a breakpoint, for somebody to answer
    outputs: dict[str, str | list[str]] = {}
    metrics: dict[str, bool | int | float | str] = {}
    file: str | None = None  # that was worked on last
    line: int | None = None
    actions: int = 0  # how many were ever taken
    iterations: int = 0  # turns of the review loop
    most_iterations: int = 3
    trigger: str = "action"  # what its files were last written for
    saved: datetime | None = None  # when another program saved the live state; null: the journal knows more by now
    kept: list[Kept] = []
    rollbacks: list[Rollback] = []
    recovered: str | None = None  # how it was last gone on with: `checkpoint`, `live_state` or `fresh_start`


class Run(Struct):
    """A piece of work that outlives any one agent process: what its events add up to."""

    id: str
    goal: str = ""
    name: str | None = None
    layout: str = "native"
    status: Status = Status.CREATED
    worktree: str = "."  # git's name for it; a dot for the main one
    directory: str = ""  # where that was at the time
    created: datetime | None = None
    updated: datetime | None = None
    seq: int = 0
    epoch: int = 0
    unasked: bool = False  # a conversation or a file of another system began it, and no command has chosen it since
    status_since: datetime | None = None
    status_reason: str | None = None
    evidence: str | None = None
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
    entries: dict[str, int] = {}  # how many entries of each kind were ever made
    doing: dict[str, Underway] = {}  # what was begun and has not ended, by the agent's own name for it
    reply: str | None = None  # the agent's last words
    errors: list[Mishap] = []
    mode: str | None = None  # of an orchestrator
    workers: list[Worker] = []
    archived: str | None = None  # the file in which its system keeps it since it is over
    subagents: dict[str, str] = {}  # those at work -> what they are
    summary: str | None = None  # what the agent kept when its context was last compacted
    compactions: int = 0
    compacted: datetime | None = None  # when the last of them was
    context_tokens: int | None = None  # in its agent's context when that was last measured
    context_window: int | None = None  # tokens that this context holds
    calls: int = 0
    last_call: str | None = None
    sessions: int = 0
    open_sessions: list[str] = []
    last_session: str | None = None
    forgotten: list[int] = []
    forked_from: str | None = None  # the run that this one was the same as, up to its event `forked_at`
    forked_at: int | None = None
    standing: Standing = field(default_factory=Standing)
    unfinished: Restore | None = None  # these three only in the ledger of a worktree
    undoable: list[Restore] = []
    redoable: list[Restore] = []

    @property
    def title(self) -> str:
        return self.name or self.goal

    @property
    def is_open(self) -> bool:
        """Whether it can be meant without being named: it has not ended, and is in no archive."""
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
    name: str
    state: str  # ok, warning, broken
    about: str
    hints: list[str] = []
