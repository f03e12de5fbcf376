"""Events as text: a one-line headline, and the words indexed for search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from holdfast.core.model import Body, Event, text_of as _text, texts_of as _texts
from holdfast.core.text import one_line

WIDTH = 160


def headline(event: Event) -> str:
    """Return an event as one line, for a log or a hand-over."""
    headline_of = HEADLINES.get(event.kind)
    return one_line(headline_of(event.body) if headline_of else event.kind, WIDTH)


def reply_line(text: str) -> str:
    """Return the headline of an agent's reply."""
    return one_line(f"said: {text}", WIDTH)


def searchable(event: Event) -> str:
    """Return the words of an event that are indexed; empty for most."""
    return "\n".join(_searched(event))


def passage(event: Event) -> str:
    """Return the indexed words for a reader, with visible separators."""
    words = _searched(event)
    if event.kind == "decision.made" and len(words) == 2:
        return "{} (because {})".format(*words)
    return " · ".join(words)


def _searched(event: Event) -> list[str]:
    values = [event.body.get(key) for key in SEARCHED.get(event.kind, ())]
    return [word for value in values for word in _texts(value if isinstance(value, list) else [value])]


def _joined(separator: str, *parts: Any) -> str:
    return separator.join(filter(None, map(_text, parts)))


def _settled(word: str, body: Body) -> str:
    return _joined(": ", word, body.get("reason"), body.get("evidence"))


def _ended(word: str, body: Body, key: str) -> str:
    return f"agent {_text(body.get('entry'))} {word}: {_text(body.get(key))}".rstrip(": ")


def _progress(body: Body) -> str:
    told = [(body.get("progress"), "%"), (body.get("tokens"), "tokens")]
    return ", ".join(f"{number} {unit}" for number, unit in told if number is not None)


SETTLED = ("resumed", "paused", "interrupted", "completed", "failed", "aborted", "abandoned", "reopened")
HEADLINES: dict[str, Callable[[Body], str]] = {
    "run.started": lambda body: f"started: {_text(body.get('goal'))}",
    "run.renamed": lambda body: f"renamed to {_text(body.get('name'))}",
    "run.chosen": lambda body: "chosen as the run of its worktree",
    "run.moved": lambda body: f"moved to {_text(body.get('worktree'))}",
    "run.tagged": lambda body: " ".join(
        ["tags:", *map("+{}".format, _texts(body.get("added"))), *map("-{}".format, _texts(body.get("removed")))]
    ),
    **{f"run.{word}": partial(_settled, word) for word in SETTLED},
    "session.opened": lambda body: "session opened",
    "session.ended": lambda body: _joined(": ", f"session {_text(body.get('how'))}", body.get("reason")),
    "session.told": lambda body: f"the session's conversation is {_text(body.get('agent_session'))}",
    "brief.given": lambda body: f"was given a brief of {body.get('characters')} characters",
    "note.added": lambda body: f"note: {_text(body.get('text'))}",
    "decision.made": lambda body: f"decided: {_text(body.get('decision'))}",
    "decision.revoked": lambda body: f"revoked {_text(body.get('entry'))}",
    "task.added": lambda body: f"task {_text(body.get('entry'))}: {_text(body.get('text'))}",
    "task.done": lambda body: f"done {_text(body.get('entry'))}: {_text(body.get('outcome'))}".rstrip(": "),
    "task.dropped": lambda body: f"dropped task {_text(body.get('entry'))}",
    "goal.changed": lambda body: f"the goal is now: {_text(body.get('goal'))}",
    "mode.chosen": lambda body: f"mode {_text(body.get('mode'))}",
    "run.archived": lambda body: (
        f"archived as {_text(body.get('path'))}" if body.get("path") else "taken out of the archive"
    ),
    "agent.started": lambda body: f"agent {_text(body.get('entry'))} started: {_text(body.get('task'))}",
    "agent.progressed": lambda body: f"agent {_text(body.get('entry'))}: {_progress(body)}",
    "agent.completed": lambda body: _ended("complete", body, "result"),
    "agent.failed": lambda body: _ended("failed", body, "error"),
    "entry.pinned": lambda body: f"pinned {_text(body.get('entry'))}",
    "entry.unpinned": lambda body: f"unpinned {_text(body.get('entry'))}",
    "event.blank": lambda body: "forgotten",
    "event.lost": lambda body: "lost, and not recovered by a repair",
    "run.returned": lambda body: f"went back to its state after event {body.get('to')}",
    "checkpoint.made": lambda body: f"checkpoint {_text(body.get('id'))}: {_text(body.get('name'))}".rstrip(": "),
    "checkpoint.dropped": lambda body: f"dropped checkpoint {_text(body.get('id'))}",
    "checkpoint.pinned": lambda body: f"pinned checkpoint {_text(body.get('id'))}",
    "checkpoint.unpinned": lambda body: f"unpinned checkpoint {_text(body.get('id'))}",
    "restore.began": lambda body: "a restore began",
    "restore.ended": lambda body: "a restore was given up" if body.get("given_up") else "a restore ended",
    "event.forgotten": lambda body: f"forgot event {body.get('seq')}",
    "prompt.given": lambda body: f"prompt: {_text(body.get('text'))}",
    "command.typed": lambda body: f"typed {_text(body.get('text'))}",
    "action.begun": lambda body: f"begins {_text(body.get('text'))}",
    "action.taken": lambda body: _joined(
        " refused: " if body.get("refused") is True else " failed: ", body.get("text"), body.get("error")
    ),
    "turn.ended": lambda body: reply_line(_text(body.get("text"))),
    "text.said": lambda body: reply_line(_text(body.get("text"))),
    "error.met": lambda body: f"error: {_text(body.get('text'))}",
    "subagent.started": lambda body: f"subagent {_text(body.get('type'))} started",
    "subagent.ended": lambda body: f"subagent {_text(body.get('type'))}: {_text(body.get('text'))}",
    "subagent.told": lambda body: f"subagent: {_text(body.get('text'))}",
    "step.planned": lambda body: f"planned: {', '.join(_texts(body.get('steps')))}",
    "step.started": lambda body: f"step {_text(body.get('name'))} started",
    "step.completed": lambda body: f"step {_text(body.get('name'))} completed",
    "step.failed": lambda body: f"step {_text(body.get('name'))} failed: {_text(body.get('error'))}".rstrip(": "),
    "step.kept": lambda body: f"kept as {_text(body.get('id'))}",
    "step.judged": lambda body: (
        f"{_text(body.get('id'))} {'counts again' if body.get('valid') is True else 'no longer counts'}"
    ),
    "rollback.told": lambda body: f"another program went back to {_text(body.get('to_checkpoint')) or 'a checkpoint'}",
    "face.edited": lambda body: f"another program edited {_text(body.get('file'))}",
    "save.told": lambda body: f"another program saved its live state at {_text(body.get('saved'))}",
    "handoff.made": lambda body: f"handed to {_text(body.get('agent'))}",
    "breakpoint.set": lambda body: "waits at a breakpoint" if body.get("on") is True else "goes on after a breakpoint",
    "output.given": lambda body: f"output {_text(body.get('key'))}",
    "metric.given": lambda body: f"metric {_text(body.get('key'))}: {body.get('value')}",
    "loop.limited": lambda body: f"at most {body.get('iterations')} turns of the review loop",
    "run.recovered": lambda body: f"went on from {_text(body.get('type'))}",
    "owner.told": lambda body: f"its file says: {_joined(', ', body.get('word'), body.get('phase'), body.get('step'))}",
    "context.loaded": lambda body: (
        f"loaded {', '.join(_texts(body.get('artifacts'))) or 'no artifact'} ({_text(body.get('trigger'))})"
    ),
    "context.saved": lambda body: f"Session ended: {_text(body.get('record'))} (reason: {_text(body.get('reason'))})",
    "context.compacting": lambda body: f"context is being compacted ({_text(body.get('trigger'))})",
    "context.compacted": lambda body: f"context was compacted ({_text(body.get('trigger'))})",
    "context.measured": lambda body: f"context: {body.get('tokens')} of {body.get('window')} tokens",
    "usage.counted": lambda body: f"read {body.get('read')} tokens, wrote {body.get('written')}",
    "call.kept": lambda body: f"{_text(body.get('agent'))} {_text(body.get('event'))}",
    "call.late": lambda body: f"late: {_text(body.get('agent'))} {_text(body.get('event'))}",
}
# Searchable events: the sort by which people filter, and the keys of the indexed words.
INDEXED: dict[str, tuple[str, ...]] = {
    "run.started": ("goal", "goal"),
    "run.renamed": ("goal", "name"),
    "note.added": ("note", "text"),
    "decision.made": ("decision", "decision", "because"),
    "task.added": ("task", "text"),
    "task.done": ("task", "outcome", "files"),
    "run.tagged": ("goal", "added"),
    "goal.changed": ("goal", "goal"),
    "agent.started": ("task", "task"),
    "agent.completed": ("task", "result"),
    "prompt.given": ("prompt", "text"),
    "turn.ended": ("said", "text"),
    "text.said": ("said", "text"),
    "subagent.ended": ("said", "text"),
    "action.taken": ("action", "text", "files", "error"),
    "step.planned": ("task", "steps"),
    "owner.told": ("goal", "goal"),
    "step.failed": ("error", "error"),
    "agent.failed": ("error", "error"),
    "error.met": ("error", "text"),
}
SEARCHED = {kind: keys for kind, (_, *keys) in INDEXED.items()}
SORT_OF = {kind: sort for kind, (sort, *_) in INDEXED.items()}
# How much the words of a sort weigh.
MERITS = {
    "goal": 4.0, "decision": 3.0, "note": 2.0, "task": 2.0, "prompt": 1.5, "said": 1.5, "action": 1.0, "error": 1.5
}  # fmt: skip
SORTS = {sort: tuple(kind for kind in SORT_OF if SORT_OF[kind] == sort) for sort in MERITS}
BY_MERIT = {kind: MERITS[sort] for kind, sort in SORT_OF.items()}
