"""Entries of a run: decisions, notes, tasks, actions, errors; pinning and forgetting; the run's name and tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Struct

from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.fold import run as fold
from holdfast.core.model import Body, Checkpoint, Draft, Run, Task
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import as_tuple, checked
from holdfast.journal.journal import Journal
from holdfast.operations.parameters import Kind, RunName, argument, option
from holdfast.operations.verb import Arguments, Group, family, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

NAME_LIMIT, TAG_LIMIT, PROMPT_LIMIT = 200, 64, 1_000_000

Text = Annotated[str, argument()]

family(
    "task",
    Group.TELL,
    about="add, finish and list tasks",
    help="Add, finish and list the tasks of a run.",
    example='holdfast task add "Write the tests"',
    common=True,
)


class Decided(Struct):
    run: str
    entry: str
    seq: int


class Revoked(Struct):
    run: str
    entry: str
    changed: bool


class Noted(Struct):
    run: str
    entry: str
    seq: int


class TaskAdded(Struct):
    run: str
    entry: str
    seq: int


class TaskDone(Struct):
    run: str
    entry: str
    changed: bool


class TasksListed(Struct):
    run: str
    tasks: list[Task]


class Recorded(Struct):
    run: str
    seq: int


class Pinned(Struct):
    run: str | None  # null for a checkpoint
    entry: str  # its id: `d1`, `t2`, `n3`, or that of a checkpoint
    pinned: bool
    changed: bool


class Forgotten(Struct):
    run: str
    seq: int
    changed: bool


class Renamed(Struct):
    run: Run


class Tagged(Struct):
    run: Run


@verb(
    group=Group.TELL,
    example='holdfast decide "Use exponential backoff" --because "the server sheds load"',
    prints="the entry's id",
    common=True,
)
def decide(
    workspace: Workspace,
    text: Text,
    *,
    because: Annotated[str | None, option(metavar="WHY", help="The reason; the next session will need it.")] = None,
    run: RunName = None,
) -> Decided:
    """Record a decision and its reason."""
    checked(text, "decision")
    if because is not None:
        checked(because, "reason")
    return Decided(*_add(workspace, run, "decision.made", decision=text, because=because))


@verb(group=Group.TELL, example='holdfast revoke 2 --because "the library was dropped"')
def revoke(
    workspace: Workspace,
    decision: Annotated[str, argument(metavar="N")],
    *,
    because: Annotated[str | None, option(metavar="WHY", help="The reason.")] = None,
    run: RunName = None,
) -> Revoked:
    """Revoke a decision. It stays in the history, but no brief shows it any more."""
    with select.writing(workspace, run) as (journal, found):
        entry = select.get_entry([known.id for known in found.decisions], decision, "d", "decision")
        changed = entry in {known.id for known in found.standing_decisions}
        if changed:
            journal.append(found.id, Draft("decision.revoked", {"entry": entry, "because": because}))
        return Revoked(found.id, entry, changed)


@verb(group=Group.TELL, example='holdfast note "The staging server needs a VPN"', prints="the entry's id", common=True)
def note(workspace: Workspace, text: Text, *, run: RunName = None) -> Noted:
    """Add a note."""
    return Noted(*_add(workspace, run, "note.added", text=checked(text, "note")))


@verb("task add", example='holdfast task add "Write the tests"', prints="the entry's id")
def add_task(workspace: Workspace, text: Text, *, run: RunName = None) -> TaskAdded:
    """Add a task."""
    return TaskAdded(*_add(workspace, run, "task.added", text=checked(text, "task")))


@verb(
    "task done",
    example='holdfast task done t1 --outcome "12 tests, green" --files tests/test_client.py',
    aliases=("done",),
)
def finish_task(
    workspace: Workspace,
    task: Annotated[str, argument()],
    *,
    outcome: Annotated[str | None, option(metavar="TEXT", help="The outcome.")] = None,
    files: Annotated[
        Sequence[str], option(metavar="A,B", kind=Kind.LIST, help="The files it changed, separated by commas.")
    ] = (),
    run: RunName = None,
) -> TaskDone:
    """Finish a task, and record its outcome."""
    with select.writing(workspace, run) as (journal, found):
        entry = select.get_entry([known.id for known in found.tasks], task, "t", "task")
        is_open = entry in {known.id for known in found.open_tasks}
        if is_open or outcome or files:
            body = {"entry": entry, "outcome": outcome, "files": list(as_tuple(files))}
            journal.append(found.id, Draft("task.done", body))
        return TaskDone(found.id, entry, is_open)


@verb("task list", previews=True)
def list_tasks(workspace: Workspace, *, run: RunName = None) -> TasksListed:
    """The tasks of a run, open and done."""
    found = select.read_run(workspace, run)
    return TasksListed(found.id, found.tasks)


@verb(group=Group.TELL, example='holdfast action "Ran the migration" --file db/schema.sql', prints="the event's number")
def action(
    workspace: Workspace,
    text: Text,
    *,
    files: Annotated[Sequence[str], option("--file", metavar="F", help="A file it touched. Can be repeated.")] = (),
    line: Annotated[int | None, option(least=1, metavar="N", help="The current line in the last file.")] = None,
    run: RunName = None,
) -> Recorded:
    """Record an action."""
    body: Body = {"text": checked(text, "action"), "files": list(as_tuple(files))}
    if line is not None:
        if not body["files"] or line < 1:
            raise WrongUsage("A line needs a file, and counts from 1", [("line", line)], ["add the file: `--file F`"])
        body["line"] = line
    return _record(workspace, run, Draft("action.taken", body))


@verb(group=Group.TELL, example='holdfast error "the build fails with E0433"', prints="the event's number")
def error(workspace: Workspace, text: Text, *, run: RunName = None) -> Recorded:
    """Record an error."""
    return _record(workspace, run, Draft("error.met", {"text": checked(text, "error")}))


@verb(None)
def prompt(workspace: Workspace, text: str, *, run: str | None = None) -> Recorded:
    """Record a prompt that the agent was given."""
    return _record(workspace, run, Draft("prompt.given", {"text": checked(text, "prompt", PROMPT_LIMIT)}))


@verb(group=Group.TELL, example="holdfast pin d2", about="keep an entry in every brief")
def pin(
    workspace: Workspace,
    entry: Annotated[str, argument(metavar="N|CHECKPOINT")],
    *,
    off: Annotated[bool, option(help="Unpin it.")] = False,
    run: RunName = None,
) -> Pinned:
    """Keep a decision, note or task in every brief, or protect a checkpoint. A bare number means a decision."""
    with workspace.writing() as journal:
        if entry.startswith("cp-"):
            return _pin_checkpoint(journal, select.get_checkpoint(workspace, journal, entry), off)
        try:
            return _pin_entry(workspace, journal, entry, off, run)
        except NotFound:
            listed = journal.list_checkpoints(workspace.worktree) if run is None else ()
            named = next((found for found in listed if found.name == entry), None)
            if named is None:
                raise
            return _pin_checkpoint(journal, named, off)


def _ask_to_forget(workspace: Workspace, given: Arguments) -> Choose | None:
    meant = forget(workspace, given["event"], run=given.get("run"), dry_run=True)
    prompt = f"Forget event {meant.seq} of {meant.run}?"
    return confirmation(prompt, f"holdfast forget {meant.seq} --run {meant.run}")


@verb(
    group=Group.TELL,
    example="holdfast forget 17 --yes",
    about="make a run forget one event",
    confirms=_ask_to_forget,
)
def forget(
    workspace: Workspace, event: Annotated[str, argument()], *, run: RunName = None, dry_run: bool = False
) -> Forgotten:
    """Make a run forget one event: no list, brief or search shows it any more. Its number stays taken."""
    with select.writing(workspace, run) as (journal, found):
        seq = select.get_seq(found, event)
        (target,) = journal.events(found.id, after=seq - 1, until=seq)
        if target.kind.startswith(("run.", "session.", "event.")):
            raise Refused(
                "The run needs this event, so it cannot be forgotten",
                [("event", f"{seq}, {target.kind}")],
                ["`holdfast rename` changes the name of a run", "`holdfast delete` removes the whole run"],
            )
        changed = seq not in found.forgotten
        if changed and not dry_run:
            journal.append(found.id, Draft(fold.FORGOTTEN, {"seq": seq}))
        return Forgotten(found.id, seq, changed)


@verb(group=Group.TELL, example='holdfast rename "Retries"', about="give a run a name")
def rename(workspace: Workspace, name: Annotated[str, argument()], *, run: RunName = None) -> Renamed:
    """Give a run a name, which is shown instead of its goal."""
    checked(name, "name", NAME_LIMIT)
    with select.writing(workspace, run) as (journal, found):
        if found.name != name:
            journal.append(found.id, Draft("run.renamed", {"name": name}))
        return Renamed(journal.get_run(found.id))


@verb(group=Group.TELL, example="holdfast tag urgent --remove waiting")
def tag(
    workspace: Workspace,
    add: Annotated[Sequence[str], argument(metavar="TAG…")],
    *,
    remove: Annotated[Sequence[str], option(metavar="TAG", help="Remove this tag. Can be repeated.")] = (),
    run: RunName = None,
) -> Tagged:
    """Add tags to a run, or remove them. Prints all its tags."""
    add, remove = as_tuple(add), as_tuple(remove)
    for word in (*add, *remove):
        checked(word, "tag", TAG_LIMIT)
        if any(letter.isspace() or letter == "," for letter in word):
            raise WrongUsage("A tag is one word", [("tag", word)], ["use a hyphen: `in-review`"])
    with select.writing(workspace, run) as (journal, found):
        added = [word for word in dict.fromkeys(add) if word not in found.tags]
        removed = [word for word in dict.fromkeys(remove) if word in found.tags]
        if added or removed:
            journal.append(found.id, Draft("run.tagged", {"added": added, "removed": removed}))
        return Tagged(journal.get_run(found.id))


def _add(workspace: Workspace, run: str | None, kind: str, **body: Any) -> tuple[str, str, int]:
    """Append an entry. Returns the run's id, the entry's id and the number of the event."""
    with select.writing(workspace, run) as (journal, found):
        entry = fold.entry_id(found, kind)
        (event,) = journal.append(found.id, Draft(kind, {"entry": entry, **body}))
        return found.id, entry, event.seq


def _record(workspace: Workspace, run: str | None, draft: Draft) -> Recorded:
    with select.writing(workspace, run) as (journal, found):
        (event,) = journal.append(found.id, draft)
        return Recorded(found.id, event.seq)


def _pin_entry(workspace: Workspace, journal: Journal, entry: str, off: bool, run: str | None) -> Pinned:
    found = select.get_run(workspace, journal, run)
    id = select.get_entry(found.pinnable, entry, "d", "entry")
    changed = found.pinnable[id].pinned == off
    if changed:
        journal.append(found.id, Draft("entry.unpinned" if off else "entry.pinned", {"entry": id}))
    return Pinned(found.id, id, not off, changed)


def _pin_checkpoint(journal: Journal, found: Checkpoint, off: bool) -> Pinned:
    changed = found.pinned == off
    if changed:
        draft = Draft("checkpoint.unpinned" if off else "checkpoint.pinned", {"id": found.id})
        journal.append(journal.ledger(found.worktree).id, draft)
    return Pinned(None, found.id, not off, changed)
