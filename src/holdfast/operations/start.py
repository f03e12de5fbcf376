"""Begin a run. The one that was open here before is paused and stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from holdfast.core import chat_commands
from holdfast.core.chat_commands import Order
from holdfast.core.errors import Refused, WrongUsage
from holdfast.core.fold import run as fold, steps as planning
from holdfast.core.lifecycle import Move, Rules, transition
from holdfast.core.model import Draft, Run, Session, Status
from holdfast.core.question import Choose, Instead
from holdfast.core.text import as_tuple, checked, one_line, path_text
from holdfast.ingest.catch_up import catch_up, establish
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts.registry import find_layout, is_present, layouts
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.runs import select
from holdfast.project.sessions import find_conversation, live_sessions, move_conversation, open_process_session
from holdfast.project.workspace import Workspace

STARTED = tuple(layout.NAME for layout in layouts() if layout.IS_STARTED)
MODES = tuple(mode for layout in layouts() for mode in layout.MODES)


class Started(Struct):
    run: Run
    session: Session | None
    paused: list[str]
    resumable: list[Run]
    archived: list[str] = []  # sessions of an orchestrator that this one follows


def _ask_about_earlier(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | Instead | None:
    """Offer the earlier Go Team runs; with `recovery.auto_resume`, an interrupted one is resumed instead.

    `earlier` becomes the answer, and then the lines that are told beside the new run.
    """
    kind = find_layout(given.get("layout", "native"))
    if not kind.RULES.is_recovered or isinstance(given.get("earlier"), list):
        return None
    if is_present(workspace, kind):  # sessions of another program may be there before the first run of ours
        establish(workspace)
    if workspace.exists and not workspace.is_off:
        catch_up(workspace)
    earlier = kind.list_resumable(workspace)
    interrupted = next((run for run in earlier if run.status is Status.INTERRUPTED), None)
    if interrupted and workspace.settings.text("recovery.auto_resume") == "on":
        return Instead("resume", {"run": interrupted.id})
    silent = {run.id: since for run in earlier if (since := kind.silent_since(workspace, run))}
    screen = list(kind.resumable_screen(earlier, silent))
    if earlier and can_ask and "earlier" not in given:
        prompt = "Resume # (Enter: a new session)"
        return Choose(parameter="earlier", prompt=prompt, is_text=True, default="", about=screen)
    order = _answered(given.get("earlier", ""))
    if order.word == "resume":
        way = {"start_from": order.way} if order.way else {}
        return Instead("resume", {"run": _chosen(earlier, order.argument), **way})
    told = [*(() if can_ask else screen), *(f"`holdfast resume {run.id}` goes on with it" for run in earlier)]
    return Instead("start", {**given, "goal": order.argument or given["goal"], "earlier": told})


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


@verb(
    group=Group.GO,
    example='holdfast start "Add retries to the client" --steps design,code,test',
    common=True,
    asks=_ask_about_earlier,
)
def start(
    workspace: Workspace,
    goal: Annotated[str, argument()],
    *,
    steps: Annotated[
        Sequence[str],
        option(
            metavar="A,B", kind=Kind.LIST, help="Its steps, with commas between; the last one completed completes it."
        ),
    ] = (),
    layout: Annotated[str, option(choices=STARTED, help="As which system's run.")] = "native",
    mode: Annotated[str | None, option(choices=MODES, help="Of an orchestrator.")] = None,
    pid: Annotated[
        int | None, option(least=1, metavar="PID", help="The process that the session lives and dies with.")
    ] = None,
    agent: Annotated[str | None, option(metavar="NAME", help="The agent that works on it.")] = None,
) -> Started:
    """Begin a run. Prints its id; shows what could be resumed instead."""
    checked(goal, "goal")
    _check_layout(layout, mode)
    kind = find_layout(layout)
    plan = planning.checked_plan(as_tuple(steps) or kind.default_steps(workspace))
    establish(workspace)
    worktree = workspace.worktree
    archives = kind.prepare_start(workspace)
    with workspace.writing() as journal:
        paused = _pause_earlier(workspace, journal, kind.RULES if archives else None)
        before = kind.find_current(journal, worktree) if archives else None
        resumable, _ = journal.list_runs(RunQuery(worktree=worktree, statuses=select.OPEN_STATUSES, limit=5))
        body = {"goal": goal, "layout": layout, "worktree": worktree, "directory": path_text(workspace.root)}
        if kind.MODES:
            body["mode"] = mode or next(iter(kind.MODES))
        run = journal.start(kind.make_id(workspace, journal), Draft("run.started", body, time=workspace.clock.now()))
        if plan:
            journal.append(run.id, Draft("step.planned", {"steps": plan}))
        select.choose(journal, worktree, run)
        session = open_process_session(workspace, journal, run, pid, agent) if pid is not None else None
        if session is None:
            move_conversation(workspace, journal, run)
    kind.reconcile(workspace)
    archived = [before.id] if before else []
    return Started(run, session, paused, [found for found in resumable if found.id not in archived], archived)


def _check_layout(layout: str, mode: str | None) -> None:
    if layout not in STARTED:
        hints = [f"one of {', '.join(STARTED)}", "`/fractary-faber:workflow-run` in the client starts a run of FABER"]
        raise WrongUsage(f'There is no layout "{one_line(layout, 40)}" to start a run in', [], hints)
    modes = find_layout(layout).MODES
    if mode is not None and not modes:
        hints = [f"`--layout {name}`" for name in STARTED if find_layout(name).MODES]
        raise WrongUsage("Only a run of the orchestrator has a mode", [], hints)
    if mode is not None and mode not in modes:
        raise WrongUsage(f'There is no mode "{one_line(mode, 40)}"', [], [f"one of {', '.join(modes)}"])


def _pause_earlier(workspace: Workspace, journal: Journal, replaced: Rules | None) -> list[str]:
    """Pause the runs that are active here, except those on which another session or another program is at work.

    Those whose rules are `replaced` keep their status: the new run takes their place.
    """
    statuses = frozenset({Status.ACTIVE.value, Status.CREATED.value})
    runs, _ = journal.list_runs(RunQuery(worktree=workspace.worktree, statuses=statuses, limit=1000))
    moving = find_conversation(workspace, journal)  # it goes over to the new run
    held = {
        found.run for run in runs for found in live_sessions(journal, run.id) if moving is None or found.id != moving.id
    }
    held |= {run.id for run in runs if run.unasked and run.standing.saved}  # another program's, and never chosen here
    earlier = [run for run in runs if journal.rules_of(run) is not replaced and not run.owned and run.id not in held]
    paused = [run.id for run in earlier if _can_pause(journal, run)]
    for id in paused:
        journal.append(id, fold.status_draft(Move.PAUSE, "another run was started"))
    return paused


def _can_pause(journal: Journal, run: Run) -> bool:
    """True if a run can pause: a session of the orchestrator that has not begun stays as it is."""
    try:
        transition(run.status, Move.PAUSE, journal.rules_of(run))
    except Refused:
        return False
    return True
