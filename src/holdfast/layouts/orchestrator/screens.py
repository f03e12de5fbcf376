"""The resume banner of the orchestrator's document: where a session stands, for whoever goes on with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from holdfast.core.fold import steps
from holdfast.core.fold.activity import UNTOLD
from holdfast.core.model import Run
from holdfast.core.text import count, one_line
from holdfast.layouts.json_file import Unreadable, read_face
from holdfast.layouts.orchestrator.rules import HISTORY
from holdfast.layouts.orchestrator.schema import WORDS
from holdfast.project.workspace import Workspace

WIDTH = 200
MOST = 20  # entries of one kind


def banner(run: Run, now: datetime) -> Iterator[str]:
    """The banner in Markdown, as an agent reads it."""
    yield "## 🔄 RESUMING SESSION"
    yield ""
    yield f"**Session ID**: {run.id}"
    yield f"**Goal**: {_one(run.goal)}"
    yield f"**Started**: {since(run.created, now)}"
    yield f"**Progress**: {steps.progress_text(run)}"
    yield from _section("Completed Work", [f"- ✅ {line}" for line in completed(run)])
    yield from _section("In Progress", [f"- 🔄 {steps.worker_at_work(worker)}" for worker in steps.at_work(run)])
    yield from _section("Pending", [f"{number}. {_one(task.text)}" for number, task in enumerate(run.open_tasks, 1)])
    yield from _section("Decisions", [f"- {line}" for line in decisions(run)])
    yield from _section("Context Budget", [f"- {line}" for line in budget(run, now)])
    yield ""
    yield f"**Resuming from {resuming_from(run)}...**"


def banner_rows(run: Run, now: datetime) -> list[list[str]]:
    """The same as rows of a table, for a person."""
    found = [
        ["Session ID", run.id],
        ["Goal", _one(run.goal)],
        ["Started", since(run.created, now)],
        ["Progress", steps.progress_text(run)],
    ]
    for name, lines in (
        ("Completed", completed(run)),
        ("In progress", [steps.worker_at_work(worker) for worker in steps.at_work(run)]),
        ("Pending", [_one(task.text) for task in run.open_tasks]),
        ("Decided", decisions(run)),
        ("Context", budget(run, now)),
    ):
        found += [[name if number == 0 else "", line] for number, line in enumerate(lines[:MOST])]
    return [*found, ["Resuming from", resuming_from(run)]]


def completed(run: Run) -> list[str]:
    done = [task for task in run.tasks if task.done]
    return [_one(task.text) + (f" ({_one(task.outcome)})" if task.outcome else "") for task in done]


def decisions(run: Run) -> list[str]:
    return [_one(made.text) + (f" ({_one(made.because)})" if made.because else "") for made in run.standing_decisions]


def budget(run: Run, now: datetime) -> list[str]:
    """How full the context is, of its window where that is known."""
    tokens, window = run.context_tokens or 0, run.context_window or UNTOLD
    last = since(run.compacted, now) if run.compacted else "Never"
    return [f"Tokens used: ~{tokens:,} ({round(100 * tokens / window)}%)", f"Last compression: {last}"]


def resuming_from(run: Run) -> str:
    """The agent at work that came last, or else the next task."""
    workers = steps.at_work(run)
    if workers:
        return _one(workers[-1].id)
    return _one(run.open_tasks[0].text) if run.open_tasks else "the goal"


def since(time: datetime | None, now: datetime) -> str:
    """`2 hours ago`."""
    if time is None:
        return "unknown"
    span = max(timedelta(0), now - time)
    for noun, unit in (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1))):
        if span >= unit:
            return f"{count(span // unit, noun)} ago"
    return "just now"


def find_word(workspace: Workspace, run: Run) -> str:
    """The status of a run in the words of its file in the history; where there is none, as we would write it."""
    place = Path(run.archived or "")
    if run.worktree == workspace.worktree and place.parent == Path(HISTORY):
        try:
            word = read_face(workspace.root / place, root=workspace.root).value.get("status")
        except Unreadable:
            word = None
        if isinstance(word, str) and word.strip():
            return one_line(word, 40)
    return WORDS[run.status]


def _section(title: str, lines: list[str]) -> Iterator[str]:
    if not lines:
        return
    yield ""
    yield f"### {title}"
    yield from lines[:MOST]
    if len(lines) > MOST:
        yield f"- and {len(lines) - MOST:,} more"


def _one(text: str) -> str:
    return one_line(text, WIDTH)
