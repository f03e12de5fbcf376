"""Go on with a run: its conversation where that still exists, or a new one that starts with the brief."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from pathlib import Path
from typing import Annotated

from msgspec import Struct, structs

from holdfast.agents.registry import DEFAULT, find_agent
from holdfast.core import ids
from holdfast.core.errors import Ambiguous, HoldfastError, NotFound, Refused
from holdfast.core.fold import team
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Bearings, Checkpoint, Draft, Reason, Restore, Run, Session, Status
from holdfast.core.question import Choose, Instead, confirmation
from holdfast.core.recovery_options import CHECKPOINT, FRESH, LIVE, Option, recommended
from holdfast.core.text import path_text
from holdfast.ingest.catch_up import establish
from holdfast.ingest.open import foreign_files, readable
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts.registry import find_layout, layouts
from holdfast.layouts.results import CHOICES, HISTORY, Recovery
from holdfast.operations.parameters import Kind, Parameter, argument, flag, option
from holdfast.operations.runs import runs, which_run
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.briefs import PATIENCE
from holdfast.project.checkpoints.restore import Restored, restore_to
from holdfast.project.drift import find_drift
from holdfast.project.runs import select
from holdfast.project.sessions import (
    fence_off_others,
    is_silent,
    mark_silent_dead,
    move_conversation,
    other_live_sessions,
    refuse_live,
    settle,
)
from holdfast.project.workspace import Workspace
from holdfast.system import locate, process

WHICH = "Which would you prefer?"
STARTS = ("live", "checkpoint", "fresh")
NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,63}")  # what may become an argument: an agent could write anything
WAYS = {"checkpoint": CHECKPOINT, "live": LIVE, "fresh": FRESH}
RESTORES = ("code", "conversation", "both", "none")


class Resumed(Struct):
    run: Run
    last: Session | None  # the session after which it goes on
    conversation: str | None  # the agent's own name for what goes on; None: a new one
    why_new: str | None  # why the conversation does not go on
    command: list[str]  # what goes on with it; empty where nobody knows how
    directory: str
    environment: dict[str, str]
    bearings: Bearings
    restored: Restored | None
    taken_from: list[Session]
    attended: list[str] = []  # sessions in which somebody alive works on it, and keeps it
    recovery: list[Option] = []  # the ways to go on with a Go Team run, and what each would lose
    kept: str | None = None  # the checkpoint of what a fresh start has left behind


def _ask_how(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | Instead | None:
    """Ask for the way out of a damaged file, which run, which way for a Go Team run, and whether to restore.

    The call that is meant then is a dry run where the surface starts the agent, or tells how.
    """
    if "dry_run" in given:
        return None
    recovery = recover(workspace)
    if recovery.why is not None:
        if "choose" in given or not can_ask:
            return Instead("recover", dict(given))
        words = {str(number): name for number, name in enumerate(recovery.choices, 1)}
        words |= {name: name for name in recovery.choices}
        return Choose(parameter="choose", prompt=WHICH, words=words, about=recovery)
    if given.get("pick") and "run" not in given:
        return which_run("run", runs(workspace, status=("open",), here=True, limit=500).runs)
    arguments = {name: value for name, value in given.items() if name in ("run", "restore", "take_over")}
    found = resume(workspace, **arguments, dry_run=True)
    if found.recovery:
        return _ask_which_way(workspace, given, can_ask, found)
    only_print, yes = given.get("print", False), given.get("yes", False)
    prepares = not only_print and (can_ask or yes)  # where nobody is, nothing is changed unasked
    if prepares and not yes:
        wanted = resume(workspace, **arguments, start_from=given.get("start_from", "live"), dry_run=True).restored
        if wanted:
            return confirmation(f"Make the worktree equal to {wanted.to}?", "holdfast resume")
    has_banner = any(find_layout(found.run.layout).banner(found.run, workspace.clock.now()))
    is_loaded = has_banner and not can_ask and not only_print  # whoever reads the banner is the agent that goes on
    return Instead("resume", {**given, "dry_run": not (prepares or is_loaded)})


def _ask_which_way(workspace: Workspace, given: Arguments, can_ask: bool, found: Resumed) -> Choose | Instead:
    """Ask how to go on with a Go Team run, with what each way would lose."""
    start_from, best = given.get("start_from"), recommended(found.recovery)
    is_auto = workspace.settings.text("recovery.auto_resume") == "on"
    if start_from is None and (given.get("yes") or is_auto):
        start_from = best.start_from
    if given.get("print") or (start_from is None and not can_ask):
        return Instead("resume", {**given, "dry_run": True})
    if start_from is not None:
        return Instead("resume", {**given, "start_from": start_from, "dry_run": False})
    return which_way(found, workspace)


def which_way(found: Resumed, workspace: Workspace) -> Choose:
    """The question how to resume a Go Team run, with what each way would lose."""
    layout = find_layout(found.run.layout)
    return Choose(
        parameter="start_from",
        prompt="Enter choice",
        words={str(number): way.start_from for number, way in enumerate(found.recovery, 1)},
        default=str(found.recovery.index(recommended(found.recovery)) + 1),
        about=list(layout.recovery_screen(found.run, found.recovery, layout.silent_since(workspace, found.run))),
    )


def undo_hints(done: Resumed) -> list[str]:
    """The commands that take a recovery back."""
    hints = []
    if done.restored and done.restored.restore:
        hints.append(f"Restored from {done.restored.to}; `holdfast undo` takes that back")
    if done.kept:
        hints.append(f"What was there is kept: `holdfast restore {done.kept} --both` takes the fresh start back")
    return hints


@verb(
    group=Group.GO,
    example="holdfast resume run-4x9k2m7pq3 --restore both",
    about="go on with a run, and with its conversation",
    aliases=("continue",),
    common=True,
    options=(
        Parameter(
            names=("--choose",),
            help="The way out of a damaged session file, by its name or its number.",
            choices=(*CHOICES, *map(str, range(1, len(CHOICES) + 1))),
            metavar=f"[{'|'.join(CHOICES)}|N]",
            target="choose",
        ),
        flag("--print", help="Print the command that goes on, and do not start it."),
        flag("--pick", help="Choose the run from a list, also where one is the current one."),
        flag("--yes", help="Do not ask; and prepare it also where nobody is at a terminal."),
    ),
    asks=_ask_how,
)
def resume(
    workspace: Workspace,
    run: Annotated[str | None, argument(kind=Kind.RUN, also="--run")] = None,
    *,
    start_from: Annotated[
        str, option("--from", choices=STARTS, help="As it is (the default), as it was kept, or anew.")
    ] = "live",
    restore: Annotated[str, option(choices=RESTORES, help="What comes back; else the conversation.")] = "conversation",
    take_over: Annotated[bool, option(help="Fence whoever is on it: they cannot write any more.")] = False,
    dry_run: bool = False,
) -> Resumed:
    """Go on with a run: its conversation where that still exists, or a new one that starts with the brief."""
    if _ingest_first(workspace, run):
        return resume(workspace, run, start_from=start_from, restore=restore, take_over=take_over, dry_run=dry_run)
    with workspace.reading() as journal:
        found = _meant(workspace, journal, run)
        transition(found.status, Move.RESUME, journal.rules_of(found))
        _refuse_elsewhere(workspace, found)
        alive = _others_alive(workspace, journal, found)
        if alive and not take_over and not (dry_run and not journal.rules_of(found).is_recovered):
            refuse_live(found, alive, named=_is_named(workspace, run))
        sessions = journal.list_sessions(found.id, limit=100)
    ways = find_layout(found.layout).list_ways(workspace, found)
    if ways and start_from == "checkpoint":
        found = _ready(workspace, found)
    with workspace.reading() as journal:
        target = find_layout(found.layout).find_last_checkpoint(journal, found)
    restored, state = None, start_from == "checkpoint"
    if state or restore in ("code", "both"):
        restored = _go_back(workspace, found, target, state=state, force=take_over, dry_run=dry_run)
    elif ways and dry_run:
        ways = _counted(workspace, found, target, ways)
    taken = [] if dry_run else _take(workspace, found, take_over)
    kept = _recover(workspace, found, start_from) if ways and not dry_run else None
    bearings = find_drift(workspace, found, PATIENCE)
    wanted = start_from != "fresh" and restore in ("conversation", "both")
    asked = "--from fresh" if start_from == "fresh" else f"--restore {restore}"
    spoken, why_new = _conversation(sessions) if wanted else (None, f"`{asked}` asks for one")
    agent = find_agent((spoken.agent if spoken else None) or _last_agent(sessions, found))
    name = spoken.agent_session if spoken else None
    with workspace.reading() as journal:
        found = journal.get_run(found.id)
    return Resumed(
        found,
        sessions[0] if sessions else None,
        name,
        None if spoken else why_new,
        agent.resume_command(name),
        _directory(workspace, spoken or (sessions[0] if sessions else None)),
        {"HOLDFAST_RUN": found.id},
        bearings,
        restored,
        taken,
        [] if taken else [session.id for session in alive],
        ways,
        kept,
    )


def _others_alive(workspace: Workspace, journal: Journal, run: Run) -> list[Session]:
    """Sessions of other living processes on a run; on a Go Team run, one that has gone silent does not count."""
    alive = other_live_sessions(workspace, journal, run.id)
    spares_silent = journal.rules_of(run).is_recovered
    return [found for found in alive if not spares_silent or not is_silent(workspace, found)]


def _meant(workspace: Workspace, journal: Journal, name: str | None) -> Run:
    """The run to go on with. One that the orchestrator has archived goes on only if it is named.

    Where another living session works on the run that would be meant, an interrupted run of this worktree is.
    """
    is_named = _is_named(workspace, name)
    try:
        found = select.get_run(workspace, journal, name)
    except NotFound:
        if is_named:
            raise
        found = None
    if found is None or (name is None and found.archived):
        raise _nothing(workspace)
    if is_named or not _others_alive(workspace, journal, found):
        return found
    return _interrupted(workspace, journal) or found


def _is_named(workspace: Workspace, name: str | None) -> bool:
    return name is not None or bool(workspace.environ.get("HOLDFAST_RUN"))


def _interrupted(workspace: Workspace, journal: Journal) -> Run | None:
    """The interrupted run of this worktree; where there are several, they are listed."""
    query = RunQuery(worktree=workspace.worktree, statuses=frozenset({Status.INTERRUPTED.value}), limit=select.SHOWN)
    listed = [run for run in journal.list_runs(query)[0] if not run.archived]
    if len(listed) > 1:
        raise select.several(workspace, "Several runs were interrupted here", listed)
    return journal.get_run(listed[0].id) if listed else None


def _ingest_first(workspace: Workspace, name: str | None) -> bool:
    """Ingest what another system keeps in files, if the run that is meant may be there only.

    Where there is no store, it is made for such a run; a preview tells whether it is there. Answers with whether it was
    made: then the verb begins again, so that these files are written after it as with any store.
    """
    if workspace.exists:
        _ingest_archive(workspace, name)
        return False
    if workspace.is_off or not foreign_files(workspace):
        raise _nothing(workspace)
    with readable(workspace, noted=False) as preview:
        _ingest_archive(preview, name)
        with preview.reading() as journal:
            found = _meant(preview, journal, name)
        if not found.is_open and not _is_named(workspace, name):
            raise _nothing(preview)
    establish(workspace)
    return True


def _ingest_archive(workspace: Workspace, name: str | None) -> None:
    """Ingest the archives of other systems if a run is named that is not known: it may be in one of them."""
    named = name or workspace.environ.get("HOLDFAST_RUN")
    archives = [layout for layout in layouts() if layout.has_archive(workspace)] if named else []
    if not named or not archives:
        return
    is_known = True
    with workspace.reading() as journal, contextlib.suppress(Ambiguous):
        try:
            select.find_by_name(workspace, journal, named)
        except NotFound:
            is_known = False
    for layout in archives if not is_known else ():
        layout.ingest_archive(workspace)


def _nothing(workspace: Workspace) -> HoldfastError:
    """Why no session is there to resume."""
    if obstacle := next(filter(None, (layout.find_obstacle(workspace) for layout in layouts())), None):
        return obstacle
    archives = [layout.NAME for layout in layouts() if layout.has_archive(workspace)]
    hints = [f'`holdfast start "GOAL" --layout {name}`' for name in archives] or ['`holdfast start "GOAL"`']
    if workspace.exists:
        hints.insert(0, "`holdfast history` lists archived sessions")
    elif earlier := workspace.find_earlier_hint():
        hints.insert(0, earlier)
    return NotFound("No session to resume", [("directory", path_text(workspace.root))], hints)


def _refuse_elsewhere(workspace: Workspace, run: Run) -> None:
    if run.worktree != workspace.worktree:
        facts = [("run", run.id), ("its worktree", run.directory), ("this one", path_text(workspace.root))]
        hints = [
            f"`cd {shlex.quote(run.directory)}` and try again",
            f"`holdfast switch {run.id}` moves the run here",
        ]
        raise Refused("This run belongs to another worktree", facts, hints)


def _ready(workspace: Workspace, run: Run) -> Run:
    """A Go Team run whose last point is one of our checkpoints, where that can be."""
    point = team.last_kept(run)
    if point is not None:
        find_layout(run.layout).prepare_return(workspace, run, point.id)
    with workspace.reading() as journal:
        return journal.get_run(run.id)


def _recover(workspace: Workspace, run: Run, start_from: str) -> str | None:
    """Note how a Go Team run goes on. What a fresh start leaves behind is kept first: the code, and all it knew."""
    keep_run = find_layout(run.layout).keep_run
    made = keep_run(workspace, run, Reason.BEFORE_FRESH_START, always=True) if start_from == "fresh" else None
    with workspace.writing(for_session=False) as journal:
        journal.append(run.id, Draft("run.recovered", {"type": WAYS[start_from], "way": ids.make("res")}))
    return made.id if made else None


def _counted(workspace: Workspace, run: Run, target: Checkpoint | None, ways: list[Option]) -> list[Option]:
    """The ways, with how many files would change for that from the checkpoint, where that can be known."""
    if target is None:
        return ways
    try:
        changed = len(_go_back(workspace, run, target, state=True, force=True, dry_run=True).paths)
    except HoldfastError:  # whoever chooses it is told
        return ways
    return [structs.replace(way, files=changed) if way.type == CHECKPOINT else way for way in ways]


def _go_back(
    workspace: Workspace, run: Run, target: Checkpoint | None, *, state: bool, force: bool, dry_run: bool
) -> Restored:
    if target is None:
        point = team.last_kept(run)
        facts = [("checkpoint", point.id), ("commit", point.commit or "none")] if point else [("run", run.id)]
        what = "The code of its last checkpoint is not here" if point else "This run has no checkpoint to go back to"
        raise NotFound(what, facts, [f"`holdfast resume {run.id} --from live` goes on as it is"])
    wanted = Restore(
        id=ids.make("res"),
        time=workspace.clock.now(),
        before="",
        target=target.id,
        run=run.id if state else None,
        seq_after=target.seq if state else None,
        verb="resume",
    )
    return restore_to(workspace, lambda _: wanted, dry_run=dry_run, force=force)


def _take(workspace: Workspace, run: Run, take_over: bool) -> list[Session]:
    """Make the run the one that this worktree works on; whoever still has it loses it, if that was asked for."""
    with workspace.writing(for_session=False) as journal:
        who = f"taken over by process {os.getpid()} on {process.here().host}"
        taken = fence_off_others(workspace, journal, run, who) if take_over else []
        if journal.rules_of(run).is_recovered:
            mark_silent_dead(workspace, journal, run)
            run = journal.get_run(run.id)
        settle(journal, run, Move.RESUME)
        if run.archived:
            find_layout(run.layout).prepare_start(workspace)
        select.choose(journal, workspace.worktree, run)
        move_conversation(workspace, journal, run)
    return taken


def _conversation(sessions: list[Session]) -> tuple[Session | None, str | None]:
    """The newest conversation in which anything was said, if its agent still has it; else why not."""
    spoken = [found for found in sessions if found.events > 1 and NAME.fullmatch(found.agent_session or "")]
    if not spoken:
        return None, "no conversation was recorded"
    last = spoken[0]
    if last.transcript and os.path.isfile(last.transcript):
        return last, None
    return None, f"the transcript of conversation {last.agent_session} is gone"


def _last_agent(sessions: list[Session], run: Run) -> str:
    return next((found.agent for found in sessions if found.agent), None) or (run.agents or [DEFAULT])[-1]


def _directory(workspace: Workspace, session: Session | None) -> str:
    """Where the conversation took place, for its agent finds it only from there; else the worktree."""
    place = session.environment.directory if session and session.environment else ""
    if place and os.path.isdir(place) and Path(locate.locate_store(place)[1]) == workspace.place:
        return place
    return path_text(workspace.root)


def _resume_recovered(workspace: Workspace, given: Arguments, found: Recovery) -> Instead | None:
    if found.run is None or found.chosen in (None, HISTORY):
        return None
    return Instead("resume", {name: value for name, value in given.items() if name != "choose"})


@verb(None, follows=_resume_recovered)
def recover(workspace: Workspace, choose: str | None = None) -> Recovery:
    """Say what can be done about a damaged session file, or do it."""
    found = [recovery for layout in layouts() if (recovery := layout.recover(workspace, choose, establish))]
    return next((recovery for recovery in found if recovery.why is not None), found[0])
