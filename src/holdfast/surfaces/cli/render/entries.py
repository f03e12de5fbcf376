"""What a run was told: notes, decisions, tasks, steps, agents, hand-offs; its context, brief and sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.core import chat_commands
from holdfast.core.errors import WrongUsage
from holdfast.core.fold.activity import format_fill
from holdfast.core.model import Worker
from holdfast.core.text import count, one_line
from holdfast.core.untrusted_text import enclose
from holdfast.layouts import results
from holdfast.layouts.registry import find_layout
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, listed, previews, renders, say
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import FILL_STYLE, Line, when

if TYPE_CHECKING:
    from holdfast.core import brief
    from holdfast.layouts import save
    from holdfast.operations import chat_command, context, entries, step, team
    from holdfast.project.workspace import Workspace


def _handed(found: team.Handed) -> str:
    before = f", from {one_line(found.before, 60)}" if found.before else ""
    return f"{found.run} was handed to {found.agent}{before}" if found.changed else f"{found.agent} had it already"


def _stopped(found: team.Breakpoint) -> str:
    word = "waits at a breakpoint" if found.on else "goes on"
    return f"{found.run} {word}" if found.changed else "It was so already"


def _saved(found: save.Saved) -> str:
    where = f"{found.run} at event {found.seq:,}"
    return f"Saved {where} as {found.checkpoint.id}" if found.changed else f"Nothing changed since {where}"


def _agent(found: step.AgentTold) -> str:
    one, now = found.agent, "is" if found.changed else "was already"
    far = f" at {one.progress} %" if one.progress is not None and one.completed is None else ""
    return f"Agent {one.id} of {found.run} {now} {one.status}{far}: {one_line(one.task, 80)}"


def _became(entry: str, word: str, changed: bool) -> str:
    return f"{entry} is {word}" if changed else f"{entry} was {word} already"


say(
    {
        "step.AgentTold": lambda found: (found.agent.id, _agent(found)),
        "context.Compressed": lambda found: (
            str(found.seq),
            f"{found.run} has {count(found.compactions, 'compaction')}",
        ),
        "entries.Decided": lambda found: (found.entry, f"Decided on {found.run}"),
        "entries.Forgotten": lambda found: (str(found.seq), f"{found.run} has forgotten event {found.seq}"),
        "entries.Noted": lambda found: (found.entry, f"Noted on {found.run}"),
        "entries.Pinned": lambda found: (found.entry, f"{found.entry} is {'pinned' if found.pinned else 'not pinned'}"),
        "entries.Recorded": lambda found: (str(found.seq), f"Recorded on {found.run}"),
        "entries.Renamed": lambda found: (found.run.id, f"{found.run.id} is called {one_line(found.run.title, 80)}"),
        "entries.Revoked": lambda found: (found.entry, _became(found.entry, "revoked", found.changed)),
        "entries.Tagged": lambda found: (found.run.tags, f"{found.run.id} has {count(len(found.run.tags), 'tag')}"),
        "entries.TaskAdded": lambda found: (found.entry, f"Added to {found.run}"),
        "entries.TaskDone": lambda found: (found.entry, _became(found.entry, "done", found.changed)),
        "save.Saved": lambda found: (found.checkpoint.id, _saved(found)),
        "team.Breakpoint": lambda found: ("on" if found.on else "off", _stopped(found)),
        "team.Handed": lambda found: (found.agent, _handed(found)),
    }
)


@renders
def said_tasks(found: entries.TasksListed, view: View) -> Said:
    rows = [[task.id, "done" if task.done else "open", task.text, task.outcome or ""] for task in found.tasks]
    return listed(found, "task state what outcome", rows, none="No task yet.")


@renders
def said_steps(found: step.StepsListed, view: View) -> Said:
    rows = [
        [str(number), one.status, one.name, one.agent or "-", when(one.ended or one.started), one.error or ""]
        for number, one in enumerate(found.steps, 1)
    ]
    return listed(found, "# state step agent since what", rows, none="No step yet.")


@renders
def said_step(found: step.Stepped, view: View) -> Said:
    now = f"is {found.step.status}" if found.changed else f"was {found.step.status} already"
    talk: list[Line] = [f"Step {one_line(found.step.name, 80)} of {found.run} {now}"]
    if found.checkpoint:
        talk.append(f"It is kept as {found.checkpoint}")
    if found.left:
        names = ", ".join(one_line(name, 60) for name in found.left[:5])
        left = f"{found.run} stays open, because these are not completed: {names}; `holdfast complete` ends it"
        talk.append(("warn", left))
    if found.completed:
        talk.append(f"It was the last one: {found.run} is completed")
        if found.checkpoint:
            with view.workspace.reading() as journal:
                run = journal.get_run(found.run)
            talk += find_layout(run.layout).completed_screen(run)
    return Said(found, [found.step.name], talk)


@renders
def said_agents(found: step.AgentsListed, view: View) -> Said:
    rows = [[one.id, one.status, _far(one), one.task, one.result or one.error or ""] for one in found.agents]
    advised = f"; mode advises {found.at_once} at once" if found.at_once else ""
    talk = [f"{found.progress} % complete, {found.at_work} at work{advised}"] if rows else []
    return listed(found, "agent state done what outcome", rows, talk, none="No agent yet.")


def _far(worker: Worker) -> str:
    return f"{worker.progress or 0} %" if worker.completed is None else ""


@renders
def said_given(found: team.Given, view: View) -> Said:
    if view.verb.name == "metric":
        said, data = f"{found.key} of {found.run} is {found.value}", str(found.value)
    else:
        value = found.value
        size = count(len(value), "item") if isinstance(value, list) else count(len(str(value)), "character")
        said, data = f"Kept {size} on {found.run}", found.key
    return Said(found, [data], [said if found.changed else "It was so already"])


@renders
def said_cleaned(found: team.Cleaned, view: View) -> Said:
    number = count(len(found.runs), "run")
    if not found.runs:
        return Said(found, talk=["Nothing to clean up"])
    if found.dry_run:
        return Said(found, old_runs(found), [f"{number} would go, {found.kept} stay"])
    return Said(found, found.runs, [f"{number} cleaned up; the journal keeps them"])


@previews
def old_runs(found: team.Cleaned) -> list[str]:
    return [f"{id}  {one_line(topic, 80)}" for id, topic in zip(found.runs, found.topics, strict=True)]


@renders
def said_budget(found: context.Budget, view: View) -> Said:
    if found.fill is None:
        hint = "`holdfast budget --used N --window N` tells it by hand"
        return Said(found, list(_more(found)), [f"Nothing has measured the context of {found.run} yet; {hint}"])
    style = FILL_STYLE.get(found.fill.state, "good")
    lines: list[Line] = [(style, f"context {format_fill(found.fill)}: {found.fill.state}"), *_more(found)]
    return Said(found, lines, [f"Advice: {advice}" for advice in found.advice])


def _more(found: context.Budget) -> Iterator[Line]:
    if found.mode or found.compacted:
        yield f"last compression {when(found.compacted) if found.compacted else 'never'}"
    for name, tokens in found.by_agent.items():
        yield f"agent {one_line(name, 60)} {tokens:,} tokens"
    if found.mode:
        yield f"mode {found.mode}: {count(found.at_once or 0, 'agent')} at once, compress at {found.compress_at} %"


@renders
def said_brief(found: brief.Brief, view: View) -> Said:
    return Said(found, [found.text], fenced=True)


@renders
def said_answer(found: chat_command.Commanded, view: View) -> Said:
    if not found.known:
        known = [("known", line) for line in chat_commands.instructions()]
        text = one_line(view.given["text"], 40)
        raise WrongUsage(f'"{text}" is no observer command', known, ["`holdfast command '*help'`"])
    return Said(found, [found.text])


@renders
def said_loaded(found: results.Reloaded, view: View) -> Said:
    talk = results.told_warnings(found.warnings, terminal.marks())
    return Said(found, _loaded(view.workspace, found), talk, fenced=True)


def _loaded(workspace: Workspace, found: results.Reloaded) -> Iterator[Line]:
    """The report and the artifacts, in one fence; nothing of it is made for somebody who wants JSON."""
    lines = find_layout(found.layout).load_screen(found, terminal.marks(), workspace.clock.now())
    yield enclose("\n".join(lines), workspace.chance)


@renders
def said_session_saved(found: results.SessionSaved, view: View) -> Said:
    marks = terminal.marks()
    short = [f"Session ended: {found.session} (reason: {found.reason})"] if found.changed else []
    lines: list[Line] = list(find_layout(found.layout).save_screen(found, marks))
    return Said(found, lines, results.told_warnings(found.warnings, marks), short=short)
