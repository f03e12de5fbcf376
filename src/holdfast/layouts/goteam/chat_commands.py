"""Chat commands in a Go Team run, with the screens of the team's document."""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.chat_commands import Order, checkpoint_commands
from holdfast.core.fold.team import last_kept, plain_number, since_kept
from holdfast.core.model import Kept, Run
from holdfast.core.recovery_options import recommended, told_silent
from holdfast.core.text import count, one_line
from holdfast.layouts.goteam import NAME, screens
from holdfast.layouts.goteam.checkpoints import find_kept
from holdfast.layouts.goteam.runs import find_silent, list_all, silent_since
from holdfast.layouts.goteam.schema import last_action, progress, word_of
from holdfast.layouts.results import ChatCommand, Verbs
from holdfast.project.runs import select
from holdfast.project.sessions import switch_session
from holdfast.project.workspace import Workspace
from holdfast.system.clock import shown
from holdfast.system.git.repository import Repository

Lines = Iterable[str]


def sessions(workspace: Workspace, run: Run, order: Order, verbs: Verbs) -> Lines:
    found, others = list_all(workspace)
    yield from screens.resumable_screen(found, find_silent(workspace, found))
    yield from screens.others(others, len(found) + 1)


def go_on(workspace: Workspace, run: Run, order: Order, verbs: Verbs) -> Lines:
    """Resume in the requested way, or else in the recommended one."""
    ways = verbs.resume(workspace, run.id, dry_run=True).recovery
    chosen, left = order.way or recommended(ways).start_from, select.pointed(workspace)
    done = verbs.resume(workspace, run.id, start_from=chosen)
    with workspace.writing(for_session=False) as journal:
        switch_session(workspace, journal, journal.get_run(run.id), left)
    yield from screens.resumed_screen(done.run, workspace.hide(Repository(workspace.root).head().branch))
    if done.restored and done.restored.restore:
        yield f"Restored from {done.restored.to}; `holdfast undo` takes that back"
    if done.kept:
        yield f"What was there is kept: `holdfast restore {done.kept} --both` takes the fresh start back"
    for way in ways if chosen == "live" else ():  # any other way has changed the live state
        if way.start_from != chosen:
            yield f"`*resume:{run.id} {way.start_from}`: {way.description}, data loss: {screens.loss(way)}"


def begin(workspace: Workspace, run: Run, order: Order, verbs: Verbs) -> Lines:
    if not order.argument:
        return ["What is the topic? `*new TOPIC` starts a new session; the one before it is paused"]
    begun = verbs.start(workspace, order.argument, layout=NAME).run
    with workspace.writing(for_session=False) as journal:
        switch_session(workspace, journal, journal.get_run(begun.id))
    return screens.started_screen(begun, workspace.settings.number("save.interval"))


def info(workspace: Workspace, run: Run, order: Order, verbs: Verbs) -> Lines:
    done, last = progress(run), last_kept(run)
    yield f"Session: {run.id}"
    yield f"Topic: {one_line(run.title, 200)}"
    yield f"Status: {word_of(run)}" + (f" ({one_line(run.evidence, 160)})" if run.evidence else "")
    if silent := silent_since(workspace, run):
        yield told_silent(run.id, silent)
    yield f"Progress: {done['steps_completed']}/{done['total_steps']} ({done['percentage']}%)"
    yield f"Agent: {one_line(run.standing.agent or 'orchestrator', 60)}"
    if run.standing.is_waiting:
        yield "Waiting at a breakpoint"
    yield f"Last action: {last_action(run) or 'none'}"
    yield f"Checkpoint: {last.id if last else 'none'}, {count(since_kept(run), 'action')} since"


def checkpoints(workspace: Workspace, run: Run, order: Order, verbs: Verbs) -> Lines:
    if not run.standing.kept:
        return ["No checkpoint yet; completing a step makes one"]
    rows = [_row(kept) for kept in run.standing.kept]
    return [*rows, "", checkpoint_commands(is_preview=workspace.is_preview)]


def told_missing(name: str) -> str:
    return f"Session not found: {one_line(name, 60)}"


def _row(kept: Kept) -> str:
    validity = "valid" if kept.is_valid else f"left behind by {kept.invalidated_by}"
    return f"{plain_number(kept.number)!s:>3}  {kept.id}  {shown(kept.time)}  {one_line(validity, 60)}"


def told_point(workspace: Workspace, run: Run, order: Order) -> Lines | None:
    kept = find_kept(run, order.argument, left_too=True)
    if kept is None or kept.checkpoint is not None:
        return None
    touched = [*kept.created, *kept.modified, *(f"{path} (deleted)" for path in kept.deleted)]
    return [
        _row(kept).strip(),
        f"Step {plain_number(kept.number)} - {one_line(kept.step, 60)}; only its file is known",
        f"Commit {one_line(kept.commit or 'none', 64)} on {one_line(kept.branch or 'no branch', 120)}",
        *([kept.flaw] if kept.flaw else []),
        *(f"  {one_line(path)}" for path in touched[:20]),
    ]


def validate(workspace: Workspace, run: Run, order: Order, verbs: Verbs) -> Lines:
    found = verbs.validate_checkpoints(workspace, run=run.id)
    for one in found.checkpoints:
        yield f"{'✗' if one.problems else '✓'} {one.id}" + "".join(f": {one_line(what, 200)}" for what in one.problems)
    yield f"{count(len(found.checkpoints), 'checkpoint')}, {'all whole' if found.whole else 'not all whole'}"


def export(workspace: Workspace, run: Run, order: Order, verbs: Verbs) -> Lines:
    found = verbs.export_checkpoints(workspace, run=run.id)
    return [f"Exported {count(found.checkpoints, 'checkpoint')} to {found.path}", f"sha256 {found.sha256}"]


# `sessions` and `new` are called with any run, the others with the one that is meant.
CHAT_COMMANDS: dict[str, ChatCommand] = {
    "sessions": sessions,
    "resume": go_on,
    "continue": go_on,
    "session-info": info,
    "new": begin,
    "checkpoints": checkpoints,
    "cp-validate": validate,
    "cp-export": export,
}
