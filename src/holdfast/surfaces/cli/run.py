"""Supervise a command in the user's terminal."""

from __future__ import annotations

import sys
from typing import Any

from holdfast.core.errors import Busy, HoldfastError
from holdfast.core.model import Run, Status
from holdfast.core.recovery import recommended
from holdfast.ingest.catch_up import catch_up, establish
from holdfast.ingest.open import foreign_files
from holdfast.layouts.registry import find_layout
from holdfast.operations import run as running
from holdfast.operations.resume import resume
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.resume import choose_way, told_recovery
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.git.repository import Repository
from holdfast.system.pty.child import check_command


def run(workspace: Workspace, given: dict[str, Any]) -> Said:
    if words := given.get("command"):
        check_command(words[0])  # before anything is asked
        _recover(workspace, given.get("run"), given.get("take_over", False))
    found = running.run(workspace, **{"command": (), **given})
    talk: list[Line] = []
    if found.signal:
        talk.append(("warn", f"{found.run} is {found.status}: the command was ended by {found.signal}"))
    return Said(found, talk=talk, code=found.code)


def _recover(workspace: Workspace, name: str | None, take_over: bool) -> None:
    """Resume an interrupted Go Team run before a command works on it: how is asked at a terminal.

    With `recovery.auto_resume` it is resumed in the recommended way, and without a terminal the command goes on from
    the live state.
    """
    auto = workspace.settings.values["recovery.auto_resume"].value == "on"
    if not auto and not is_terminal():
        return
    found = _find_interrupted(workspace, name)
    if found is None:
        return
    try:
        asked = resume(workspace, found.id, take_over=take_over, dry_run=True)
    except Busy:  # the command itself will be refused, with the way to run it
        return
    start_from = recommended(asked.recovery).start_from if auto else choose_way(workspace, asked)
    done = resume(workspace, found.id, start_from=start_from, take_over=take_over)
    branch = workspace.hide(Repository(workspace.root).head().branch)
    terminal.emit([*told_recovery(done), *find_layout(found.layout).resumed_screen(done.run, branch)], sys.stderr)


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
