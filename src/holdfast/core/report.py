"""Reports of a run: Markdown for a pull request description, and a self-contained SVG timeline.

Markup in untrusted text is escaped. In the SVG idle time is compressed, or a night would be longer than all the work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from holdfast.core.event_text import headline
from holdfast.core.fold.activity import format_usage, has_usage, total_usage
from holdfast.core.model import Checkpoint, Ending, Event, Run, Session, Step, Task
from holdfast.core.text import Zone, as_code, as_markdown, as_xml, count, format_date, format_time

MOST = 50  # rows of each list
WIDTH = 300  # characters of each entry
LONGEST = 60_000  # characters of a whole report; a GitHub description holds 65,536


def recount(run: Run, sessions: list[Session], checkpoints: list[Checkpoint]) -> str:
    """Return the report of a run: goal, work, decisions, files, open tasks, sessions, cost."""
    parts = [
        _head(run, sessions, checkpoints),
        _section("What was done", _done(run)),
        _section("Decisions", _decisions(run)),
        _section("Files changed", [f"- {as_code(path)}" for path in reversed(run.files)]),
        _section("Open tasks", [f"- [ ] {as_markdown(task.text, WIDTH)}" for task in run.open_tasks]),
        _section("Notes", [f"- {as_markdown(note.text, WIDTH)}" for note in run.notes]),
        _section("Errors met", [f"- {as_markdown(met.text, WIDTH)}" for met in run.errors]),
        _sessions(sessions),
        _checkpoints(checkpoints),
    ]
    text = ""
    for part in filter(None, parts):
        if len(text) + len(part) > LONGEST:
            return text + "\nThe rest is too long for a report: `holdfast show " + run.id + "` has it.\n"
        text += ("\n" if text else "") + part
    return text


def _head(run: Run, sessions: list[Session], checkpoints: list[Checkpoint]) -> str:
    facts = [
        as_code(run.id),
        run.status.value,
        " to ".join(format_date(time) if time else "?" for time in (run.created, run.updated)),
        count(len(sessions), "session"),
        count(len(checkpoints), "checkpoint"),
    ]
    if cost := format_usage(total_usage(sessions)):
        facts.append(cost)
    lines = [f"# {as_markdown(run.title, 200)}", "", " · ".join(facts)]
    if run.name and run.goal:
        lines += ["", f"Goal: {as_markdown(run.goal, 2000)}"]
    return "\n".join(lines) + "\n"


def _section(title: str, rows: Iterable[str], head: Iterable[str] = (), more: str = "- ") -> str:
    listed = list(rows)
    if not listed:
        return ""
    rest = [f"{more}and {len(listed) - MOST:,} more"] if len(listed) > MOST else []
    return "\n".join([f"## {title}", "", *head, *listed[:MOST], *rest]) + "\n"


def _done(run: Run) -> Iterator[str]:
    yield from map(_step, run.steps)
    yield from (_task(task) for task in run.tasks if task.done)
    if not run.steps and not any(task.done for task in run.tasks):
        done = (action for action in reversed(run.actions) if not action.error)
        yield from (f"- {as_markdown(action.text, WIDTH)}" for action in done)


def _step(step: Step) -> str:
    mark = "x" if step.status == "completed" else " "
    error = f": {as_markdown(step.error, WIDTH)}" if step.error else ""
    return f"- [{mark}] step {as_markdown(step.name, WIDTH)} ({step.status}){error}"


def _task(task: Task) -> str:
    outcome = f": {as_markdown(task.outcome, WIDTH)}" if task.outcome else ""
    files = f" ({', '.join(as_code(path) for path in task.files[:5])})" if task.files else ""
    return f"- [x] {as_markdown(task.text, WIDTH)}{outcome}{files}"


def _decisions(run: Run) -> Iterator[str]:
    for decision in run.decisions:
        text = as_markdown(decision.text, WIDTH)
        because = f", because {as_markdown(decision.because, WIDTH)}" if decision.because else ""
        taken_back = f": {as_markdown(decision.revoked_because, WIDTH)}" if decision.revoked_because else ""
        yield f"- ~~{text}~~ (revoked{taken_back})" if decision.revoked else f"- **{text}**{because}"


def _sessions(sessions: list[Session]) -> str:
    has_cost = any(map(has_usage, sessions))
    columns = ["session", "agent", "opened", "lasted", "how it ended", *(["tokens read", "written", "cost"] * has_cost)]
    return _table("Sessions", columns, [_session(session, has_cost) for session in sessions])


def _session(session: Session, has_cost: bool) -> list[str]:
    used = [f"{session.tokens_read:,}", f"{session.tokens_written:,}"] if has_usage(session) else ["", ""]
    cost = f"{session.cost:,.2f} USD" if session.cost is not None else ""
    who = ", ".join(filter(None, (session.agent, session.model)))
    return [
        as_code(session.id),
        as_markdown(who, 80),
        format_time(session.opened),
        lasting(session.ended - session.opened) if session.ended else "",
        as_markdown(session.how or "open", 40),
        *([*used, cost] if has_cost else []),
    ]


def _checkpoints(checkpoints: list[Checkpoint]) -> str:
    named = [made for made in checkpoints if made.name or made.message] or checkpoints
    rows = [
        [as_code(made.id), format_time(made.time), f"{made.changes:,}", as_markdown(_about(made), 120)]
        for made in named
    ]
    return _table("Checkpoints", ["checkpoint", "made", "files", "what"], rows)


def _about(made: Checkpoint) -> str:
    return made.name or made.message or made.kind


def _table(title: str, columns: list[str], rows: list[list[str]]) -> str:
    head, line, *lines = (f"| {' | '.join(cells)} |" for cells in (columns, ["---"] * len(columns), *rows))
    return _section(title, lines, [head, line], more="\n")


def lasting(time: timedelta) -> str:
    """Return a duration as `3 min`, `2 h 05 min`, `4 d 03 h`."""
    minutes = max(0, int(time.total_seconds())) // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24:02d} h"


# The SVG

ACROSS, LEFT, RIGHT, TOP, ROW = 960, 150, 24, 84, 26
GAP = 46  # width of an idle period
LABEL = "Timeline of"
LEAST = 24  # least width of an active period
SHORTEST = timedelta(minutes=10)  # a shorter idle period is no gap
MOST_SESSIONS, MOST_MARKS = 40, 400
LANES = ("prompt", "decision", "checkpoint", "compaction", "error")
KINDS = {
    "prompt.given": "prompt", "decision.made": "decision", "context.compacted": "compaction", "error.met": "error",
    "step.failed": "error", "agent.failed": "error",
}  # fmt: skip
SHAPES = {
    "prompt": "M-1,-6h2v12h-2z",
    "decision": "M0,-6a6,6 0 1,0 0.01,0z",
    "checkpoint": "M0,-7l6.5,12h-13z",
    "compaction": "M0,-7l6,7l-6,7l-6,-7z",
    "error": "M-6,-4l2,-2l4,4l4,-4l2,2l-4,4l4,4l-2,2l-4,-4l-4,4l-2,-2l4,-4z",
}
LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "faint": "#59636e", "line": "#d1d9e0", "bar": "#4f86c6", "open": "#2da44e",
    "died": "#cf5b4a", "prompt": "#8250df", "decision": "#0a7d74", "checkpoint": "#9a6700", "compaction": "#6e7781",
    "error": "#cf222e",
}  # fmt: skip
DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "faint": "#9198a1", "line": "#30363d", "bar": "#5b93d6", "open": "#3fb950",
    "died": "#e0705f", "prompt": "#a371f7", "decision": "#39c5bb", "checkpoint": "#d29922", "compaction": "#8b949e",
    "error": "#f85149",
}  # fmt: skip


def _style() -> str:
    """Colours for light and dark, in plain CSS."""
    light, dark = (" ".join(_rules(colours)) for colours in (LIGHT, DARK))
    text = "text { font: 12px system-ui, sans-serif; } .title { font-size: 16px; font-weight: 600; }"
    return f"{text} .gap {{ stroke-dasharray: 2 4; }}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _rules(colours: dict[str, str]) -> Iterator[str]:
    yield from (f".{name} {{ fill: {colour}; }}" for name, colour in colours.items())
    yield f"line {{ stroke: {colours['line']}; }} .gap {{ stroke: {colours['faint']}; }}"


class Mark(NamedTuple):
    time: datetime
    sort: str
    text: str


class Stretch(NamedTuple):
    """A period of activity, and its place in the drawing."""

    begin: datetime
    end: datetime
    left: float = 0.0
    width: float = 0.0


def marks_of(events: Iterable[Event], checkpoints: Iterable[Checkpoint]) -> list[Mark]:
    """Return the marks below the sessions in order of time, the newest `MOST_MARKS`."""
    found = [Mark(made.time, "checkpoint", f"{made.id}  {_about(made)}") for made in checkpoints]
    for event in events:
        failed = event.kind == "action.taken" and event.body.get("error")
        if sort := "error" if failed else KINDS.get(event.kind):
            found.append(Mark(event.time, sort, headline(event)))
    return sorted(found)[-MOST_MARKS:]


def draw(run: Run, sessions: list[Session], marks: list[Mark]) -> str:
    """Return the drawing of a run. Untrusted text is escaped."""
    shown = sorted(sessions, key=lambda session: session.opened)[-MOST_SESSIONS:]
    scale = Scale(_stretches(run, shown, marks))
    lanes = [sort for sort in LANES if any(mark.sort == sort for mark in marks)]
    below = TOP + ROW * len(shown)
    height = below + ROW * len(lanes) + 40
    body = [
        *_title(run, sessions, len(shown)),
        *_gaps(scale, below + ROW * len(lanes)),
        *(line for at, session in enumerate(shown) for line in _bar(session, run, scale, TOP + ROW * at)),
        *(line for at, sort in enumerate(lanes) for line in _lane(sort, marks, scale, below + ROW * at)),
        *_axis(scale, below + ROW * len(lanes)),
    ]
    label = as_xml(f"{LABEL} {run.id}: {run.title}", 200)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ACROSS} {height}" width="{ACROSS}" height="{height}"'
        f' role="img" aria-label="{label}">\n<style>{_style()}</style>\n'
        f'<rect width="{ACROSS}" height="{height}" class="paper"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def is_drawn(head: bytes) -> bool:
    """Return True if a file that begins so was drawn by `draw`."""
    return head.startswith(b"<svg ") and f' aria-label="{LABEL} '.encode() in head.partition(b">")[0]


class Scale:
    def __init__(self, stretches: list[Stretch]) -> None:
        gaps = GAP * (len(stretches) - 1)
        least = LEAST * len(stretches)
        room = max(ACROSS - LEFT - RIGHT - gaps - least, 0)
        total = sum((found.end - found.begin).total_seconds() for found in stretches) or 1.0
        left, self.stretches = float(LEFT), list[Stretch]()
        for found in stretches:
            width = LEAST + room * (found.end - found.begin).total_seconds() / total
            self.stretches.append(found._replace(left=left, width=width))
            left += width + GAP

    def x(self, time: datetime) -> float:
        for found in self.stretches:
            if time <= found.end:
                length = (found.end - found.begin).total_seconds()
                share = (time - found.begin).total_seconds() / length if length else 0.5
                return found.left + found.width * min(1.0, max(0.0, share))
        last = self.stretches[-1]
        return last.left + last.width


def _stretches(run: Run, sessions: list[Session], marks: list[Mark]) -> list[Stretch]:
    """Return the periods of activity, merged until all of them and the gaps fit."""
    spans = sorted(
        [(session.opened, _end(session, run)) for session in sessions] + [(mark.time, mark.time) for mark in marks]
    )
    first = run.created or (spans[0][0] if spans else datetime(1970, 1, 1, tzinfo=UTC))
    least = SHORTEST
    while True:
        merged = [[first, first]]
        for begin, end in spans:
            if begin - merged[-1][1] <= least:
                merged[-1][1] = max(merged[-1][1], end)
            else:
                merged.append([begin, end])
        if len(merged) <= 8:
            return [Stretch(begin, end) for begin, end in merged]
        least *= 2


def _end(session: Session, run: Run) -> datetime:
    end = session.ended or (run.updated if session.id in run.open_sessions else None) or session.last_active
    return max(end or session.opened, session.opened)


def _title(run: Run, sessions: list[Session], shown: int) -> Iterator[str]:
    facts = [
        run.id,
        run.status.value,
        format_date(run.created) if run.created else "",
        format_usage(total_usage(sessions)) or "",
    ]
    if shown < len(sessions):
        facts.append(f"the last {shown} of {len(sessions)} sessions")
    whole = as_xml(run.title, 1000)
    yield f'<text class="title ink" x="24" y="32">{as_xml(run.title, 100)}<title>{whole}</title></text>'
    yield f'<text class="faint" x="24" y="54">{as_xml(" · ".join(filter(None, facts)))}</text>'


def _bar(session: Session, run: Run, scale: Scale, y: int) -> Iterator[str]:
    left, right = scale.x(session.opened), scale.x(_end(session, run))
    colour = "open" if session.is_open else "bar" if session.how in (Ending.ENDED, Ending.STOPPED) else "died"
    about = [
        f"{session.id} {session.agent or ''}".strip(),
        f"{format_time(session.opened)}, {lasting(_end(session, run) - session.opened)}",
        ": ".join(filter(None, (session.how or "open", session.reason))),
        format_usage(total_usage([session])) or "",
    ]
    name, told = as_xml(session.agent or session.id, 18), as_xml(" | ".join(filter(None, about)), 600)
    yield f'<text class="ink" x="24" y="{y + 15}">{name}</text>'
    yield (
        f'<rect x="{left:.1f}" y="{y + 3}" width="{max(3.0, right - left):.1f}" height="16" rx="3"'
        f' class="{colour}"><title>{told}</title></rect>'
    )


def _lane(sort: str, marks: list[Mark], scale: Scale, y: int) -> Iterator[str]:
    yield f'<text class="faint" x="24" y="{y + 16}">{sort}s</text>'
    yield f'<line x1="{LEFT}" x2="{ACROSS - RIGHT}" y1="{y + 12}" y2="{y + 12}"/>'
    for mark in marks:
        if mark.sort == sort:
            told = as_xml(f"{format_time(mark.time)}  {mark.text}", 400)
            place = f"translate({scale.x(mark.time):.1f},{y + 12})"
            yield f'<path d="{SHAPES[sort]}" transform="{place}" class="{sort}"><title>{told}</title></path>'


def _gaps(scale: Scale, bottom: int) -> Iterator[str]:
    for before, after in zip(scale.stretches, scale.stretches[1:], strict=False):
        x = before.left + before.width + GAP / 2
        yield f'<line class="gap" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 8}" y2="{bottom}"/>'
        told = lasting(after.begin - before.end)
        yield f'<text class="faint" x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{told}</text>'


def _axis(scale: Scale, y: int) -> Iterator[str]:
    yield f'<line x1="{LEFT}" x2="{ACROSS - RIGHT}" y1="{y + 4}" y2="{y + 4}"/>'
    free = 0.0
    for found in scale.stretches:
        if found.left >= free:
            begin = format_time(found.begin, Zone.LOCAL)[5:]
            yield f'<text class="faint" x="{found.left:.1f}" y="{y + 22}">{begin}</text>'
            free = found.left + 84
