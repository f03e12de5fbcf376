"""Kinds of events: what each one records, and the keys of its body. `docs/reference/events.md` is made of them.

A body is a plain object, so that an event of another version can be read. The tests fail for an event that the code
appends with a kind or a key that is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from holdfast.core.model import Checkpoint


class Kind(NamedTuple):
    says: str
    keys: Mapping[str, str] = {}  # with what each holds; empty where its name says it


def _keys(names: str, **described: str) -> dict[str, str]:
    return {**dict.fromkeys(names.split(), ""), **described}


COMMON = {
    "imported": "true in an event that was read from an earlier conversation",
    "conversation": "in an event of a conversation that has no run yet",
}
SETTLED = _keys("reason evidence cause")  # each only where there is one
CALL = _keys(
    "agent event directory process boot monotonic",
    call="what stood on standard input",
    quiet="true where it is no activity",
)
LATE = "call.late"
KINDS = {
    "run.started": Kind(
        "a run began",
        _keys(
            "goal layout worktree directory",
            mode="of an orchestrator",
            unasked="true where a hook call began it",
            forked_from="the run of which it is a copy",
            forked_at="the event after which the copy goes another way",
        ),
    ),
    "run.renamed": Kind("it got a name", _keys("name")),
    "run.chosen": Kind("`switch`, `resume`, `join` or `run` chose it for its worktree; before, it was unasked"),
    "run.moved": Kind("it belongs to another worktree now", _keys("worktree directory")),
    "run.tagged": Kind("tags were added or taken off", _keys("", added="a list", removed="a list")),
    "run.resumed": Kind("somebody joined it", SETTLED),
    "run.paused": Kind("it was put to rest", SETTLED),
    "run.interrupted": Kind("the last process on it is gone", SETTLED),
    "run.completed": Kind("it reached its goal", SETTLED),
    "run.failed": Kind("it cannot reach its goal", SETTLED),
    "run.aborted": Kind("it was stopped on purpose", SETTLED),
    "run.abandoned": Kind("it was given up", SETTLED),
    "run.reopened": Kind("its end was taken back", {**SETTLED, "status": "the one that it had before its end"}),
    "run.archived": Kind(
        "its system keeps it in a file of its history since then",
        _keys("", path="null where it was taken out of it again"),
    ),
    "run.returned": Kind(
        "what it knows is again what it was after an earlier event",
        _keys("", to="the number of that event", checkpoint="", restore="", verb=""),
    ),
    "session.opened": Kind(
        "a session began",
        _keys(
            "process environment epoch",
            agent_session="the conversation",
            transcript="its file",
            begun="how the client began the conversation",
        ),
    ),
    "session.told": Kind("the conversation of a supervised session became known", _keys("agent_session transcript")),
    "session.ended": Kind(
        "a session ended",
        _keys(
            "reason at",
            how="`ended`, `stopped` by a signal that was sent on purpose, `died`, `taken_over`",
            followed_by="the session on another run in which its conversation goes on",
        ),
    ),
    "brief.given": Kind("a session was told where its run stands", _keys("digest characters left_out")),
    "command.typed": Kind("somebody typed an observer command into the client", _keys("text")),
    "note.added": Kind("something was written down", _keys("entry text")),
    "decision.made": Kind("something was decided", _keys("entry decision because")),
    "decision.revoked": Kind("a decision was taken back", _keys("entry because")),
    "task.added": Kind("a task was added", _keys("entry text", key="the client's own name for it")),
    "task.done": Kind(
        "a task was finished", _keys("entry outcome files", key="the client's own name for it, instead of `entry`")
    ),
    "task.dropped": Kind("a task was taken out of the session file", _keys("entry")),
    "goal.changed": Kind("the session file has another goal", _keys("goal")),
    "mode.chosen": Kind("the session file has another mode", _keys("mode")),
    "agent.started": Kind(
        "an agent was sent out", _keys("type task", entry="its id", key="the client's own name for it")
    ),
    "agent.progressed": Kind(
        "an agent has come so far", _keys("entry", progress="per cent", tokens="that it took so far")
    ),
    "agent.completed": Kind(
        "an agent has done its task", _keys("entry result tokens", key="the client's own name for it")
    ),
    "agent.failed": Kind("an agent has failed", _keys("entry error")),
    "entry.pinned": Kind("a decision, note or task was pinned", _keys("entry")),
    "entry.unpinned": Kind("it was let go", _keys("entry")),
    "event.forgotten": Kind("an earlier event says nothing any more", _keys("seq")),
    "event.lost": Kind("what keeps the number of an event that damage took and `repair` did not find again"),
    "event.blank": Kind("how a forgotten event is shown; it is never stored", _keys("kind")),
    "prompt.given": Kind("the agent was asked something", _keys("text", key="the client's own id of it")),
    "action.begun": Kind(
        "something was begun whose end may never be told",
        _keys("text tool key files", subagent="the one that did it", reads="true if it only reads"),
    ),
    "action.taken": Kind(
        "something was done",
        _keys(
            "text files tool key outcome error",
            failed="true if it failed",
            refused="true if the client did not carry it out",
            reads="true if it only reads",
            subagent="the one that did it",
            line="the first changed one of the file",
            actions="how many it stands for",
        ),
    ),
    "turn.ended": Kind("the agent ended its turn", _keys("", text="its last words", waiting="what still runs")),
    "text.said": Kind("the agent said something between its tool calls", _keys("text")),
    "error.met": Kind("the agent could not go on", _keys("text", by="the agent of the run that met it")),
    "owner.told": Kind(
        "the file of another system that owns the run says something new",
        _keys(
            "path digest status word phase step phases goal workflow sessions",
            accepted="true where it counts though it was turned back",
        ),
    ),
    "context.loaded": Kind("a FABER session loaded artifacts", _keys("record trigger", artifacts="a list of ids")),
    "context.saved": Kind("a FABER session record was closed", _keys("record reason", raw="the client's own reason")),
    "step.planned": Kind("steps were planned", _keys("", steps="a list of names")),
    "step.started": Kind("a step began, or began again", _keys("name", agent="where one is named")),
    "step.completed": Kind("a step was completed", _keys("name")),
    "step.failed": Kind("a step failed", _keys("name error")),
    "step.kept": Kind(
        "a step of a Go Team run was kept as a checkpoint",
        _keys(
            "id step number checkpoint seq time completes created modified deleted branch commit",
            turn="of the review loop",
            flaw="why the file of another program is not proven",
            invalidated_by="what left it behind",
        ),
    ),
    "step.judged": Kind(
        "somebody else's file says that a checkpoint counts no more, or counts again",
        _keys("id valid", by="what left it behind"),
    ),
    "save.told": Kind(
        "another program has saved the live state of its session",
        _keys("", saved="when", trigger="what for; the event's own time is when that program was last heard of"),
    ),
    "rollback.told": Kind(
        "somebody else's tool has gone back in a Go Team run",
        _keys("id time reason from_checkpoint from_step to_checkpoint to_step"),
    ),
    "face.edited": Kind(
        "somebody else changed a Go Team file; what follows from it stands in the events after it",
        _keys("file", fields="the values that were changed, by their path"),
    ),
    "handoff.made": Kind("another agent has the run now", _keys("agent")),
    "breakpoint.set": Kind("the run waits for somebody to answer, or goes on", _keys("on")),
    "output.given": Kind("what a step has given", _keys("key text", items="a list, instead of `text`")),
    "metric.given": Kind("a measure of the run", _keys("key value")),
    "loop.limited": Kind("how often the review loop may turn", _keys("iterations", turns="that it has made")),
    "run.recovered": Kind(
        "somebody went on with a Go Team run",
        _keys("", type="`checkpoint`, `live_state` or `fresh_start`", way="what left its checkpoints behind"),
    ),
    "subagent.started": Kind("a subagent began", _keys("key type")),
    "subagent.ended": Kind("a subagent ended", _keys("key type text")),
    "subagent.told": Kind("a subagent that ran beside told its result", _keys("text result")),
    "context.compacting": Kind("the agent's context is about to be compacted", _keys("trigger")),
    "context.compacted": Kind("the agent's context was compacted", _keys("trigger summary")),
    "context.measured": Kind(
        "how full the agent's context was",
        _keys("tokens window model", origin="`told` where somebody told it by hand"),
    ),
    "usage.counted": Kind(
        "what a session has used when it ended, or a conversation that was imported",
        _keys("", read="tokens", written="tokens", cost="US dollars"),
    ),
    "call.kept": Kind("a hook call that no adapter reads", CALL),
    LATE: Kind("a hook call of a session that was fenced; it may have the keys of any other event instead", CALL),
    "checkpoint.made": Kind(
        "a [Checkpoint](json.md#checkpoint) was made; this and the next five stand in the ledger of a worktree",
        _keys(" ".join(name for name in Checkpoint.__struct_fields__ if name != "time")),
    ),
    "checkpoint.dropped": Kind("`tidy` or `checkpoints delete` dropped it", _keys("id")),
    "checkpoint.pinned": Kind("`tidy` leaves it from now on", _keys("id")),
    "checkpoint.unpinned": Kind("it was let go", _keys("id")),
    "restore.began": Kind("a restore is about to touch files", _keys("", restore="a [Restore](json.md#restore)")),
    "restore.ended": Kind(
        "it is finished and proven",
        _keys("restore", given_up="true if it was a restore that was killed and taken back"),
    ),
}
