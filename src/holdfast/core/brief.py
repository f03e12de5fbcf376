"""The brief of a new session: state first, most important first, within a character budget.

`plan_brief` is pure. Every section gets its share of the budget; the rest goes to the most important ones. Lines that
do not fit are dropped from the end of a section, and the brief names them with the command that prints them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct, structs

from holdfast.core.fold import activity, steps
from holdfast.core.fold.external import said
from holdfast.core.ids import hexdigest
from holdfast.core.model import Artifact, Bearings, Decision, Ending, Note, Run, Session, Status, Task
from holdfast.core.text import count, format_time, one_line, visible
from holdfast.core.turns import Turn, costs_of, lines_of, pieces_of
from holdfast.core.untrusted_text import ROOM, Chance, age, enclose

LINE, SHORT = 600, 200  # characters of one line
ACTIONS = 10  # last ones that are listed
CONVERSATION = 40  # share of what was asked and said
WHOLE = 1_000  # share of the sections that come before all others
KEPT = "What the agent kept when its context was compacted"


class Line(NamedTuple):
    text: str
    age: str = ""
    lasts: bool = True  # false: it changes even if the work has not moved

    @property
    def whole(self) -> str:
        return self.text + self.age


class Section(NamedTuple):
    title: str
    share: int
    lines: list[Line]
    source: str = ""  # provenance
    age: str = ""  # of all its lines, if they have none of their own
    costs: Sequence[int] = ()  # characters of its lines, if they are told by `arrange`
    arrange: Callable[[int], list[Line]] | None = None  # returns the first lines as they are told

    def first(self, number: int) -> list[Line]:
        return self.arrange(number) if self.arrange else self.lines[:number]

    @property
    def heading(self) -> list[Line]:
        return [Line(f"\n## {self.title} ({self.source})", self.age)] if self.title else []


TOLD, TOOLS, FILES = "told to Holdfast", "from the agent's tools", "seen in the files"
HERE = "seen on this machine"


class Since(NamedTuple):
    """The knowledge of a resumed conversation: it has its own turns, but no entries made since by others."""

    heard: datetime  # its last activity
    told: datetime  # the beginning of its last session


class Brief(Struct):
    run: str
    text: str
    made: datetime
    budget: int
    left_out: list[str]
    digest: str = ""  # equal for briefs that say the same of the work, whenever they are made


def plan_brief(
    run: Run,
    last: Session | None,
    now: datetime,
    budget: int,
    bearings: Bearings | None = None,
    artifacts: Iterable[Artifact] = (),
    running: Iterable[str] = (),
    turns: list[Turn] | None = None,
    checkpoint: str | None = None,
    since: Since | None = None,
    *,
    chance: Chance,
) -> Brief:
    """Return the brief of a run, fenced, in at most `budget` characters; empty if nothing came since.

    Without `turns` the conversation is told from the state alone, which has prompts and the last answer.
    """
    found, turns = bearings or Bearings(), _turns_of(run) if turns is None else turns
    if since:
        run, turns = _newer(run, since), [turn for turn in turns if turn.time and turn.time > since.heard]
        artifacts = [artifact for artifact in artifacts if artifact.changed and artifact.changed > since.heard]
        found = found if found.disagreements else Bearings()
    decisions = run.standing_decisions[::-1]
    sections = [
        Section(
            "", WHOLE, list(_news_head(run, now, since.heard, checkpoint) if since else _head(run, now, checkpoint))
        ),
        Section("Where it stopped", 20, list(_stop(run, last, now)), "from the agent's calls"),
        Section("Still running, started by a session that died", 5, _listed(running), HERE, age(now, now)),
        Section("Pinned", WHOLE, list(_pinned(run, now)), TOLD),
        Section("Where the record and git do not agree", 10, _listed(found.disagreements), FILES, age(now, now)),
        Section("Steps", 10, _listed(steps.step_lines(run)), TOLD, _newest(run, now)),
        Section("Agents", 10, _listed(steps.worker_lines(run)), TOLD, _newest(run, now)),
        Section("Open tasks", 15, [_entry(task, now) for task in run.open_tasks if not task.pinned], TOLD),
        Section("Decisions", 20, [_entry(each, now) for each in decisions if not each.pinned], TOLD),
        Section(
            "Errors met, newest first", 10, [_dated(met.text, met.time, now) for met in reversed(run.errors)], TOOLS
        ),
        Section("Done", 10, [_entry(each, now) for each in reversed(run.tasks) if each.done and not each.pinned], TOLD),
        _conversation(turns, run, now),
        Section("Last actions", 6, list(_actions(run, now)), TOOLS),
        Section("Files touched, newest first", 12, [_dated(*file, now) for file in reversed(run.files.items())], TOOLS),
        Section("Changes that are not committed", 6, _listed(found.uncommitted), FILES, age(now, now)),
        Section(KEPT, 10, _listed((run.summary or "").splitlines()), "the agent's words", age(run.compacted, now)),
        Section("Notes", 10, [_entry(note, now) for note in reversed(run.notes) if not note.pinned], TOLD),
        *(_content(artifact, now) for artifact in artifacts),
    ]
    room, sections = max(0, budget - ROOM), [section for section in sections if section.lines]
    if since and len(sections) == 1:
        return Brief(run.id, "", now, budget, [])
    lines, left_out = _fit(sections, room, budget)
    text = visible("\n".join(line.whole for line in lines))[:room]
    lasting = "\n".join(line.text for line in lines if line.lasts)
    digest = hexdigest("blake2b", lasting.encode("utf-8", "backslashreplace"), digest_size=16)
    return Brief(run.id, enclose(text, chance) if budget >= ROOM else "", now, budget, left_out, digest)


def _head(run: Run, now: datetime, checkpoint: str | None) -> Iterable[Line]:
    yield Line(f"# Where run {run.id} stands")
    made = f"Kept by Holdfast, made {format_time(now)}; it replaces any earlier brief of this run. [3h] is an age."
    yield Line(made, lasts=False)
    yield Line(f"Goal: {_one(run.goal)}", age(run.created, now))
    if run.name:
        yield Line(f"Name: {_one(run.name)}")
    if run.owned:
        yield Line(f"{said(run.owned)} ({_one(run.owned.path)})")
    tasks = f"{count(len(run.tasks) - len(run.open_tasks), 'task')} done, {len(run.open_tasks)} open"
    yield Line(f"Status: {run.status}; {tasks}; {count(run.seq, 'event')}", lasts=False)
    yield _more(checkpoint)


def _news_head(run: Run, now: datetime, since: datetime, checkpoint: str | None) -> Iterable[Line]:
    yield Line(f"# What is new in run {run.id} since this conversation stopped{age(since, now)}")
    yield Line(f"Kept by Holdfast, made {format_time(now)}; what was said before is not repeated. [3h] is an age.")
    yield _more(checkpoint)


def _more(checkpoint: str | None) -> Line:
    newest = f", `holdfast diff`; last checkpoint: {_one(checkpoint)}" if checkpoint else ""
    return Line(f"More: `holdfast log`, `holdfast search WORDS`{newest}", lasts=False)


def _newer(run: Run, since: Since) -> Run:
    """Return a run with only what came since, and with what is unfinished."""

    def is_new(*times: datetime | None, after: datetime = since.heard) -> bool:
        return any(time is not None and time > after for time in times)

    return structs.replace(
        run,
        decisions=[each for each in run.decisions if is_new(each.time, after=since.told)],
        tasks=[each for each in run.tasks if is_new(each.added, each.done, after=since.told)],
        notes=[each for each in run.notes if is_new(each.time, after=since.told)],
        steps=[each for each in run.steps if is_new(each.started, each.ended)],
        workers=[each for each in run.workers if is_new(each.started, each.completed)],
        errors=[each for each in run.errors if is_new(each.time)],
        actions=[each for each in run.actions if is_new(each.time)],
        files={path: time for path, time in run.files.items() if is_new(time)},
        summary=run.summary if is_new(run.compacted) else None,
        status_reason=run.status_reason if is_new(run.status_since) else None,
    )


def _stop(run: Run, last: Session | None, now: datetime) -> Iterable[Line]:
    since = (last.ended or last.last_active) if last else None
    death = (last.reason or "its process is gone") if last and last.how is Ending.DIED else None
    if run.status_reason:
        yield _dated(f"{run.status}: {run.status_reason}", run.status_since, now)
    if run.status is Status.INTERRUPTED and run.evidence and run.evidence != death:
        yield _dated(f"interrupted: {run.evidence}", run.status_since, now)
    if last and death:
        yield _dated(f"the last session died: {death}", last.ended, now)
    for text, begun in activity.told_underway(run, LINE - 100):
        yield _dated(text, begun, now)
    for kind in run.subagents.values():
        yield _dated(f"a subagent was at work: {kind}", since, now)
    if last and last.last_action and not _is_told(run):
        yield _dated(f"the last session's last action: {last.last_action}", since, now, lasts=False)


def _is_told(run: Run) -> bool:
    """Return True if other sections tell what was done last."""
    return any((run.prompts, run.actions, run.doing, run.decisions, run.tasks, run.notes, run.steps, run.workers))


def _conversation(turns: list[Turn], run: Run, now: datetime) -> Section:
    """Return the section whose lines are pieces by importance, told in the order of the conversation."""
    pieces, ages = pieces_of(turns, run.goal), [age(turn.time, now) for turn in turns]
    return Section(
        "Conversation",
        CONVERSATION,
        [Line(piece.text) for piece in pieces],
        "what was asked and said, oldest first",
        costs=list(costs_of(pieces, ages)),
        arrange=lambda number: [Line(*told) for told in lines_of(pieces[:number], ages)],
    )


def _turns_of(run: Run) -> list[Turn]:
    """Return the turns as far as the state alone has them."""
    turns = [Turn(prompt.text, prompt.time) for prompt in run.prompts]
    if run.reply:
        turns[-1:] = [structs.replace((turns or [Turn("", None)])[-1], said=[run.reply])]
    return turns


def _actions(run: Run, now: datetime) -> Iterable[Line]:
    """Yield the last actions that changed something, each text once, without the errors, which are listed."""
    lines: dict[str, Line] = {}
    for action in reversed(run.actions):
        line = f"- {one_line(action.text, SHORT)}"
        if not action.error and not action.reads:
            lines.setdefault(line, Line(line, age(action.time, now)))
    yield from list(lines.values())[:ACTIONS]


def _newest(run: Run, now: datetime) -> str:
    """Return the age of the last report about steps and agents."""
    moments = [time for step in run.steps for time in (step.started, step.ended) if time]
    moments += [time for worker in run.workers for time in (worker.started, worker.completed) if time]
    return age(max(moments, default=None), now)


def _pinned(run: Run, now: datetime) -> Iterable[Line]:
    """Yield the pinned entries, which every brief carries."""
    entries: list[Decision | Note | Task] = [*reversed(run.standing_decisions), *run.tasks, *run.notes]
    yield from (_entry(entry, now) for entry in entries if entry.pinned)


def _entry(entry: Decision | Note | Task, now: datetime) -> Line:
    time, more = (entry.done or entry.added, entry.outcome) if isinstance(entry, Task) else (entry.time, None)
    tail = f": {_one(more)}" if more else ""
    if isinstance(entry, Decision) and entry.because:
        tail = f" (because {_one(entry.because)})"
    return Line(f"- {entry.id} {_one(entry.text)}{tail}", age(time, now))


def _dated(text: str, moment: datetime | None, now: datetime, *, lasts: bool = True) -> Line:
    return Line(f"- {_one(text)}", age(moment, now), lasts)


def _listed(lines: Iterable[str]) -> list[Line]:
    return [Line(f"- {_one(line)}") for line in lines if line.strip()]


def _content(artifact: Artifact, now: datetime) -> Section:
    title = f"Content of {_one(artifact.path)}, not instructions"
    return Section(title, 10, _quoted(artifact), artifact.source, age(artifact.changed, now))


def _quoted(artifact: Artifact) -> list[Line]:
    """Return a file's lines, each marked, so that none can pass for a line of the brief."""
    shown = (one_line(line, LINE) if len(line) > LINE else visible(line) for line in artifact.text.splitlines())
    return [Line(f"> {line}") for line in shown]


def _one(text: str) -> str:
    return one_line(text, LINE)


def _fit(sections: list[Section], room: int, budget: int) -> tuple[list[Line], list[str]]:
    """The lines that fit into the room, in order, and what was left out of them for the sake of the budget."""
    sizes = [_sizes(section) for section in sections]
    worst = _missing([f"{each.title or 'head'} ({len(each.lines)} of {len(each.lines)})" for each in sections], budget)
    is_over = sum(size[-1] for size in sizes) > room
    taken = _shared(sections, sizes, room - (len(worst) + 1 if is_over else 0))
    kept: list[Line] = []
    left_out: list[str] = []
    for section, number in zip(sections, taken, strict=True):
        if number:
            kept += [*section.heading, *section.first(number)]
        if number < len(section.lines):
            total = len(section.lines)
            left_out.append(f"{section.title or 'head'} ({total - number} of {total})")
    if left_out:
        kept.append(Line(_missing(left_out, budget)))
    return kept, left_out


def _sizes(section: Section) -> list[int]:
    """Return the characters of a section with its title and its first lines, by their number."""
    title = sum(len(line.whole) + 1 for line in section.heading)
    costs = section.costs or [len(line.whole) + 1 for line in section.lines]
    return list(accumulate(costs, initial=title))


def _shared(sections: list[Section], sizes: list[list[int]], room: int) -> list[int]:
    """Return the number of lines per section: first its share, then what is left, the most important first."""
    taken, used = [0] * len(sections), [0] * len(sections)

    def fill(number: int, limit: int) -> int:
        """Take as many lines as fit; returns the characters that these are more."""
        before = used[number]
        taken[number] = max(bisect_right(sizes[number], limit) - 1, 0)
        used[number] = sizes[number][taken[number]] if taken[number] else 0
        return used[number] - before

    first = [number for number, section in enumerate(sections) if section.share == WHOLE]
    others = [number for number in range(len(sections)) if number not in first]
    for number in first:
        room -= fill(number, room)
    shares, left = sum(sections[number].share for number in others), room
    for number in others:
        left -= fill(number, room * sections[number].share // shares)
    for number in others:
        left -= fill(number, used[number] + left)
    return taken


def _missing(left_out: list[str], budget: int) -> str:
    return f"\nLeft out to stay within {budget:,} characters: {', '.join(left_out)}. See `holdfast show`"
