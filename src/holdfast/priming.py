"""What a new session is told, so that it can go on: the state first, the most important first, within a budget.

`plan_brief` is pure. What does not fit is left out from the end, and the brief says what that was and how to get it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from holdfast.model import Action, Decision, Run, Session, Status, Task
from holdfast.text import count, one_line, visible

RESERVE = 220  # characters kept free for the line that says what was left out
LINE = 600


class Section(NamedTuple):
    title: str
    lines: list[str]


class Brief(Struct):
    run: str
    text: str
    made: datetime
    budget: int
    left_out: list[str]


def plan_brief(run: Run, last: Session | None, now: datetime, budget: int) -> Brief:
    """The brief of a run in at most `budget` characters."""
    sections = [
        Section("", list(_head(run, now))),
        Section("Where it stopped", list(_stop(run, last))),
        Section("Pinned", list(_pinned(run))),
        Section("Open tasks", [f"- {task.id} {_one(task.text)}" for task in run.open_tasks if not task.pinned]),
        Section("Decisions", [_decision(entry) for entry in reversed(run.standing_decisions) if not entry.pinned]),
        Section("Errors met, newest first", [f"- {_one(error)}" for error in reversed(run.errors)]),
        Section("Done", [_done(task) for task in reversed(run.tasks) if task.done and not task.pinned]),
        Section("Last prompts", [f"- {_one(prompt.text)}" for prompt in reversed(run.prompts)]),
        Section("Last actions", [_action(action) for action in reversed(run.actions)]),
        Section("Files touched, newest first", [f"- {_one(file)}" for file in reversed(run.files)]),
        Section("What the agent kept when its context was compacted", list(_summary(run))),
        Section("Notes", [f"- {note.id} {_one(note.text)}" for note in reversed(run.notes) if not note.pinned]),
    ]
    text, left_out = _fit([section for section in sections if section.lines], budget)
    return Brief(run.id, text, now, budget, left_out)


def _head(run: Run, now: datetime) -> Iterable[str]:
    yield f"# Where run {run.id} stands"
    yield f"Kept by Holdfast, made {now:%Y-%m-%d %H:%M} UTC; it replaces any earlier brief of this run."
    yield f"Goal: {_one(run.goal)}"
    if run.name:
        yield f"Name: {_one(run.name)}"
    done = len(run.tasks) - len(run.open_tasks)
    yield f"Status: {run.status}; {count(done, 'task')} done, {len(run.open_tasks)} open; {count(run.seq, 'event')}"


def _stop(run: Run, last: Session | None) -> Iterable[str]:
    if run.status_reason:
        yield f"- {run.status}: {_one(run.status_reason)}"
    if run.status is Status.INTERRUPTED and run.evidence:
        yield f"- interrupted: {_one(run.evidence)}"
    if last and last.how == "died":
        yield f"- the last session died: {_one(last.reason or 'its process is gone')}"
    for text in run.doing.values():
        yield f"- it was in the middle of: {_one(text)}"
    for kind in run.subagents.values():
        yield f"- a subagent was at work: {_one(kind)}"
    if run.reply:
        yield f"- the agent's last words: {_one(run.reply)}"
    if last and last.last_action:
        yield f"- the last session's last action: {_one(last.last_action)}"
    elif run.last_call:
        yield f"- the last call that was kept: {_one(run.last_call)}"


def _summary(run: Run) -> Iterable[str]:
    return (f"- {_one(line)}" for line in (run.summary or "").splitlines() if line.strip())


def _pinned(run: Run) -> Iterable[str]:
    """What every brief carries, before anything that could crowd it out."""
    yield from (_decision(entry) for entry in reversed(run.standing_decisions) if entry.pinned)
    yield from (_done(task) for task in run.tasks if task.pinned)
    yield from (f"- {note.id} {_one(note.text)}" for note in run.notes if note.pinned)


def _decision(entry: Decision) -> str:
    return f"- {entry.id} {_one(entry.text)}" + (f" (because {_one(entry.because)})" if entry.because else "")


def _done(task: Task) -> str:
    return f"- {task.id} {_one(task.text)}" + (f": {_one(task.outcome)}" if task.outcome else "")


def _action(action: Action) -> str:
    return f"- {_one(action.text)}" + (f" (failed: {_one(action.error)})" if action.error else "")


def _one(text: str) -> str:
    return one_line(text, LINE)


def _fit(sections: list[Section], budget: int) -> tuple[str, list[str]]:
    kept: list[str] = []
    left_out: list[str] = []
    total = sum(len(line) + 1 for title, lines in sections for line in [f"## {title}", "", *lines])
    worst = _missing([f"{title or 'head'} ({len(lines)} of {len(lines)})" for title, lines in sections], budget)
    room = budget - (len(worst) + 1 if total > budget else 0)
    for title, lines in sections:
        block = [f"\n## {title}"] if title else []
        room, fitting = _fill(block, lines, room)
        if fitting:
            kept += [*block, *lines[:fitting]]
        if fitting < len(lines):
            left_out.append(f"{title or 'head'} ({len(lines) - fitting} of {len(lines)})")
    if left_out:
        kept.append(_missing(left_out, budget))
    return visible("\n".join(kept))[:budget], left_out


def _missing(left_out: list[str], budget: int) -> str:
    return f"\nLeft out to stay within {budget:,} characters: {', '.join(left_out)}. See `holdfast show`"


def _fill(block: list[str], lines: list[str], room: int) -> tuple[int, int]:
    """How many lines fit below the title, and the room that is left then."""
    used = sum(len(line) + 1 for line in block)
    for fitting, line in enumerate(lines):
        if used + len(line) + 1 > room:
            return (room - used, fitting) if fitting else (room, 0)
        used += len(line) + 1
    return room - used, len(lines)
