"""Supervise a command in the user's terminal."""

from __future__ import annotations

import sys
from typing import Any

from holdfast.core.model import Status
from holdfast.core.recovery import recommended
from holdfast.layouts.registry import find_layout
from holdfast.operations import run as running
from holdfast.operations.resume import resume
from holdfast.operations.status import status
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line
from holdfast.system.git.repository import Repository


def run(workspace: Workspace, given: dict[str, Any]) -> Said:
    _take_up(workspace, given.get("run"))
    found = running.run(workspace, **{"command": (), **given})
    talk: list[Line] = []
    if found.signal:
        talk.append(("warn", f"{found.run} is {found.status}: the command was ended by {found.signal}"))
    return Said(found, talk=talk, code=found.code)


def _take_up(workspace: Workspace, name: str | None) -> None:
    """With `recovery.auto_resume`, an interrupted Go Team run is gone on with first, in the recommended way."""
    if workspace.settings.values["recovery.auto_resume"].value != "on":
        return
    found = status(workspace, run=name).run
    if found is None or found.status is not Status.INTERRUPTED:
        return
    layout = find_layout(found.layout)
    if layout.RULES.is_recovered:
        ways = resume(workspace, found.id, dry_run=True).recovery
        done = resume(workspace, found.id, start_from=recommended(ways).start_from)
        terminal.emit(
            layout.resumed_screen(done.run, workspace.hide(Repository(workspace.root).head().branch)), sys.stderr
        )
