"""Go on: start, switch, join, leave."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from holdfast.core import chat_commands
from holdfast.core.chat_commands import Order
from holdfast.core.errors import WrongUsage
from holdfast.core.model import Run, Status
from holdfast.core.recovery import recommended
from holdfast.core.text import one_line
from holdfast.ingest.catch_up import catch_up, establish
from holdfast.layouts.registry import find_layout, find_rules, is_present
from holdfast.operations import start as starting
from holdfast.operations.commands import get_verb
from holdfast.operations.resume import resume as go_on
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.questions import prompt, resume_instead
from holdfast.surfaces.cli.render import View, render
from holdfast.surfaces.cli.render.runs import told_session
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.git.repository import Repository


def start(workspace: Workspace, given: dict[str, Any]) -> Said:
    layout = given.get("layout", "native")
    if find_rules(layout).is_recovered:
        return _start_team(
            workspace, layout, given["goal"], given.get("steps", ()), given.get("pid"), given.get("agent")
        )
    found = starting.start(workspace, **given)
    return render(found, View(workspace, get_verb("start"), given))


def _start_team(
    workspace: Workspace, layout: str, goal: str, plan: tuple[str, ...], pid: int | None, agent: str | None
) -> Said:
    """Begin a Go Team run, unless the user at the terminal would rather go on with an earlier one."""
    kind = find_layout(layout)
    if is_present(workspace, kind):  # sessions of another program may be there before the first run of ours
        establish(workspace)
    if workspace.exists and not workspace.is_off:
        catch_up(workspace)
    earlier = kind.list_resumable(workspace)
    silent = {run.id: since for run in earlier if (since := kind.silent_since(workspace, run))}
    auto = workspace.settings.values["recovery.auto_resume"].value == "on"
    if auto and (interrupted := next((run for run in earlier if run.status is Status.INTERRUPTED), None)):
        ways = go_on(workspace, interrupted.id, dry_run=True).recovery
        done = go_on(workspace, interrupted.id, start_from=recommended(ways).start_from)
        return Said(done, list(kind.resumed_screen(done.run, workspace.hide(Repository(workspace.root).head().branch))))
    if earlier and is_terminal():
        terminal.emit(kind.resumable_screen(earlier, silent), sys.stderr)
        answer = prompt("Resume # (Enter: a new session)", default="", show_default=False)
        order = _answered(answer)
        if order.word == "resume":
            return Said(None, then=partial(resume_instead, _chosen(earlier, order.argument), order.way))
        goal = order.argument or goal
    found = starting.start(workspace, goal, steps=plan, layout=layout, pid=pid, agent=agent)
    talk: list[Line] = [] if is_terminal() else list(kind.resumable_screen(earlier, silent))
    talk += [f"`holdfast resume {run.id}` goes on with it" for run in earlier]
    talk += kind.started_screen(found.run, workspace.settings.number("save.interval"))
    talk += [f"Paused {id}" for id in found.paused]
    if found.session:
        talk.append(told_session(found.session))
    return Said(found, [found.run.id], talk)


def _answered(answer: str) -> Order:
    """The command that an answer is: `*new` or `*resume`, or a number or an id alone; nothing at all is `*new`."""
    text = answer.strip()
    order = chat_commands.parse(text) if text.startswith("*") else Order("resume" if text else "new", text)
    if order is None or order.word not in ("resume", "new"):
        raise WrongUsage(f'"{one_line(text, 40)}" is no answer here', [], ["a number, `*resume:ID`, or `*new`"])
    return order


def _chosen(earlier: list[Run], word: str) -> str:
    """The run of a row; without a word that of the first one, and otherwise the name itself."""
    row = int(word or "1") if (word or "1").isdecimal() else 0
    return earlier[row - 1].id if 0 < row <= len(earlier) else word
