"""Maintenance of the store: verify, repair, tidy, sweep; backup and its restoration; deletion and purge of a run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Struct, structs

from holdfast.core.errors import Ambiguous, Busy, Damaged, HoldfastError, NotFound, Refused
from holdfast.core.model import Run
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import count, one_line, path_text
from holdfast.ingest import catch_up
from holdfast.journal import backup_file
from holdfast.journal.journal import Journal
from holdfast.layouts.protocol import Layout
from holdfast.layouts.registry import find_layout, find_rules, layouts
from holdfast.layouts.results import FilesRepaired, Rebuilt as Rebuilt
from holdfast.maintenance import purge as purging
from holdfast.maintenance.backup import replace_store, write_backup
from holdfast.maintenance.prune import Tidied as Tidied, checkpoint_rules, tidy_up
from holdfast.maintenance.purge import Purge, Purged
from holdfast.maintenance.repair.repair import Mended as Mended, repair_store
from holdfast.maintenance.verify import Problem as Problem, check_runs, files_of, prove, rows_of
from holdfast.operations.parameters import YES, DryRun, Kind, argument, flag, option
from holdfast.operations.verb import Arguments, Group, synced, verb
from holdfast.project import inbox
from holdfast.project.quota import MEGABYTE
from holdfast.project.runs import select, tombstones
from holdfast.project.sessions import is_own, live_sessions
from holdfast.project.workspace import Workspace
from holdfast.system import files


class Verified(Struct):
    runs: int
    events: int
    problems: list[Problem]
    set_aside: int
    checkpoints: int = 0
    objects: int = 0  # with `--deep`: objects that were read
    promised: int = 0  # with `--deep`: objects that a partial clone has not fetched yet
    faces: list[Problem] = []  # damaged files that show runs to another system
    unread: int = 0  # calls in the inbox that cannot be read at present


@verb(group=Group.CARE, example="holdfast verify --deep", common=True, changes=False, syncs=False)
def verify(
    workspace: Workspace,
    *,
    deep: Annotated[
        bool, option(help="Also read every byte: database, search index, objects, copies of files, backups.")
    ] = False,
) -> Verified:
    """Check that the store is undamaged. Nothing is changed; exit code 12 means damage."""
    result = Verified(0, 0, [], len(inbox.aside(workspace.inbox)), unread=len(inbox.unread(workspace.inbox)))
    if told := tombstones.unfinished_purge(workspace.here):
        workspace.warn(told)
    if deep:
        result.problems += files_of(workspace)
    with workspace.reading() as journal:
        result.problems += [Problem("database", text) for text in journal.view.problems()]
        if deep:
            result.problems += rows_of(journal)
        checked = check_runs(journal, lambda done, total: workspace.progress("verifying runs", done, total))
        result.runs, result.events = checked.runs, checked.events
        result.problems += checked.problems
        _check_checkpoints(workspace, journal, deep, result)
    for layout in layouts():
        result.faces += [Problem(found.path, f"{found.why}; {found.remedy}") for found in layout.damages(workspace)]
    return result


def _check_checkpoints(workspace: Workspace, journal: Journal, deep: bool, result: Verified) -> None:
    try:
        found = list(journal.list_checkpoints())
    except Damaged as error:
        result.problems.append(Problem("checkpoints", error.message))
        return
    proof = prove(workspace, found, deep)
    result.checkpoints, result.objects, result.promised = len(found), proof.objects, proof.promised
    result.problems += proof.problems


class Repaired(FilesRepaired):
    store: Mended | None = None  # null: there is no store


@verb(group=Group.CARE, about="repair the store, and damaged files of a run", syncs=False, options=(YES,))
def repair(
    workspace: Workspace,
    run: Annotated[str | None, argument(kind=Kind.RUN)] = None,
    *,
    keep: Annotated[bool, option(help="Accept the file as it is, even though it was reverted.")] = False,
) -> Repaired:
    """Repair the store from its remains and from backups, then a run's damaged files of another system.

    Files of a FABER run come from their best copy, those of the Go Team and the orchestrator from the journal.
    Damaged originals are quarantined, and losses are listed.
    """
    with files.os_errors():
        store = repair_store(workspace) if workspace.exists else None
    try:
        result = Repaired(**structs.asdict(_repair_files(workspace, run, keep=keep)))
    except HoldfastError as error:
        if run is not None or store is None or not isinstance(error, NotFound | Ambiguous):
            error.facts += _facts(store)
            raise
        result = Repaired(None, None, changed=False)  # no run was named
    result.store = store
    return result


def _facts(store: Mended | None) -> Iterator[tuple[str, str]]:
    """Return the outcome for the store, for an error about the run's files."""
    if store is not None:
        yield from (("mended", what) for what in store.mended)
        yield from (("lost", what) for what in store.lost)
        yield from [("the damaged database", store.aside)] if store.aside else []


@synced
def _repair_files(workspace: Workspace, run: str | None, *, keep: bool) -> FilesRepaired:
    """Let the run's layout repair its damaged files, or `keep` them as they are."""
    layout, known = _find(workspace, run)
    return layout.repair(workspace, run, known, keep=keep)


def _find(workspace: Workspace, run: str | None) -> tuple[Layout, Run | None]:
    """Return the layout that has files of the run, and the run if the journal knows it."""
    for layout in layouts():
        if (name := run or layout.find_active(workspace)) and (id := layout.journal_id(name)):
            if not workspace.exists:
                return layout, None
            with workspace.reading() as journal:
                if run is not None and (found := journal.find_run(id)):
                    return find_layout(found.layout), found
    with workspace.reading() as journal:
        try:
            found = select.get_run(workspace, journal, run)
        except NotFound:
            having = [layout for layout in layouts() if run is not None and layout.has_state(workspace, run)]
            if not having:
                raise
            return having[0], None
    return find_layout(found.layout), found


@verb(group=Group.CARE, example="holdfast tidy --dry-run", about="prune old data, and free its space")
def tidy(
    workspace: Workspace,
    *,
    days: Annotated[
        int | None, option(least=0, most=36_500, metavar="N", help="Prune checkpoints older than N days.")
    ] = None,
    most: Annotated[int | None, option(least=1, most=10**9, metavar="N", help="Keep at most N a worktree.")] = None,
    megabytes: Annotated[
        int | None, option("--bytes", least=0, most=10**8, metavar="MB", help="Keep at most MB megabytes.")
    ] = None,
    dry_run: DryRun = False,
) -> Tidied:
    """Prune old checkpoints and tool output, and free their space. Open, named and pinned ones stay."""
    rules = checkpoint_rules(workspace)
    if days is not None:
        rules.oldest = timedelta(days=days)
    rules.most = rules.most if most is None else most
    rules.bytes = None if megabytes is None else megabytes * MEGABYTE
    return tidy_up(workspace, rules, dry_run=dry_run)


class Swept(Struct):
    taken_in: int
    set_aside: int
    interrupted: list[str]
    troubles: list[str]


@verb(group=Group.CARE, about="ingest waiting hook calls, mark dead sessions", syncs=False)
def sweep(workspace: Workspace) -> Swept:
    """Ingest the hook calls that wait in the inbox, and mark the sessions of dead processes as interrupted."""
    found = catch_up.catch_up(workspace)
    troubles = inbox.troubles(workspace.here)
    if troubles:
        workspace.reset_troubles()
    return Swept(found.taken_in, found.set_aside, found.interrupted, troubles)


class BackedUp(Struct):
    path: str
    size: int  # bytes of the file
    runs: int
    events: int
    checkpoints: int
    format: int  # of the store in it
    unread: list[str]  # calls that cannot be read at present: they stay in the inbox, outside the backup


class PutStoreBack(Struct):
    path: str  # of the backup
    runs: int
    events: int
    checkpoints: int
    before: str | None  # a backup of the replaced store; null: that was too damaged or too new, or the backup is gone
    aside: str | None  # the old database, if that backup does not hold all of it


def _ask_to_replace(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    path = given["path"]
    if given.get("replace") or not os.path.isfile(path):
        return None
    hint = f"`holdfast backup {shlex.quote(path)} --yes`"
    return Choose(parameter="replace", prompt=f"Replace {one_line(path, 200)}?", hints=(hint,))


@verb(
    group=Group.CARE,
    example="holdfast backup ~/holdfast.tar.gz",
    about="back the whole store up into one file",
    asks=_ask_to_replace,
    options=(flag("--yes", help="Do not ask.", gives={"replace": True}),),
)
def backup(
    workspace: Workspace, path: Annotated[str, argument(metavar="FILE", kind=Kind.FILE)], *, replace: bool = False
) -> BackedUp:
    """Write the whole store into one file, without stopping others: journal, checkpoints, file copies, waiting calls.

    It is compressed, read back before it gets its name, and readable by you alone. After a kill, the same command
    continues where it was.
    """
    workspace.check_exists()
    target = Path(os.path.abspath(path))
    facts = [("path", path_text(target))]
    if workspace.place in target.parents:
        raise Refused("A backup inside the store would be lost with it", facts, ["give a path outside"])
    if target.is_dir() or (os.path.lexists(target) and not replace):
        hints = ["give another name", "`--yes` replaces a file"]
        raise Refused("There is something with this name already", facts, hints)
    if not target.parent.is_dir():
        place = path_text(target.parent)
        raise NotFound("There is no such directory", [("path", place)], [f"`mkdir -p {shlex.quote(place)}`"])
    with files.os_errors(target):
        kept = write_backup(workspace, target)
    return BackedUp(path_text(target), kept.size, *_counts(kept.contents), kept.contents.format, kept.unread)


def _ask_to_put_back(workspace: Workspace, given: Arguments) -> Choose | None:
    made, runs = inspect_backup(given["path"])
    held = f"{count(runs, 'run')} and {count(made.rows.get('event', 0), 'event')}"
    prompt = f"Restore {held}, as of {one_line(made.made, 40)}?"
    return confirmation(prompt, f"holdfast restore-backup {shlex.quote(given['path'])}")


@verb(
    "restore-backup",
    group=Group.CARE,
    example="holdfast restore-backup ~/holdfast.tar.gz --yes",
    confirms=_ask_to_put_back,
    syncs=False,
)
def restore_backup(
    workspace: Workspace, path: Annotated[str, argument(metavar="FILE", kind=Kind.FILE)]
) -> PutStoreBack:
    """Restore the store from a backup. The present store is backed up first, so this can be undone."""
    source = Path(os.path.abspath(path))
    if workspace.exists:
        workspace.check_ours()
    with files.os_errors(source):
        if not workspace.exists:
            backup_file.read_archive(source, lambda _: None)
            workspace.create()
        found = replace_store(workspace, source)
    before = path_text(found.before) if found.before else None
    return PutStoreBack(path_text(source), *_counts(found.contents), before, found.aside)


def inspect_backup(path: str) -> tuple[backup_file.Contents, int]:
    """Read a whole backup; return its table of contents and the number of its runs."""
    with files.os_errors(path):
        found = backup_file.read_archive(Path(os.path.abspath(path)), lambda _: None)
    return found, _counts(found)[0]


def _counts(contents: backup_file.Contents) -> tuple[int, int, int]:
    rows = contents.rows
    return rows.get("run", 0) - contents.ledgers, rows.get("event", 0), rows.get("checkpoint", 0)


class Deleted(Struct):
    run: str
    goal: str
    events: int
    purge: Purged | None = None  # with `--purge`: what else was removed


def _ask_to_delete(workspace: Workspace, given: Arguments) -> Choose | None:
    from holdfast.operations.show import show

    run, purge = given["run"], given.get("purge", False)
    if purge and (purging.is_meant(purging.find_pending(workspace.place), run) or purging.find_gone(workspace, run)):
        return None
    found = show(workspace, run).run
    scope = "all its checkpoints and every copy of it" if purge else "all its events"
    prompt = f"Delete {found.id} ({one_line(found.title, 60)}) with {scope}, for good?"
    return confirmation(prompt, f"holdfast delete {found.id}{' --purge' if purge else ''}")


@verb(
    group=Group.CARE,
    example="holdfast delete run-4x9k2m7pq3 --yes",
    about="delete a run for good",
    confirms=_ask_to_delete,
)
def delete(
    workspace: Workspace,
    run: Annotated[str, argument(kind=Kind.RUN)],
    *,
    purge: Annotated[bool, option(help="Its checkpoints too; no byte of it stays in the store.")] = False,
) -> Deleted:
    """Delete a run with all its events, for good."""
    if purge and (begun := _find_interrupted(workspace)):
        done = Deleted(begun.run, "", 0, purging.finish(workspace, begun))
        if purging.is_meant(begun, run):
            return done
    if purge and (gone := purging.find_gone(workspace, run)):
        with workspace.writing(for_session=False) as journal:
            purging.begin_again(workspace, journal, gone)
        return Deleted(gone.run, "", 0, purging.finish(workspace, gone))
    with workspace.writing(for_session=False) as journal:
        found = _find_run(workspace, journal, run, purge)
        _refuse_while_alive(workspace, journal, found)
        result = Deleted(found.id, found.goal, found.seq)
        plan = purging.begin(workspace, journal, found) if purge else _forget(workspace, journal, found)
    if purge:
        result.purge = purging.finish(workspace, plan)
    elif find_rules(found.layout).returns:
        purging.purge_files(workspace, plan)
    return result


def _find_run(workspace: Workspace, journal: Journal, run: str, purge: bool) -> Run:
    try:
        return select.find_by_name(workspace, journal, run)
    except NotFound as error:
        if purge:
            error.hints.append(
                "nothing here was deleted under this name; `holdfast uninit --purge` deletes the whole store"
            )
        raise


def _find_interrupted(workspace: Workspace) -> Purge | None:
    """Return an interrupted purge. While the journal still has the run, nothing was deleted and it need not finish."""
    found = purging.find_pending(workspace.place)
    with workspace.reading() as journal:
        return found if found and journal.find_run(found.run) is None else None


def _forget(workspace: Workspace, journal: Journal, run: Run) -> Purge:
    plan = purging.plan_purge(workspace, journal, run)
    conversations = {session.agent_session for session in journal.list_sessions(run.id) if session.agent_session}
    tombstones.note_deleted(workspace.here, run.id, conversations, msgspec.json.encode(plan))
    journal.delete(run.id)
    return plan


def _refuse_while_alive(workspace: Workspace, journal: Journal, run: Run) -> None:
    for session in live_sessions(journal, run.id):
        assert session.process is not None
        is_ours = is_own(workspace, session)
        which = "This" if is_ours else "Another"
        end = "end this session first, then delete the run from outside" if is_ours else "end that process first"
        raise Busy(
            f"{which} session works on run {run.id}",
            [("session", session.id), ("process", session.process.pid), ("host", session.process.host)],
            [end, f"`holdfast abandon --run {run.id}` gives the run up but keeps it"],
        )
