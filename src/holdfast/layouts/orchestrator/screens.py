"""The resume banner of the orchestrator's document: the state of a session, for the agent or person that resumes it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from holdfast.core.fold import steps as crew
from holdfast.core.fold.activity import UNTOLD
from holdfast.core.model import Run
from holdfast.core.text import ago, one_line
from holdfast.layouts.json_file import Unreadable, read_json
from holdfast.layouts.orchestrator import HISTORY
from holdfast.layouts.orchestrator.schema import WORDS
from holdfast.project.workspace import Workspace

WIDTH = 200
MOST = 20  # entries of one kind


def banner(run: Run, now: datetime) -> Iterator[str]:
    yield "## 🔄 RESUMING SESSION"
    yield ""
    yield from (f"**{name}**: {value}" for name, value in _head(run, now))
    yield from _section("Completed Work", [f"- ✅ {line}" for line in completed(run)])
    yield from _section("In Progress", [f"- 🔄 {crew.worker_at_work(worker)}" for worker in crew.at_work(run)])
    yield from _section("Pending", [f"{number}. {_one(task.text)}" for number, task in enumerate(run.open_tasks, 1)])
    yield from _section("Decisions", [f"- {line}" for line in decisions(run)])
    yield from _section("Context Budget", [f"- {line}" for line in budget(run, now)])
    yield ""
    yield f"**Resuming from {resuming_from(run)}...**"


def banner_rows(run: Run, now: datetime) -> list[list[str]]:
    """The banner as rows of a table, for a person."""
    found = _head(run, now)
    for name, lines in (
        ("Completed", completed(run)),
        ("In progress", [crew.worker_at_work(worker) for worker in crew.at_work(run)]),
        ("Pending", [_one(task.text) for task in run.open_tasks]),
        ("Decided", decisions(run)),
        ("Context", budget(run, now)),
    ):
        found += [[name if number == 0 else "", line] for number, line in enumerate(lines[:MOST])]
    return [*found, ["Resuming from", resuming_from(run)]]


def _head(run: Run, now: datetime) -> list[list[str]]:
    started, progress = since(run.created, now), crew.progress_text(run)
    return [["Session ID", run.id], ["Goal", _one(run.goal)], ["Started", started], ["Progress", progress]]


def completed(run: Run) -> list[str]:
    done = [task for task in run.tasks if task.done]
    return [_one(task.text) + (f" ({_one(task.outcome)})" if task.outcome else "") for task in done]


def decisions(run: Run) -> list[str]:
    return [_one(made.text) + (f" ({_one(made.because)})" if made.because else "") for made in run.standing_decisions]


def budget(run: Run, now: datetime) -> list[str]:
    tokens, window = run.context_tokens or 0, run.context_window or UNTOLD
    last = since(run.compacted, now) if run.compacted else "Never"
    return [f"Tokens used: ~{tokens:,} ({round(100 * tokens / window)}%)", f"Last compression: {last}"]


def resuming_from(run: Run) -> str:
    workers = crew.at_work(run)
    if workers:
        return _one(workers[-1].id)
    return _one(run.open_tasks[0].text) if run.open_tasks else "the goal"


def since(time: datetime | None, now: datetime) -> str:
    return ago(min(time, now), now) if time else "unknown"


def find_word(workspace: Workspace, run: Run) -> str:
    """The status in the word of the run's archived file; without one, in the word that we would write."""
    place = Path(run.archived or "")
    if run.worktree == workspace.worktree and place.parent == Path(HISTORY):
        try:
            word = read_json(workspace.root / place, root=workspace.root).value.get("status")
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
