"""Go on: start, switch, join, leave."""

from __future__ import annotations

import sys
from functools import partial

import click

from holdfast.core import chat_commands
from holdfast.core.chat_commands import Order
from holdfast.core.errors import WrongUsage
from holdfast.core.model import Run, Session, Status
from holdfast.core.recovery import recommended
from holdfast.core.text import one_line
from holdfast.ingest.catch_up import catch_up, establish
from holdfast.layouts.registry import find_layout, find_rules, layouts
from holdfast.operations import join as joining, leave as leaving, start as starting, switch as switching
from holdfast.operations.resume import resume as go_on
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.decorators import complete_run, resume_instead, verb
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.git.repository import Repository

MODES = [mode for layout in layouts() for mode in layout.MODES]
PID = click.option(
    "--pid", type=click.IntRange(1), metavar="PID", help="The process that the session lives and dies with."
)
AGENT = click.option("--agent", metavar="NAME", help="The agent that works on it.")


@verb('holdfast start "Add retries to the client" --steps design,code,test')
@click.argument("goal")
@click.option("--steps", metavar="A,B", help="Its steps, with commas between; the last one completed completes it.")
@click.option("--layout", type=click.Choice(starting.STARTED), default="native", help="As which system's run.")
@click.option("--mode", type=click.Choice(MODES), help="Of an orchestrator.")
@PID
@AGENT
def start(
    workspace: Workspace,
    goal: str,
    steps: str | None,
    layout: str,
    mode: str | None,
    pid: int | None,
    agent: str | None,
) -> Said:
    """Begin a run. Prints its id; shows what could be resumed instead."""
    plan = tuple(filter(None, (name.strip() for name in (steps or "").split(","))))
    if find_rules(layout).is_recovered:
        return _start_team(workspace, layout, goal, plan, pid, agent)
    found = starting.start(workspace, goal, steps=plan, layout=layout, mode=mode, pid=pid, agent=agent)
    talk: list[Line] = [f"Started {found.run.id}: {one_line(found.run.goal, 80)}"]
    talk += [f"Paused {id}" for id in found.paused]
    talk += [f"Archived {id}" for id in found.archived]
    talk += [
        f"Could go on instead: `holdfast switch {run.id}`  {run.status}, {one_line(run.title, 60)}"
        for run in found.resumable
    ]
    if found.session:
        talk.append(_export(found.session))
    return Said(found, [found.run.id], talk)


def _start_team(
    workspace: Workspace, layout: str, goal: str, plan: tuple[str, ...], pid: int | None, agent: str | None
) -> Said:
    """Begin a Go Team run, unless the user at the terminal would rather go on with an earlier one."""
    kind = find_layout(layout)
    if kind.is_present(workspace):  # sessions of another program may be there before the first run of ours
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
        answer = str(click.prompt("Resume # (Enter: a new session)", default="", show_default=False, err=True))
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
        talk.append(_export(found.session))
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


@verb("holdfast switch run-4x9k2m7pq3")
@click.argument("run", shell_complete=complete_run)
def switch(workspace: Workspace, run: str) -> Said:
    """Choose the run that commands in this worktree mean."""
    found = switching.switch(workspace, run)
    moved = [f"It moved here from {found.moved_from}"] if found.moved_from else []
    return Said(found, [found.run.id], [f"Now on {found.run.id}: {one_line(found.run.title, 80)}", *moved])


@verb("holdfast join run-4x9k2m7pq3 --pid $$")
@click.argument("run", required=False, shell_complete=complete_run)
@PID
@AGENT
@click.option("--take-over", is_flag=True, help="Fence the sessions that are on it: they cannot write any more.")
def join(workspace: Workspace, run: str | None, pid: int | None, agent: str | None, take_over: bool) -> Said:
    """Open a session on a run, together with those who work on it or in their place. Prints its id."""
    found = joining.join(workspace, run, pid=pid, agent=agent, take_over=take_over)
    talk: list[Line] = [f"Joined {found.run.id}: {one_line(found.run.title, 80)}", _export(found.session)]
    talk += [f"Taken over from {session.id}" for session in found.taken_from]
    talk += [f"Also on it: {session.id}" for session in found.others]
    return Said(found, [found.session.id], talk)


@verb("holdfast leave ses-7pq34x9k2m")
@click.argument("session", envvar="HOLDFAST_SESSION")
@click.option("--reason", metavar="TEXT", help="Why.")
def leave(workspace: Workspace, session: str, reason: str | None) -> Said:
    """End a session; its run stays as it is. Without a name: the session of this shell."""
    found = leaving.leave(workspace, session, reason=reason)
    return Said(found, [found.session.id], [f"Ended {found.session.id}" if found.changed else "It had ended already"])


def _export(session: Session) -> str:
    return f"Its session is {session.id}; hand it on with `export HOLDFAST_SESSION={session.id}`"
