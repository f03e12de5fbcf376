"""Go on with a run: the banner, and then the agent itself."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from msgspec import structs

from holdfast.core.errors import DONE, FAILED, NotFound
from holdfast.core.model import Run
from holdfast.core.question import confirmation
from holdfast.core.recovery import recommended
from holdfast.core.text import count, one_line, path_text
from holdfast.core.untrusted_text import enclose
from holdfast.ingest.catch_up import warn_if_silent
from holdfast.layouts.registry import find_layout
from holdfast.operations.past_runs import past_runs
from holdfast.operations.recover import HISTORY, Recovery, recover
from holdfast.operations.resume import Resumed, resume as go_on
from holdfast.operations.runs import runs as list_runs, which_run
from holdfast.project.checkpoints.conflicts import describe_clashes
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import questions, terminal
from holdfast.surfaces.cli.render.history import said_history
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.surfaces.cli.terminal import Line
from holdfast.system import process
from holdfast.system.git.command import find_program
from holdfast.system.git.repository import Repository

QUESTION = "Which would you prefer?"


def resume(workspace: Workspace, given: dict[str, Any]) -> Said:
    """Go on with a run: its conversation where that still exists, or a new one that starts with the brief."""
    name, start_from, choose = given.get("run"), given.get("start_from"), given.get("choose")
    only_print, yes = given.get("print", False), given.get("yes", False)
    recovery = recover(workspace)
    if recovery.why is not None:
        chosen = choose or _ask_which(recovery)
        recovery = recover(workspace, chosen)
        if recovery.chosen == HISTORY:
            return _history(workspace, recovery)
        if chosen is None or recovery.run is None:
            data, talk = _apart(list(_menu(recovery)), only_print)
            return Said(recovery, data, talk, FAILED if chosen is None else DONE)
    if given.get("pick") and name is None:
        name = questions.answer_to(which_run("run", list_runs(workspace, status=("open",), here=True, limit=500).runs))
    prepares = not only_print and (is_terminal() or yes)  # where nobody is, nothing is changed unasked
    more = {key: value for key, value in given.items() if key in ("restore", "take_over")}
    ways = partial(go_on, workspace, name, **more)
    team = ways(dry_run=True)
    if team.recovery:
        return _team(workspace, team, ways, start_from, yes, only_print)
    go = partial(ways, start_from=start_from or "live")
    if prepares and not yes and (wanted := go(dry_run=True).restored):
        questions.answer_to(confirmation(f"Make the worktree equal to {wanted.to}?", "holdfast resume"))
    found = go(dry_run=True)
    layout, now = find_layout(found.run.layout), workspace.clock.now()
    is_loaded = any(layout.banner(found.run, now)) and not is_terminal() and not only_print
    if prepares or is_loaded:
        found = go(dry_run=False)
    if is_loaded:  # whoever reads this is the agent that goes on
        return Said(found, _told(workspace, layout.banner(found.run, now)))
    warn_if_silent(workspace)
    banner = _told(workspace, _banner(workspace, found))
    command = _shell_line(workspace, found)
    if not found.command:
        data, talk = _apart(banner, only_print)
        unknown = "Nobody knows how to start this agent: start it, and give it `holdfast brief`"
        return Said(found, data, [*talk, unknown], DONE if prepares else FAILED)
    if only_print:
        return Said(found, [command], banner)
    if not is_terminal():
        nobody = f"Nobody is at a terminal here, so nothing was started. Go on with: {command}"
        return Said(found, banner, [nobody], code=DONE if yes else FAILED)
    return Said(found, banner, then=partial(_become, workspace, found))


def _apart(lines: list[Line], only_print: bool) -> tuple[list[Line], list[Line]]:
    """The lines as data or as talk: whoever asks for a command may give what is printed to a shell."""
    return ([], lines) if only_print else (lines, [])


def _team(
    workspace: Workspace, found: Resumed, go: partial[Resumed], start_from: str | None, yes: bool, only_print: bool
) -> Said:
    """Go on with a Go Team run: the choice, with what each way would lose, and the word that it was done."""
    layout = find_layout(found.run.layout)
    screen = _told(
        workspace, layout.recovery_screen(found.run, found.recovery, layout.silent_since(workspace, found.run))
    )
    auto = workspace.settings.values["recovery.auto_resume"].value == "on"
    if start_from is None and (yes or auto):
        start_from = recommended(found.recovery).start_from
    if only_print or (start_from is None and not is_terminal()):
        hints = [f"`holdfast resume {found.run.id} --from {way.start_from}`" for way in found.recovery]
        data, talk = _apart(screen, only_print)
        return Said(found, data, [*talk, f"Choose one: {', '.join(hints)}"], FAILED)
    if start_from is None:
        start_from = choose_way(workspace, found)
    done = go(start_from=start_from)
    branch = workspace.hide(Repository(workspace.root).head().branch)
    talk = told_recovery(done)
    if done.conversation:
        talk.append(f"Its conversation goes on with: {_shell_line(workspace, done)}")
    return Said(done, _told(workspace, layout.resumed_screen(done.run, branch)), talk)


def choose_way(workspace: Workspace, found: Resumed) -> str:
    """Ask at the terminal how to resume a Go Team run, with what each way would lose."""
    layout = find_layout(found.run.layout)
    silent = layout.silent_since(workspace, found.run)
    terminal.emit(_told(workspace, layout.recovery_screen(found.run, found.recovery, silent)), sys.stderr)
    numbers = [str(number) for number in range(1, len(found.recovery) + 1)]
    best = str(found.recovery.index(recommended(found.recovery)) + 1)
    chosen = questions.prompt("Enter choice", choices=numbers, default=best)
    return found.recovery[int(chosen) - 1].start_from


def told_recovery(done: Resumed) -> list[Line]:
    """How a recovery is taken back."""
    talk: list[Line] = []
    if done.restored and done.restored.restore:
        talk.append(f"Restored from {done.restored.to}; `holdfast undo` takes that back")
    if done.kept:
        talk.append(f"What was there is kept: `holdfast restore {done.kept} --both` takes the fresh start back")
    return talk


def _told(workspace: Workspace, lines: Iterable[Line]) -> list[Line]:
    """Where a run stands: as it is for somebody at a terminal, and in a fence for whoever else reads it: an agent."""
    if sys.stdout.isatty():
        return list(lines)
    return [enclose("\n".join(map(terminal.plain, lines)), workspace.chance)]


def _history(workspace: Workspace, recovery: Recovery) -> Said:
    """The archived sessions, as `holdfast history` lists them."""
    found = past_runs(workspace)
    listed = said_history(found, 10)
    ways = ["`holdfast resume ID` goes on with one"] if found.runs else []
    ways.append(f"The damaged file is still {recovery.path}")
    return structs.replace(listed, result=recovery, talk=[*listed.talk, *ways])


def _ask_which(recovery: Recovery) -> str | None:
    """Which way out somebody at a terminal prefers; None where nobody is there."""
    if not is_terminal():
        return None
    terminal.emit(_ways_out(recovery), sys.stderr)
    numbers = [str(number) for number in range(1, len(recovery.choices) + 1)]
    answers = [*numbers, *recovery.choices]
    return questions.prompt(QUESTION, choices=answers, show_choices=False, prompt_suffix=" ")


def _ways_out(recovery: Recovery) -> Iterator[Line]:
    """The recovery menu, up to its question."""
    yield ("title", "## ⚠️ SESSION RECOVERY")
    yield ""
    yield "The previous session file appears corrupted."
    yield f"{recovery.path}: {one_line(recovery.why or '', 200)}"
    yield ""
    yield "**Options**:"
    for number, (name, about) in enumerate(recovery.choices.items(), 1):
        yield f"{number}. **{NAMES[name]}**: {one_line(about, 200)} (`--choose {name}`)"
    yield ""


def _menu(recovery: Recovery) -> Iterator[Line]:
    """The whole menu, or the outcome of the way that was chosen."""
    if recovery.chosen is None:
        yield from _ways_out(recovery)
        yield QUESTION
        return
    if recovery.aside:
        yield f"The damaged file is kept as {recovery.aside}"
    if recovery.run is None:
        yield 'Begin a new session: `holdfast start "GOAL" --layout orchestrator`'


NAMES = {
    "copy": "Last good copy",
    "fresh": "Start fresh",
    "history": "View history",
    "manual": "Manual recovery",
}


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
