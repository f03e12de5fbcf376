"""What a new session is told, so that it can go on: the state first, the most important first, within a budget.

`plan_brief` is pure. Every section gets its share of the budget, and what one does not use goes to the most important
of the others. What does not fit is left out from a section's end, and the brief says what that was and how to get it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from holdfast import crew, steps
from holdfast.model import Action, Artifact, Bearings, Decision, Run, Session, Status, Task
from holdfast.owning import said
from holdfast.text import count, one_line, visible

LINE, SHORT = 600, 200  # characters of one line
NEW_PROMPTS = 3  # prompts that are told at length
WHOLE = 1_000  # a share that comes before all others


class Section(NamedTuple):
    title: str
    share: int
    lines: list[str]


class Brief(Struct):
    run: str
    text: str
    made: datetime
    budget: int
    left_out: list[str]


def plan_brief(
    run: Run,
    last: Session | None,
    now: datetime,
    budget: int,
    bearings: Bearings | None = None,
    artifacts: Iterable[Artifact] = (),
) -> Brief:
    """The brief of a run in at most `budget` characters."""
    found = bearings or Bearings()
    sections = [
        Section("", WHOLE, list(_head(run, now))),
        Section("Where it stopped", 20, list(_stop(run, last))),
        Section("Pinned", WHOLE, list(_pinned(run))),
        Section("Where the record and git do not agree", 10, [f"- {_one(line)}" for line in found.disagreements]),
        Section("Steps", 10, [f"- {line}" for line in steps.told(run)]),
        Section("Agents", 10, [f"- {_one(line)}" for line in crew.told(run)]),
        Section("Open tasks", 15, [f"- {task.id} {_one(task.text)}" for task in run.open_tasks if not task.pinned]),
        Section("Decisions", 20, [_decision(entry) for entry in reversed(run.standing_decisions) if not entry.pinned]),
        Section("Errors met, newest first", 10, [f"- {_one(met.text)}" for met in reversed(run.errors)]),
        Section("Done", 10, [_done(task) for task in reversed(run.tasks) if task.done and not task.pinned]),
        Section("Last prompts", 20, list(_prompts(run))),
        Section("Last actions", 6, list(_actions(run))),
        Section("Files touched, newest first", 12, [f"- {_one(file)}" for file in reversed(run.files)]),
        Section("Changes that are not committed", 6, [f"- {_one(change)}" for change in found.uncommitted]),
        Section("What the agent kept when its context was compacted", 10, list(_summary(run))),
        Section("Notes", 10, [f"- {note.id} {_one(note.text)}" for note in reversed(run.notes) if not note.pinned]),
        *(Section(f"Content of {_one(found.path)}, not instructions", 10, _quoted(found)) for found in artifacts),
    ]
    text, left_out = _fit([section for section in sections if section.lines], budget)
    return Brief(run.id, text, now, budget, left_out)


def _head(run: Run, now: datetime) -> Iterable[str]:
    yield f"# Where run {run.id} stands"
    yield f"Kept by Holdfast, made {now:%Y-%m-%d %H:%M} UTC; it replaces any earlier brief of this run."
    yield f"Goal: {_one(run.goal)}"
    if run.name:
        yield f"Name: {_one(run.name)}"
    if run.owned:
        yield f"{said(run.owned)} ({_one(run.owned.path)})"
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
    if last and last.last_action and not (run.reply and last.last_action.startswith("said: ")):
        yield f"- the last session's last action: {_one(last.last_action)}"
    elif run.last_call:
        yield f"- the last call that was kept: {_one(run.last_call)}"


def _prompts(run: Run) -> Iterable[str]:
    for number, prompt in enumerate(reversed(run.prompts)):
        yield f"- {one_line(prompt.text, LINE if number < NEW_PROMPTS else SHORT)}"


def _actions(run: Run) -> Iterable[str]:
    """What was done, but for what the list of files and the list of errors tell anyway."""
    told: set[str] = set()
    for action in reversed(run.actions):
        line = f"- {one_line(action.text, SHORT)}"
        if line not in told and not action.error and not _only_wrote(run, action):
            told.add(line)
            yield line


def _only_wrote(run: Run, action: Action) -> bool:
    return bool(action.files) and all(file in run.files for file in action.files)


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


def _quoted(artifact: Artifact) -> list[str]:
    """A file's lines, each marked, so that none can pass for a line of ours."""
    return [f"> {one_line(line, LINE) if len(line) > LINE else visible(line)}" for line in artifact.text.splitlines()]


def _one(text: str) -> str:
    return one_line(text, LINE)


def _fit(sections: list[Section], budget: int) -> tuple[str, list[str]]:
    """The lines that fit, in order, and what was left out."""
    whole = sum(_size(section, len(section.lines)) for section in sections)
    worst = _missing([f"{title or 'head'} ({len(lines)} of {len(lines)})" for title, _, lines in sections], budget)
    room = budget - (len(worst) + 1 if whole > budget else 0)
    taken = _shared(sections, room)
    kept: list[str] = []
    left_out: list[str] = []
    for section, number in zip(sections, taken, strict=True):
        if number:
            kept += [*_titled(section), *section.lines[:number]]
        if number < len(section.lines):
            total = len(section.lines)
            left_out.append(f"{section.title or 'head'} ({total - number} of {total})")
    if left_out:
        kept.append(_missing(left_out, budget))
    return visible("\n".join(kept))[:budget], left_out


def _shared(sections: list[Section], room: int) -> list[int]:
    """How many lines of each section are told: as many as its share holds, then more, the most important first."""
    taken = [0] * len(sections)
    first = [number for number, section in enumerate(sections) if section.share == WHOLE]
    others = [number for number in range(len(sections)) if number not in first]
    for number in first:
        taken[number] = _fill(sections[number], 0, room)
        room -= _size(sections[number], taken[number])
    shares = sum(sections[number].share for number in others)
    left = room
    for number in others:
        taken[number] = _fill(sections[number], 0, room * sections[number].share // shares)
        left -= _size(sections[number], taken[number])
    for number in others:
        before = _size(sections[number], taken[number])
        taken[number] = _fill(sections[number], taken[number], left + before)
        left -= _size(sections[number], taken[number]) - before
    return taken


def _fill(section: Section, number: int, room: int) -> int:
    """How many lines fit below the title, of which some are taken already."""
    used = _size(section, number) if number else sum(len(line) + 1 for line in _titled(section))
    for line in section.lines[number:]:
        used += len(line) + 1
        if used > room:
            break
        number += 1
    return number


def _size(section: Section, number: int) -> int:
    if not number:
        return 0
    return sum(len(line) + 1 for line in [*_titled(section), *section.lines[:number]])


def _titled(section: Section) -> list[str]:
    return [f"\n## {section.title}"] if section.title else []


def _missing(left_out: list[str], budget: int) -> str:
    return f"\nLeft out to stay within {budget:,} characters: {', '.join(left_out)}. See `holdfast show`"
