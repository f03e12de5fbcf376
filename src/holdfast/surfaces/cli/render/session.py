"""What is said about a session's two ends, however the command was read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from holdfast.core.brief import Brief
from holdfast.core.untrusted_text import enclose
from holdfast.layouts.registry import find_layout
from holdfast.layouts.save import Saved
from holdfast.layouts.session_reports import Reloaded, SessionSaved, told_warnings
from holdfast.operations import session_load
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


def load_session(workspace: Workspace, artifacts: str | None = None, **arguments: Any) -> Said:
    """Load what a session needs, and say what was loaded."""
    wanted = tuple(word.strip() for word in (artifacts or "").split(",") if word.strip())
    found = session_load.session_load(workspace, artifacts=wanted, **arguments)
    if isinstance(found, Brief):
        return Said(found, [found.text], fenced=True)
    return Said(found, _lines(workspace, found), told_warnings(found.warnings, terminal.marks()), fenced=True)


def _lines(workspace: Workspace, found: Reloaded) -> Iterator[Line]:
    """The report and the artifacts, in one fence; nothing of it is made for somebody who wants JSON."""
    lines = find_layout(found.layout).load_screen(found, terminal.marks(), workspace.clock.now())
    yield enclose("\n".join(lines), workspace.chance)


def said_saved(found: Saved | SessionSaved) -> Said:
    if isinstance(found, SessionSaved):
        marks = terminal.marks()
        short = [f"Session ended: {found.session} (reason: {found.reason})"] if found.changed else []
        lines: list[Line] = list(find_layout(found.layout).save_screen(found, marks))
        return Said(found, lines, told_warnings(found.warnings, marks), short=short)
    where = f"{found.run} at event {found.seq:,}"
    talk = f"Saved {where} as {found.checkpoint.id}" if found.changed else f"Nothing changed since {where}"
    return Said(found, [found.checkpoint.id], [talk])
