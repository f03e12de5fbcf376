"""Supervise a command: it works on a run in a session of its own, and how it ends is judged by how it ended."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Struct

from holdfast.core import ids
from holdfast.core.errors import Busy, HoldfastError, NotFound, WrongUsage
from holdfast.core.fold import run as fold
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Cause, Draft, Ending, Reason, Run, Session, Status
from holdfast.core.question import Choose, Tell
from holdfast.core.recovery_options import recommended
from holdfast.core.text import one_line, path_text
from holdfast.ingest.catch_up import catch_up, establish, sync_layouts
from holdfast.ingest.open import foreign_files
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout, present
from holdfast.operations.parameters import Kind, RunName, argument, option
from holdfast.operations.resume import resume, undo_hints, which_way
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.create import Turn, keep_if_changed
from holdfast.project.runs import select
from holdfast.project.sessions import (
    clear_heartbeats,
    fence_off,
    live_sessions,
    next_epoch,
    open_process_session,
    other_live_sessions,
    refuse_live,
    settle,
    write_heartbeat,
)
from holdfast.project.workspace import Workspace, find_followed
from holdfast.system import files
from holdfast.system.git.repository import Repository
from holdfast.system.pty.child import Ended, check_command
from holdfast.system.pty.supervise import supervise

ON_PURPOSE = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "it was asked to end"}
HUNG_UP = signal.SIGHUP  # the terminal was closed or the connection was lost: no decision of the user
LINE = 200  # characters of a command that are told


class Ran(Struct):
    run: str
    session: str
    command: list[str]
    code: int  # as a shell says it
    signal: str | None  # the one that ended it
    status: Status  # of the run, afterwards


def _ask_recovery(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | Tell | None:
    """Resume an interrupted Go Team run before a command works on it; at a terminal the user chooses the way.

    With `recovery.auto_resume` it is resumed in the recommended way, and without a terminal the command goes on from
    the live state.
    """
    if not (words := given.get("command")):
        return None
    check_command(words[0])  # before anything is asked
    is_auto = workspace.settings.text("recovery.auto_resume") == "on"
    found = _find_interrupted(workspace, given.get("run")) if is_auto or can_ask else None
    if found is None:
        return None
    take_over = given.get("take_over", False)
    try:
        asked = resume(workspace, found.id, take_over=take_over, dry_run=True)
    except Busy:  # the command itself will be refused, with the way to run it
        return None
    start_from = recommended(asked.recovery).start_from if is_auto else given.get("start_from")
    if start_from is None:
        return which_way(asked, workspace)
    done = resume(workspace, found.id, start_from=start_from, take_over=take_over)
    branch = workspace.hide(Repository(workspace.root).head().branch)
    return Tell([*undo_hints(done), *find_layout(found.layout).resumed_screen(done.run, branch)])


def _find_interrupted(workspace: Workspace, name: str | None) -> Run | None:
    """The interrupted run that a command would work on, if its layout lets the user choose how to resume it."""
    if workspace.is_off:
        return None
    if not workspace.exists and foreign_files(workspace):
        establish(workspace)
    if not workspace.exists:
        return None
    catch_up(workspace)
    with workspace.reading() as journal:
        try:
            found = select.get_run(workspace, journal, name)
        except HoldfastError:  # the verb reports it, asks, or begins a run
            return None
        is_chosen = found.status is Status.INTERRUPTED and journal.rules_of(found).is_recovered
    return found if is_chosen and found.worktree == workspace.worktree else None


@verb(
    group=Group.GO,
    example="holdfast run -- claude",
    about="supervise a command, saved from time to time",
    asks=_ask_recovery,
)
def run(
    workspace: Workspace,
    command: Annotated[Sequence[str], argument(metavar="-- COMMAND…", kind=Kind.LINE)] = (),
    *,
    run: RunName = None,
    agent: Annotated[
        str | None, option(metavar="NAME", help="The agent that works on it; else the command's name.")
    ] = None,
    take_over: Annotated[bool, option(help="Fence whoever is on the run: they cannot write any more.")] = False,
) -> Ran:
    """Run a command in your terminal, saved from time to time; exits as it does.

    Standard output is the command's own; with --json the object is its last line.
    """
    words = list(command)
    if not words:
        raise WrongUsage("Which command?", [], ["`holdfast run -- claude`"])
    check_command(words[0])
    establish(workspace)
    with workspace.writing(for_session=False) as journal:
        found = _run_for(workspace, journal, words, run)
        alive = other_live_sessions(workspace, journal, found.id)
        if alive and not take_over:
            again = shlex.join(["holdfast", "run", "--run", found.id, "--take-over", "--", *words])
            refuse_live(found, alive, one_line(again, LINE))
        for session in alive:
            fence_off(journal, session, f"taken over by process {os.getpid()}")
        settle(journal, found, Move.RESUME)
        epoch = next_epoch(workspace, journal, found) if take_over else found.epoch
        name = agent or os.path.basename(words[0])
        session = open_process_session(workspace, journal, found, os.getpid(), one_line(name, 40), epoch=epoch)
        select.choose(journal, workspace.worktree, found)
        clear_heartbeats(workspace, journal)
    return supervise(
        words,
        {**os.environ, "HOLDFAST_SESSION": session.id, "HOLDFAST_RUN": found.id},
        beat=lambda: _save(workspace, session),
        interval=workspace.settings.number("save.interval"),
        judge=lambda ended: _judge(workspace, session, words, ended),
    )


def _run_for(workspace: Workspace, journal: Journal, words: list[str], name: str | None) -> Run:
    try:
        found = select.get_run(workspace, journal, name)
        transition(found.status, Move.RESUME, journal.rules_of(found))
    except NotFound:
        if name is not None:
            raise
        body = {"goal": one_line(shlex.join(words), LINE), "layout": "native", "worktree": workspace.worktree}
        draft = Draft("run.started", {**body, "directory": path_text(workspace.root)}, time=workspace.clock.now())
        found = journal.start(ids.make("run"), draft)
    return found


def _save(workspace: Workspace, session: Session) -> None:
    """Give a sign of life, ingest what happened meanwhile, and write the faces. Trouble must not end the command."""
    work: Callable[[], object]
    for work in (lambda: write_heartbeat(workspace, workspace.session or session.id), lambda: _save_faces(workspace)):
        try:
            with files.os_errors():
                work()
        except HoldfastError as error:
            workspace.warn(f"could not save: {error.message}")


def _save_faces(workspace: Workspace) -> None:
    catch_up(workspace)
    for layout in present(workspace):
        layout.autosave(workspace)


def _judge(workspace: Workspace, session: Session, words: list[str], ended: Ended) -> Ran:
    """End the session of the command, which may have gone over to another run, and let the run follow."""
    number = signal.Signals(ended.cause) if ended.cause is not None else None
    _save(workspace, session)
    with workspace.reading() as journal:
        session = find_followed(journal, session.id) or session
    _keep(workspace, session, _reason(number))
    with workspace.writing(for_session=False) as journal:
        found = journal.get_run(session.run)
        known = journal.find_session(session.id)
        if known is not None and known.is_open:
            _settle(journal, found, known, words, ended)
        found = journal.get_run(session.run)
        clear_heartbeats(workspace, journal)
    workspace.owns_session = False
    sync_layouts(workspace)
    return Ran(found.id, session.id, words, ended.exit_code, number.name if number else None, found.status)


def _reason(number: signal.Signals | None) -> Reason:
    if number is None:
        return Reason.ENDED
    return Reason.PAUSED if number in ON_PURPOSE else Reason.INTERRUPTED


def _keep(workspace: Workspace, session: Session, reason: Reason) -> None:
    """Save the changes of the command. A failure here must not hide how it ended."""
    try:
        keep_if_changed(workspace, reason, Turn(session.run, session.id))
    except HoldfastError as error:
        workspace.warn(f"what it left could not be kept: {error.message}")


def _settle(journal: Journal, run: Run, session: Session, words: list[str], ended: Ended) -> None:
    if ended.signal is None and ended.code != 0:
        text = f"{one_line(shlex.join(words), LINE)}: exit code {ended.code}"
        journal.append(run.id, Draft("error.met", {"text": text}, session=session.id, agent=session.agent))
    if ended.cause is None:
        journal.end_session(session.id, f"exit code {ended.code}")
        return
    number = signal.Signals(ended.cause)
    why = f"ended by {number.name}"
    body = {"how": Ending.STOPPED if number in ON_PURPOSE else Ending.DIED, "reason": why}
    journal.append(run.id, Draft(fold.ENDED, body, session=session.id, agent=session.agent))
    if run.status.is_open and not live_sessions(journal, run.id):
        journal.append(run.id, _move(number, why))


def _move(number: signal.Signals, why: str) -> Draft:
    if number in ON_PURPOSE:
        return fold.status_draft(Move.PAUSE, f"{ON_PURPOSE[number]} ({number.name})")
    evidence = f"its command was {why}"
    if number == HUNG_UP:
        return fold.status_draft(Move.INTERRUPT, None, f"disconnect: {evidence}", Cause.DISCONNECT)
    return fold.status_draft(Move.INTERRUPT, None, evidence, Cause.CRASH)
