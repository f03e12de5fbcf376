"""A run as Markdown for a pull request description: short, with all markup escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from holdfast.core.fold.activity import format_usage, has_usage, total_usage
from holdfast.core.model import Checkpoint, Run, Session, Step, Task
from holdfast.core.text import as_code, as_markdown, count, format_date, format_time

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
        f"{_day(run.created)} to {_day(run.updated)}",
        count(len(sessions), "session"),
        count(len(checkpoints), "checkpoint"),
    ]
    if cost := format_usage(total_usage(sessions)):
        facts.append(cost)
    lines = [f"# {as_markdown(run.title, 200)}", "", " · ".join(facts)]
    if run.name and run.goal:
        lines += ["", f"Goal: {as_markdown(run.goal, 2000)}"]
    return "\n".join(lines) + "\n"


def _section(title: str, rows: Iterable[str]) -> str:
    listed = list(rows)
    if not listed:
        return ""
    more = [f"- and {len(listed) - MOST:,} more"] if len(listed) > MOST else []
    return "\n".join([f"## {title}", "", *listed[:MOST], *more]) + "\n"


def _done(run: Run) -> Iterator[str]:
    yield from map(_step, run.steps)
    yield from (_task(task) for task in run.tasks if task.done)
    if not run.steps and not any(task.done for task in run.tasks):
        yield from (f"- {as_markdown(action.text, WIDTH)}" for action in reversed(run.actions))


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
        _lasted(session),
        as_markdown(session.how or "open", 40),
        *([*used, cost] if has_cost else []),
    ]


def _checkpoints(checkpoints: list[Checkpoint]) -> str:
    named = [made for made in checkpoints if made.name or made.message] or checkpoints
    what = [as_markdown(made.name or made.message or made.kind, 120) for made in named]
    rows = [
        [as_code(made.id), format_time(made.time), f"{made.changes:,}", about]
        for made, about in zip(named, what, strict=True)
    ]
    return _table("Checkpoints", ["checkpoint", "made", "files", "what"], rows)


def _table(title: str, columns: list[str], rows: list[list[str]]) -> str:
    if not rows:
        return ""
    lines = [f"| {' | '.join(cells)} |" for cells in ([*columns], ["---"] * len(columns), *rows[:MOST])]
    more = ["", f"and {len(rows) - MOST:,} more"] if len(rows) > MOST else []
    return "\n".join([f"## {title}", "", *lines, *more]) + "\n"


def _day(time: datetime | None) -> str:
    return format_date(time) if time else "?"


def _lasted(session: Session) -> str:
    return lasting(session.ended - session.opened) if session.ended else ""


def lasting(time: timedelta) -> str:
    """Return a duration as `3 min`, `2 h 05 min`, `4 d 03 h`."""
    minutes = max(0, int(time.total_seconds())) // 60
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02d} min" if hours < 48 else f"{hours // 24} d {hours % 24:02d} h"
