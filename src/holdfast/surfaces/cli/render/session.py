"""A session's two ends: what it loaded, and what was saved."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.untrusted_text import enclose
from holdfast.layouts.registry import find_layout
from holdfast.layouts.results import Reloaded, SessionSaved, told_warnings
from holdfast.layouts.save import Saved
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.render.brief import said_brief as said_brief
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line


@renders(Reloaded)
def said_loaded(found: Reloaded, view: View) -> Said:
    talk = told_warnings(found.warnings, terminal.marks())
    return Said(found, _lines(view.workspace, found), talk, fenced=True)


def _lines(workspace: Workspace, found: Reloaded) -> Iterator[Line]:
    """The report and the artifacts, in one fence; nothing of it is made for somebody who wants JSON."""
    lines = find_layout(found.layout).load_screen(found, terminal.marks(), workspace.clock.now())
    yield enclose("\n".join(lines), workspace.chance)


@renders(SessionSaved)
def said_session_saved(found: SessionSaved, view: View) -> Said:
    marks = terminal.marks()
    short = [f"Session ended: {found.session} (reason: {found.reason})"] if found.changed else []
    lines: list[Line] = list(find_layout(found.layout).save_screen(found, marks))
    return Said(found, lines, told_warnings(found.warnings, marks), short=short)


@renders(Saved)
def said_saved(found: Saved, view: View) -> Said:
    where = f"{found.run} at event {found.seq:,}"
    talk = f"Saved {where} as {found.checkpoint.id}" if found.changed else f"Nothing changed since {where}"
    return Said(found, [found.checkpoint.id], [talk])
