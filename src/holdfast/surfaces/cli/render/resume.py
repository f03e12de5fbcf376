"""Going on with a run: the banner, the command of its agent, and the agent itself; ways out of a damaged file."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

from msgspec import structs

from holdfast.core.errors import DONE, FAILED, NotFound
from holdfast.core.model import Run
from holdfast.core.text import count, one_line, path_text
from holdfast.core.untrusted_text import enclose
from holdfast.ingest.catch_up import warn_if_silent
from holdfast.layouts import results
from holdfast.layouts.registry import find_layout
from holdfast.operations import resume
from holdfast.operations.resume import Resumed
from holdfast.operations.runs import past_runs
from holdfast.project.checkpoints.conflicts import describe_clashes
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.render import View, previews, renders
from holdfast.surfaces.cli.render.runs import said_history
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.surfaces.cli.terminal import Line
from holdfast.system import process
from holdfast.system.git.command import find_program
from holdfast.system.git.repository import Repository

NAMES = {"copy": "Last good copy", "fresh": "Start fresh", "history": "View history", "manual": "Manual recovery"}


@renders
def said_resumed(found: resume.Resumed, view: View) -> Said:
    if found.recovery:
        return _team(found, view)
    workspace, only_print, is_dry = view.workspace, view.given.get("print", False), view.given.get("dry_run", True)
    loaded = list(find_layout(found.run.layout).banner(found.run, workspace.clock.now()))
    if loaded and not is_terminal() and not only_print:  # whoever reads this is the agent that goes on
        return Said(found, _told(workspace, loaded))
    warn_if_silent(workspace)
    banner = _told(workspace, _banner(workspace, found))
    command = _shell_line(workspace, found)
    if not found.command:
        data, talk = _apart(banner, view)
        unknown = "Nobody knows how to start this agent: start it, and give it `holdfast brief`"
        return Said(found, data, [*talk, unknown], FAILED if is_dry else DONE)
    if only_print:
        return Said(found, [command], banner)
    if not is_terminal():
        nobody = f"Nobody is at a terminal here, so nothing was started. Go on with: {command}"
        return Said(found, banner, [nobody], code=DONE if view.given.get("yes") else FAILED)
    return Said(found, banner, then=partial(_become, workspace, found))


def _apart(lines: list[Line], view: View) -> tuple[list[Line], list[Line]]:
    """The lines as data or as talk: whoever asks for a command may give what is printed to a shell."""
    return ([], lines) if view.given.get("print") else (lines, [])


def _team(found: Resumed, view: View) -> Said:
    """A Go Team run: the ways to go on, with what each would lose; or the word that it was done."""
    workspace, layout = view.workspace, find_layout(found.run.layout)
    if view.given.get("dry_run", True):
        silent = layout.silent_since(workspace, found.run)
        data, talk = _apart(_told(workspace, layout.recovery_screen(found.run, found.recovery, silent)), view)
        hints = [f"`holdfast resume {found.run.id} --from {way.start_from}`" for way in found.recovery]
        return Said(found, data, [*talk, f"Choose one: {', '.join(hints)}"], FAILED)
    branch = workspace.hide(Repository(workspace.root).head().branch)
    talk = [*resume.undo_hints(found)]
    if found.conversation:
        talk.append(f"Its conversation goes on with: {_shell_line(workspace, found)}")
    return Said(found, _told(workspace, layout.resumed_screen(found.run, branch)), talk)


def _told(workspace: Workspace, lines: Iterable[Line]) -> list[Line]:
    """Where a run stands: as it is for somebody at a terminal, and in a fence for whoever else reads it: an agent."""
    if sys.stdout.isatty():
        return list(lines)
    return [enclose("\n".join(map(terminal.plain, lines)), workspace.chance)]


@renders
def said_recovery(found: results.Recovery, view: View) -> Said:
    if found.chosen == results.HISTORY:
        earlier = past_runs(view.workspace)
        listed = said_history(earlier, 10)
        ways = ["`holdfast resume ID` goes on with one"] if earlier.runs else []
        ways.append(f"The damaged file is still {found.path}")
        return structs.replace(listed, result=found, talk=[*listed.talk, *ways])
    data, talk = _apart(list(_menu(found)), view)
    return Said(found, data, talk, FAILED if found.chosen is None else DONE)


@previews
def ways_out(found: results.Recovery) -> Iterator[Line]:
    """The recovery menu, up to its question."""
    yield ("title", "## ⚠️ SESSION RECOVERY")
    yield ""
    yield "The previous session file appears corrupted."
    yield f"{found.path}: {one_line(found.why or '', 200)}"
    yield ""
    yield "**Options**:"
    for number, (name, about) in enumerate(found.choices.items(), 1):
        yield f"{number}. **{NAMES[name]}**: {one_line(about, 200)} (`--choose {name}`)"
    yield ""


def _menu(found: results.Recovery) -> Iterator[Line]:
    """The whole menu, or the outcome of the way that was chosen."""
    if found.chosen is None:
        yield from ways_out(found)
        yield resume.WHICH
        return
    if found.aside:
        yield f"The damaged file is kept as {found.aside}"
    if found.run is None:
        yield 'Begin a new session: `holdfast start "GOAL" --layout orchestrator`'


def _standing(workspace: Workspace, run: Run) -> Iterator[Line]:
    """Where a run stands, in its layout's words: Markdown for an agent, a table for a person."""
    layout, now = find_layout(run.layout), workspace.clock.now()
    if not sys.stdout.isatty():
        yield from layout.banner(run, now)
    elif rows := layout.banner_rows(run, now):
        yield ("title", "🔄 RESUMING SESSION")
        for name, value in rows:
            yield f"  {name.ljust(13)}  {value}"


def _banner(workspace: Workspace, found: Resumed) -> Iterator[Line]:
    run, last = found.run, found.last
    yield from list(_standing(workspace, run)) or [("title", f"Going on with {run.id}: {one_line(run.title, 80)}")]
    if last and last.ended:
        yield f"  the last session {last.how}: {one_line(last.reason or '', 120)}".rstrip(": ")
    if last and last.last_action:
        yield f"  its last action: {one_line(last.last_action, 120)}"
    yield f"  {count(len(run.open_tasks), 'open task')}, {count(len(run.standing_decisions), 'decision')}"
    for task in run.open_tasks[:3]:
        yield f"    {task.id} {one_line(task.text, 100)}"
    if found.restored and not found.restored.dry_run:
        yield f"  restored from {found.restored.to}; `holdfast undo` takes that back"
    if found.restored:
        yield from (("warn", f"  {line}") for line in describe_clashes(found.restored.clashes))
    for line in found.bearings.disagreements:
        yield ("warn", f"  git: {one_line(line, 200)}")
    for id in found.attended:
        yield ("warn", f"  somebody alive works on it, in {id}")
    for session in found.taken_from:
        yield f"  taken over from {session.id}"
    if found.conversation:
        yield f"  conversation {found.conversation}"
    else:
        yield f"  a new conversation, which starts with the brief: {found.why_new}"


def _place(workspace: Workspace, found: Resumed) -> Path:
    """Where it goes on. The result says it as text, and a directory may have a name that is none."""
    return workspace.root if found.directory == path_text(workspace.root) else Path(found.directory)


def _quoted(path: Path) -> str:
    """A path for a shell, which can be pasted whatever bytes it is made of."""
    if (name := str(path)).isprintable():
        return shlex.quote(name)
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else f"\\x{byte:02x}" for byte in os.fsencode(path))
    return f"$'{''.join(plain)}'"


def _shell_line(workspace: Workspace, found: Resumed) -> str:
    """The same in a shell; what a dry run has not brought back comes first."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in found.environment.items()]
    steps = [f"cd {_quoted(_place(workspace, found))}", " ".join([*variables, shlex.join(found.command)])]
    if found.restored and found.restored.dry_run:
        steps.insert(1, f"holdfast restore {found.restored.to}{' --both' if found.restored.state else ''}")
    return " && ".join(steps)


def _become(workspace: Workspace, found: Resumed) -> NoReturn:
    program = find_program(found.command[0], os.environ.get("PATH", os.defpath), str(workspace.root))
    if program is None:
        facts = [("searched", os.environ.get("PATH", ""))]
        hint = f"install it, then: `{_shell_line(workspace, found)}`"
        raise NotFound(f"{found.command[0]} is not installed", facts, [hint])
    sys.stdout.flush()
    process.become(program, found.command, _place(workspace, found), {**os.environ, **found.environment})
