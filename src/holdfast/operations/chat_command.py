"""Chat commands: lines such as `*sessions`, typed into an agent's client and answered there without the model.

A layout's own table of commands goes before `ACTIONS`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from typing import Annotated

from msgspec import Struct

from holdfast.core import chat_commands as observer
from holdfast.core.chat_commands import Order
from holdfast.core.errors import HoldfastError, NotFound, Refused, WrongUsage
from holdfast.core.fold import steps
from holdfast.core.model import Checkpoint, Run
from holdfast.core.question import Choose, Instead
from holdfast.core.recovery_options import told_silent
from holdfast.core.text import count, one_line
from holdfast.ingest.catch_up import catch_up
from holdfast.ingest.open import foreign_files, readable
from holdfast.layouts.registry import find_chat_run, find_layout, layouts
from holdfast.layouts.save import save_run
from holdfast.maintenance.verify import prove
from holdfast.operations import checkpoints, lifecycle
from holdfast.operations.context import brief
from holdfast.operations.parameters import argument
from holdfast.operations.restore import rollback
from holdfast.operations.resume import resume
from holdfast.operations.runs import runs
from holdfast.operations.start import start
from holdfast.operations.status import Status, status
from holdfast.operations.team import cleanup
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.conflicts import describe_clashes
from holdfast.project.checkpoints.restore import Restored
from holdfast.project.inbox import parse_failure
from holdfast.project.runs import select
from holdfast.project.sessions import switch_session
from holdfast.project.workspace import Workspace
from holdfast.system.clock import shown

ROWS, PATHS, TASKS = 15, 20, 5
READING = ("sessions", "session-info", "status", "brief", "checkpoints", "cp-show")  # work without a store
RESUMING = ("resume", "continue")  # create a store for a run in another system's files
HEAD = 3_000  # characters of the brief in the answer to `*resume`

Lines = Iterable[str]


class Commanded(Struct):
    text: str
    known: bool  # false: no command of ours, so the line goes to the model


def _ask_for_more(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | Instead | None:
    """Ask for the goal of a new run; leave the question of how to resume a Go Team run to `resume`."""
    if (goal := given.get("goal")) is not None:
        return Instead("command", {"text": f"*new {goal}"})
    order = observer.parse(given["text"])
    if order is None or not can_ask:
        return None
    if order.word == "new" and not order.argument:
        return Choose(parameter="goal", prompt="What is it about", is_text=True)
    if order.word == "resume" and order.way is None and (run := _find_run(workspace, order)):
        return Instead("resume", {"run": run.id})
    return None


def _find_run(workspace: Workspace, order: Order) -> Run | None:
    if workspace.exists and not workspace.is_off:
        catch_up(workspace)
    with readable(workspace, noted=False) as found:
        return find_chat_run(found, order)


@verb(
    group=Group.GO,
    example="holdfast command '*sessions'",
    about="run a chat command such as `*sessions`",
    asks=_ask_for_more,
)
def command(workspace: Workspace, text: Annotated[str, argument(metavar="'*…'")]) -> Commanded:
    """Run a chat command, as typed into an agent's client."""
    order = observer.parse(text)
    if order is None:
        return Commanded("", known=False)
    if observer.FORMS[order.word].needed and not order.argument:
        form = f"`{observer.typed(order.word)}`"
        raise WrongUsage(f"`*{order.word}` needs an argument", [("typed", order.word)], [form, "`*help`"])
    if order.word in RESUMING and not workspace.exists and foreign_files(workspace):
        workspace.create()
        catch_up(workspace)
    with readable(workspace) if order.word in READING else contextlib.nullcontext(workspace) as found:
        act = _of_layout(found, order) or ACTIONS[order.word]
        if order.way and act is ACTIONS[order.word]:
            hint = f"`holdfast resume --from {order.way}` in a terminal"
            raise WrongUsage("Only a Go Team run can be recovered inside a client", [("asked for", order.way)], [hint])
        return Commanded(observer.clipped("\n".join(act(found, order))), known=True)


def _of_layout(workspace: Workspace, order: Order) -> Callable[[Workspace, Order], Lines] | None:
    """Return the layout's own action for a command, where the run's layout has chat commands."""
    run = find_chat_run(workspace, order)
    if run is None:
        return None
    act = find_layout(run.layout).CHAT_COMMANDS[order.word]
    return lambda found, typed: act(found, run, typed, _Verbs)


class _Verbs:
    """The verbs for a layout's commands."""

    start, resume = staticmethod(start), staticmethod(resume)
    validate_checkpoints = staticmethod(checkpoints.validate_checkpoints)
    export_checkpoints = staticmethod(checkpoints.export_checkpoints)


def _get_meant(workspace: Workspace, name: str) -> Run:
    """Return the run of a name; a missing one is reported in the words of the layout in use here."""
    try:
        with workspace.reading() as journal:
            return select.get_typed(workspace, journal, name)
    except NotFound as error:
        messages = (layout.told_missing(name) for layout in layouts() if layout.is_meant(workspace))
        message = next(filter(None, messages), None) if name else None
        if message is None:
            raise
        raise NotFound(message, error.facts, [*error.hints[:-1], "`*sessions` lists them"]) from error


def _sessions(workspace: Workspace, order: Order) -> Lines:
    found = runs(workspace, limit=ROWS).runs
    if not found:
        return ["No run yet; the first prompt starts one, or `*new GOAL`"]
    rows = [f"{number:>2}  {_row(run)}" for number, run in enumerate(found, 1)]
    return [*rows, "", "`*resume:N` resumes one, `*session-info:N` shows its details"]


def _row(run: Run) -> str:
    last = shown(run.updated) if run.updated else "-"
    return f"{run.id}  {run.status:<11}  {last}  {one_line(run.title, 80)}"


def _resume(workspace: Workspace, order: Order) -> Lines:
    run = _get_meant(workspace, order.argument).id
    left = select.pointed(workspace)
    moved = lifecycle.switch(workspace, run).moved_from
    with workspace.writing(for_session=False) as journal:
        switch_session(workspace, journal, journal.get_run(run), left)
        own = workspace.session
        others = [found.id for found in journal.list_sessions(run, only_open=True) if found.id != own]
    return [
        f"This is now {run}; `holdfast resume {run}` resumes it in a new client",
        *([f"It moved here from {one_line(moved)}"] if moved else []),
        *(f"Also on it: {id}" for id in others),
        "",
        brief(workspace, run=run, budget=HEAD).text,
    ]


def _new(workspace: Workspace, order: Order) -> Lines:
    if not order.argument:
        return ["A goal is missing: `*new GOAL` starts another run and pauses the current one"]
    begun = start(workspace, order.argument, layout=_layout_of_new(workspace))
    with workspace.writing(for_session=False) as journal:
        switch_session(workspace, journal, journal.get_run(begun.run.id))
    return [f"Started {begun.run.id}: {one_line(begun.run.goal, 200)}", *(f"Archived {id}" for id in begun.archived)]


def _layout_of_new(workspace: Workspace) -> str:
    """Return the layout of a run that `*new` starts; a layout with chat commands starts its own."""
    kinds = (layout.NAME for layout in layouts() if not layout.CHAT_COMMANDS and layout.is_meant(workspace))
    return next(kinds, "native")


def _describe(found: Status) -> Lines:
    if found.run is None:
        yield "No run is open here" if not found.others else "Several runs are open here; `*resume:ID` selects one"
    else:
        yield from _run(found.run)
        if found.silent_since:
            yield told_silent(found.run.id, found.silent_since)
    for presence in found.present:
        yield f"Session {presence.session.id}: {presence.evidence}"
    for other in found.others:
        yield f"Also open: {_row(other)}"
    for title, time, about in map(parse_failure, found.troubles):
        yield f"{title}: {f'{shown(time)}: ' if time else ''}{one_line(about, 200)}"


def _run(run: Run) -> Lines:
    yield one_line(run.title, 200)
    yield f"{run.id}  {run.status}" + (f": {one_line(run.status_reason, 200)}" if run.status_reason else "")
    yield from (f"Steps: {line}" for line in steps.step_lines(run))
    for task in run.open_tasks[:TASKS]:
        yield f"Next: {task.id}  {one_line(task.text, 120)}"
    for decision in run.standing_decisions[-TASKS:]:
        yield f"Decided: {decision.id}  {one_line(decision.text, 120)}"
    if run.actions:
        yield f"Last action: {one_line(run.actions[-1].headline, 160)}"


def _pause(workspace: Workspace, order: Order) -> Lines:
    saved = save_run(workspace, None).checkpoint
    run = lifecycle.pause(workspace).run
    return [f"{run.id} is {run.status}, saved as {saved.id}", "`*continue` resumes it"]


def _exit(workspace: Workspace, order: Order) -> Lines:
    """Pause the run and tell how to leave; a run that has ended or cannot pause stays as it is."""
    leave = "Leave the client with `/exit`"
    try:
        run = select.read_run(workspace, None, ended_too=True)
    except NotFound:
        return [leave]
    if not run.status.is_open:
        return [f"{run.id} is {run.status}; {leave[0].lower()}{leave[1:]}"]
    try:
        first, _ = _pause(workspace, order)
    except Refused as error:
        first = f"{run.id} stays {run.status}: {error.message}"
    return [first, f"{leave}; `holdfast resume` resumes it later"]


def _ended(found: lifecycle.Settled) -> Lines:
    return [f"{found.run.id} is {found.run.status}: {one_line(found.run.title, 80)}"]


def _checkpoints(workspace: Workspace, order: Order) -> Lines:
    found = checkpoints.checkpoints(workspace, limit=ROWS)
    if not found.checkpoints:
        ways = "`holdfast checkpoint` makes" if workspace.is_preview else "`*pause` and `holdfast checkpoint` make"
        return [f"No checkpoint yet; {ways} one"]
    rows = [f"{number:>2}  {_made(made)}" for number, made in enumerate(found.checkpoints, 1)]
    return [*rows, "", observer.checkpoint_commands(is_preview=workspace.is_preview)]


def _made(made: Checkpoint) -> str:
    label = one_line(made.name or made.message or "", 80)
    about = f"{shown(made.time)}  {count(made.changes, 'file')}"
    return f"{made.id}  {one_line(made.kind, 30):<14}  {about}  {label}".rstrip()


def _checkpoint(workspace: Workspace, name: str, *, left_too: bool = True) -> Checkpoint:
    with workspace.reading() as journal:
        try:
            run = select.get_run(workspace, journal, None, ended_too=True)
        except HoldfastError:
            return select.count_back(workspace, journal, name)
        return find_layout(run.layout).get_checkpoint(workspace, journal, run, name, left_too=left_too)


def _cp_show(workspace: Workspace, order: Order) -> Lines:
    run = find_chat_run(workspace, Order("checkpoints"))
    if run is not None and (told := find_layout(run.layout).told_point(workspace, run, order)) is not None:
        yield from told
        return
    made = _checkpoint(workspace, order.argument)
    yield _made(made)
    if made.run:
        yield f"Run {made.run} after event {made.seq}"
    if made.commit or made.branch:
        yield f"Commit {made.commit or 'none yet'} on {one_line(made.branch or 'no branch', 120)}"
    yield from (f"  {one_line(path)}" for path in made.changed[:PATHS])
    if made.changes > PATHS:
        yield f"  and {made.changes - PATHS:,} more"


def _cp_diff(workspace: Workspace, order: Order) -> Lines:
    first, _, second = order.argument.partition(":")
    a, b = _checkpoint(workspace, first), _checkpoint(workspace, second) if second else None
    found = checkpoints.diff(workspace, a.id, b.id if b else None)
    yield from (f"run: {line}" for line in found.state[-PATHS:])
    yield found.code or "The code is the same"


def _cp_validate(workspace: Workspace, order: Order) -> Lines:
    with workspace.reading() as journal:
        found = list(journal.list_checkpoints(workspace.worktree))
    problems = prove(workspace, found, deep=False).problems
    if not problems:
        return [f"{count(len(found), 'checkpoint')}, all whole; `holdfast verify --deep` reads every object too"]
    return [f"{one_line(found.where)}: {one_line(found.what, 300)}" for found in problems]


def _rollback(workspace: Workspace, order: Order) -> Lines:
    target = _checkpoint(workspace, order.argument, left_too=False)
    found = rollback(workspace, target.id, dry_run=not order.confirmed)
    if found.dry_run:
        yield f"Would go back to {_made(target)}"
        yield from _acts(found)
        yield f"`*rollback:{target.id} yes` does it; a checkpoint of the present state is made first"
    elif found.restore is None:
        yield f"Nothing to do: everything is as in {target.id} already"
    else:
        yield f"Back at {target.id}: {found.written:,} written, {found.removed:,} removed"
        yield f"The run is as it was after event {found.event}; `holdfast undo` takes all of it back"


def _acts(found: Restored) -> Lines:
    """Describe the changes that a rollback would make to files and to the run's state."""
    yield f"{count(len(found.paths), 'file')} would change"
    yield f"The run's last {count(found.later_events, 'event')} would not count; the journal keeps them"
    lines = [f"  {act:<6}  {one_line(path)}" for path, act in found.acts.items()]
    yield from lines[:PATHS]
    if len(lines) > PATHS:
        yield f"  and {len(lines) - PATHS:,} more"
    yield from describe_clashes(found.clashes)


def _cp_export(workspace: Workspace, order: Order) -> Lines:
    raise WrongUsage("Only a Go Team run can be exported", [], ["`holdfast diff` shows what a checkpoint holds"])


def _cleanup(workspace: Workspace, order: Order) -> Lines:
    found = cleanup(workspace, dry_run=not order.confirmed)
    if not found.runs:
        return ["Nothing to clean up: no completed or abandoned session is old enough"]
    rows = [f"{id}  {one_line(topic, 80)}" for id, topic in zip(found.runs, found.topics, strict=True)]
    after = "`*cleanup yes` removes their files; the journal keeps them" if found.dry_run else "Their files are gone"
    return [*rows, "", after]


def _brief_budget(workspace: Workspace) -> int:
    return min(observer.LIMIT, workspace.settings.whole("brief.budget"))


ACTIONS: dict[str, Callable[[Workspace, Order], Lines]] = {
    "sessions": _sessions,
    "resume": _resume,
    "continue": _resume,
    "session-info": lambda here, order: _describe(status(here, run=_get_meant(here, order.argument).id)),
    "new": _new,
    "status": lambda here, order: _describe(status(here)),
    "brief": lambda here, order: [brief(here, budget=_brief_budget(here)).text],
    "pause": _pause,
    "exit": _exit,
    "abort": lambda here, order: _ended(lifecycle.abort(here)),
    "abandon": lambda here, order: _ended(lifecycle.abandon(here, _get_meant(here, order.argument).id)),
    "checkpoints": _checkpoints,
    "cp-show": _cp_show,
    "cp-diff": _cp_diff,
    "cp-validate": _cp_validate,
    "cp-export": _cp_export,
    "cleanup": _cleanup,
    "rollback": _rollback,
    "help": lambda here, order: observer.instructions(),
}
