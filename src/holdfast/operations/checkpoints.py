"""Checkpoints: list, compare, delete, validate and export them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.event_text import headline
from holdfast.core.fold.run import needs
from holdfast.core.model import Checkpoint, Draft, Kept, Reason, Restore, Run
from holdfast.core.question import Choose, Instead, confirmation
from holdfast.core.text import count, one_line, path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.registry import find_layout
from holdfast.layouts.results import Examined as Examined, Exported as Exported
from holdfast.maintenance.verify import prove
from holdfast.operations.checkpoint import ACTS
from holdfast.operations.parameters import Kind, Parameter, RunName, argument, flag, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints import describe
from holdfast.project.checkpoints.conflicts import refuse_unknown
from holdfast.project.checkpoints.create import MEGABYTE, PATIENCE, beside_of, find_unfinished, look, shadow_of
from holdfast.project.checkpoints.describe import ListedCheckpoint
from holdfast.project.checkpoints.line_counts import add_lines
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.clock import ago
from holdfast.system.git.repository import DIRECTORY, Entry, write_pack
from holdfast.worktree.capture import Shadow
from holdfast.worktree.restore.plan import State, holds, left_alone
from holdfast.worktree.scan_directories import literal

SHOWN_AS = ("stat", "name_only", "state")  # options of `diff` for its renderer


class CheckpointsListed(Struct):
    checkpoints: list[ListedCheckpoint]
    unfinished: Restore | None = None
    more: bool = False  # the list was cut
    runs: dict[str, str] = {}  # the runs that the checkpoints belong to, with the goal or name of each


class FileChanged(Struct):
    path: str
    added: int | None  # lines; null for a binary file
    removed: int | None
    before: str | None = None  # its path before it was renamed


class Diffed(Struct):
    a: str
    b: str | None  # None: the worktree
    code: str
    state: list[str]
    left: dict[str, str] = {}  # nested repositories and left-out files that differ, with the difference
    files: list[FileChanged] = []


class CheckpointDeleted(Struct):
    checkpoint: Checkpoint
    lost_ways: int = 0  # restores that `undo` and `redo` can no longer reach


class Validated(Struct):
    run: str | None
    checkpoints: list[Examined]
    whole: bool


def _find_act(workspace: Workspace, given: Arguments, can_ask: bool) -> Instead | None:
    """Translate the first word of `holdfast checkpoints` into its verb."""
    act, names = given.get("act", "list"), given.get("names", ())
    more = {name: value for name, value in given.items() if name in ("run", "force", "yes")}
    if act == "delete":
        if len(names) != 1:
            raise WrongUsage("Name one checkpoint to delete", [], ["`holdfast checkpoints` lists them"])
        return Instead("delete_checkpoint", {**more, "checkpoint": names[0]})
    if act in ("validate", "export"):
        return Instead(f"{act}_checkpoints", more)
    if given.get("force") or given.get("yes"):
        raise WrongUsage("`--force` and `--yes` go with `checkpoints delete ID`", [], ["`holdfast checkpoints --help`"])
    if act == "list":
        return None
    if not names:
        raise WrongUsage("Name a checkpoint", [], ["`holdfast checkpoints` lists them"])
    if (run := given.get("run")) is not None:  # a number would mean a step of the wrong run
        hints = [f"`holdfast checkpoints --run {run}` lists its ids", f"`holdfast {act} cp-…`"]
        raise WrongUsage(f"`checkpoints {act}` works on the current run only", [("run", run)], hints)
    return Instead("command", {"text": f"*cp-{act}:{':'.join(names)}"})


def _find_other(workspace: Workspace, given: Arguments, can_ask: bool) -> Instead | None:
    """Split the words of `holdfast diff` into checkpoints and paths; paths alone mean since the last checkpoint."""
    rest = given.get("rest")
    more = {name: given[name] for name in SHOWN_AS if name in given}
    if "a" in given and _is_path_alone(workspace, given["a"]):
        paths = [*map(os.path.abspath, (given["a"], *(rest or ()))), *given.get("paths", ())]
        return Instead("diff", {**more, "paths": tuple(paths)})
    if rest is None:
        return None
    b = rest[0] if select.names_checkpoint(workspace, rest[0], is_path=os.path.lexists(rest[0])) else None
    paths = [*map(os.path.abspath, rest[1:] if b else rest), *given.get("paths", ())]
    return Instead("diff", {**more, "a": given["a"], "b": b, "paths": tuple(paths)})


def _is_path_alone(workspace: Workspace, word: str) -> bool:
    """True for the name of a file that is not the name of a checkpoint too."""
    if not os.path.lexists(word):
        return False
    with workspace.reading() as journal:
        try:
            return select.find_checkpoint(workspace, journal, word) is None
        except NotFound:
            return True


@verb(
    group=Group.BACK,
    example="holdfast checkpoints --touching src/client.py",
    about="checkpoints, newest first",
    common=True,
    options=(Parameter(choices=ACTS, target="act"), Parameter(metavar="[CHECKPOINT…]", many=True, target="names")),
    previews=True,
    asks=_find_act,
)
def checkpoints(
    workspace: Workspace,
    *,
    touching: Annotated[
        str | None, option(metavar="PATH", kind=Kind.PATH, help="Only checkpoints that changed this file or directory.")
    ] = None,
    run: Annotated[
        str | None,
        option(
            metavar="RUN",
            kind=Kind.RUN,
            help="Only of this run; else of this worktree. `validate` and `export`: the run; else the current one.",
        ),
    ] = None,
    since: Annotated[
        datetime | None, option(metavar="WHEN", help="Only those made since: 2026-11-01, or 3d, 12h, 30m ago.")
    ] = None,
    until: Annotated[datetime | None, option(metavar="WHEN", help="Only those made before.")] = None,
    search: Annotated[
        str | None, option(metavar="TEXT", help="Only those with these words: prompt, answer, name, changed files.")
    ] = None,
    every: Annotated[
        bool, option("--all", help="Of all worktrees of the repository, removed ones too; with safety checkpoints.")
    ] = False,
    asked: Annotated[bool, option(help="Only checkpoints made on request.")] = False,
    safety: Annotated[bool, option(help="Safety checkpoints too, which every restore makes first.")] = False,
    limit: Annotated[int | None, option(least=1, most=100_000, metavar="N", help="At most N rows.")] = None,
) -> CheckpointsListed:
    """List the checkpoints of this worktree, newest first; or show, compare, delete, validate or export them."""
    _refuse_without_store(workspace)
    most = limit or workspace.settings.whole("list.limit")
    with workspace.reading() as journal:
        id = select.find_by_name(workspace, journal, run).id if run else None
        found = list(journal.list_checkpoints(None if id or every else workspace.worktree, run=id))
        before = _predecessors(journal.list_checkpoints(None) if id else found)
        unfinished = find_unfinished(journal, workspace)
        fitting: Iterable[Checkpoint] = [
            made
            for made in found
            if (made.reason is Reason.ASKED or not asked)
            and (safety or every or not made.reason.is_way_back)
            and (since is None or made.time >= since.astimezone())
            and (until is None or made.time < until.astimezone())
        ]
        if search:
            fitting = describe.fitting(journal, list(fitting), search)
        if touching:
            fitting = _touching(workspace, fitting, before, select.inside(workspace, touching))
        listed = list(islice(fitting, most + 1))
        shown = describe.describe(workspace, journal, listed[:most])
        runs = {made.run: journal.find_run(made.run) for made in shown if made.run}
    add_lines(workspace, shown, before)
    select.remember(workspace, "checkpoint", [checkpoint.id for checkpoint in shown])
    titles = {name: workspace.hide(run.title) for name, run in runs.items() if run}
    return CheckpointsListed(shown, unfinished, len(listed) > most, titles)


@verb(
    group=Group.BACK,
    example="holdfast diff 10m src/client.py",
    about="what changed since the last checkpoint, or between two",
    common=True,
    changes=False,
    options=(
        Parameter(metavar="[OTHER] [PATH…]", many=True, target="rest"),
        flag("--stat", help="Only how many lines changed in each file."),
        flag("--name-only", help="Only the names of the changed files."),
        flag("--state", help="Also what changed in the run's state: its events in between."),
    ),
    asks=_find_other,
)
def diff(
    workspace: Workspace,
    a: Annotated[str | None, argument(metavar="CHECKPOINT", kind=Kind.CHECKPOINT)] = None,
    b: str | None = None,
    paths: Annotated[tuple[str, ...], argument(kind=Kind.PATHS)] = (),
) -> Diffed:
    """Compare the worktree with a checkpoint, or two checkpoints; without one, with the last checkpoint.

    Words after `--` are paths. On a terminal it is shown in git's pager.
    """
    inside = [select.inside(workspace, path) for path in paths]
    with workspace.reading() as journal:
        first = select.get_checkpoint(workspace, journal, a) if a else _last(workspace, journal)
        second = select.get_checkpoint(workspace, journal, b) if b else None
        state = _headlines(journal, first, second)
    within = inside if b"" not in inside else []
    limit = workspace.settings.whole("checkpoint.file_limit") * MEGABYTE
    with shadow_of(workspace) as shadow:
        then, now = _state_of(shadow, first), _state_of(shadow, second) if second else _worktree(workspace, shadow)
        _refuse_unknown(shadow, first, (then, now), within)
        stands = partial(holds, shadow.reader, now) if second else shadow.stands
        left = left_alone(now[1], then[1], stands, within, limit)
        code = _compare(shadow, then[0], now[0], within, "-p").decode("utf-8", "replace")
        files_changed = _files(_compare(shadow, then[0], now[0], within, "-r", "-z", "--numstat")) if code else []
    differ_too = {path_text(os.fsdecode(path)): how for path, how in left.items()}
    return Diffed(first.id, second.id if second else None, code, state, differ_too, files_changed)


def _last(workspace: Workspace, journal: Journal) -> Checkpoint:
    """Return the last checkpoint of this worktree; one that a restore made only if there is no other."""
    last: Checkpoint | None = None
    for made in journal.list_checkpoints(workspace.worktree):
        if not made.reason.is_way_back:
            return made
        last = last or made
    if last is None:
        raise NotFound("There is no checkpoint here yet", [], ["`holdfast checkpoint` makes one"])
    return last


def _ask_to_delete(workspace: Workspace, given: Arguments) -> Choose | None:
    with workspace.reading() as journal:
        made = select.get_checkpoint(workspace, journal, given["checkpoint"])
    about = one_line(made.name or made.message or made.kind, 60)
    command = f"holdfast checkpoints delete {made.id}{' --force' if given.get('force') else ''}"
    prompt = f"Delete checkpoint {made.id} ({about}, {ago(made.time)}), for good?"
    return confirmation(prompt, command, arguments={"checkpoint": made.id})


@verb("checkpoints delete", confirms=_ask_to_delete)
def delete_checkpoint(
    workspace: Workspace,
    checkpoint: Annotated[str, argument(kind=Kind.CHECKPOINT)],
    *,
    force: Annotated[bool, option(help="Even if it is pinned, or `undo`, `redo` or a step needs it.")] = False,
) -> CheckpointDeleted:
    """Delete a checkpoint. One that is pinned, or that an undo, a redo or a step of a team needs, only by force.

    The next `tidy` frees its space.
    """
    with workspace.reading() as journal:  # a mistyped name must not delete what a search finds for it
        found = select.get_checkpoint(workspace, journal, checkpoint, searches=False)
    with _locked(workspace, found.worktree) as shadow, workspace.writing() as journal:
        made = select.get_checkpoint(workspace, journal, found.id)
        ledger = journal.ledger(made.worktree)
        _refuse_unfinished(ledger, made)
        step = _step_of(journal, made)
        ways = len(ledger.undoable) + len(ledger.redoable)
        if not force:
            _refuse_needed(ledger, made, step)
        shadow.forget()  # else the next checkpoint could build on objects that are pruned
        journal.append(ledger.id, Draft("checkpoint.dropped", {"id": made.id}))
        if step and made.run:
            body = {"id": step.id, "valid": False, "by": "its checkpoint was deleted"}
            journal.append(made.run, Draft("step.judged", body))
        after = journal.ledger(made.worktree)
        lost = ways - len(after.undoable) - len(after.redoable)
    select.forget_listed(workspace, {made.id})
    if lost:
        workspace.warn(f"{count(lost, 'restore')} can no longer be undone or redone")
    return CheckpointDeleted(made, lost)


@verb("checkpoints validate", changes=False)
def validate_checkpoints(workspace: Workspace, *, run: RunName = None) -> Validated:
    """Check that checkpoints are whole: the code of this worktree's; for a Go Team run its files too."""
    with select.reading(workspace, run, ended_too=True) as (journal, found):
        of_run = found.id if journal.rules_of(found).has_numbered_steps else None
        listed = list(journal.list_checkpoints(workspace.worktree, run=of_run))
    problems = prove(workspace, listed, deep=False).problems
    broken = {made.id: [problem.what for problem in problems if made.id in problem.where] for made in listed}
    examined = find_layout(found.layout).examine_checkpoints(workspace, found, broken)
    if examined is None:
        examined = [Examined(made.id, broken[made.id]) for made in listed]
    return Validated(found.id, examined, not problems and not any(one.problems for one in examined))


@verb("checkpoints export")
def export_checkpoints(workspace: Workspace, *, run: RunName = None) -> Exported:
    """Write the files of a Go Team run and the code of its checkpoints into an archive, and its digest beside it."""
    found = select.read_run(workspace, run, ended_too=True)
    return find_layout(found.layout).export_checkpoints(workspace, found)


def _refuse_without_store(workspace: Workspace) -> None:
    if not workspace.exists:
        raise NotFound(
            "There is no Holdfast store here, so there are no checkpoints",
            [("looked at", workspace.place)],
            ["`holdfast checkpoint` makes the first one"],
        )


def _state_of(shadow: Shadow, checkpoint: Checkpoint) -> State:
    return checkpoint.tree, beside_of(shadow, checkpoint)


def _worktree(workspace: Workspace, shadow: Shadow) -> State:
    scan = look(workspace, shadow)
    return scan.tree, scan.beside


def _refuse_unknown(shadow: Shadow, first: Checkpoint, states: tuple[State, State], paths: list[bytes]) -> None:
    known = [path for path in paths if any(holds(shadow.reader, state, path) for state in states)]
    refuse_unknown(first.id, [path for path in paths if path not in known])


def _compare(shadow: Shadow, first: str, second: str, paths: list[bytes], *how: str) -> bytes:
    arguments = ("diff-tree", *how, "--no-ext-diff", "--no-textconv", "--no-color", "-M")
    with shadow.scratch() as scratch:  # the tree of the worktree is not on disk
        write_pack(scratch, shadow.reader.pending, shadow.git.form)
        limited = (literal(path) for path in paths)
        return shadow.git.run(*arguments, first, second, "--", *limited, scratch=scratch)


def _files(numstat: bytes) -> list[FileChanged]:
    """Parse `git diff --numstat -z`."""
    found = []
    words = iter(numstat.split(b"\0"))
    for word in filter(None, words):
        added, removed, path = word.split(b"\t", 2)
        before = None if path else path_text(os.fsdecode(next(words)))  # renamed: both paths follow
        name = path_text(os.fsdecode(path or next(words)))
        found.append(FileChanged(name, _number(added), _number(removed), before))
    return found


def _number(text: bytes) -> int | None:
    return int(text) if text.isdigit() else None


def _headlines(journal: Journal, first: Checkpoint, second: Checkpoint | None) -> list[str]:
    """Return a line for each event of the run between two checkpoints, or since one."""
    if first.run is None or first.seq is None or journal.find_run(first.run) is None:
        return []
    until = second.seq if second and second.run == first.run else None
    low, high = sorted((first.seq, until)) if until is not None else (first.seq, None)
    return [headline(event) for event in journal.events(first.run, after=low, until=high)]


def _predecessors(newest_first: Iterable[Checkpoint]) -> dict[str, Checkpoint]:
    """Map each checkpoint to the one before it in the same worktree."""
    found: dict[str, Checkpoint] = {}
    later: dict[str, Checkpoint] = {}
    for made in newest_first:
        if made.worktree in later:
            found[later[made.worktree].id] = made
        later[made.worktree] = made
    return found


def _touching(
    workspace: Workspace, found: Iterable[Checkpoint], before: dict[str, Checkpoint], path: bytes
) -> Iterator[Checkpoint]:
    """Filter for checkpoints whose entry at a path differs from that of the checkpoint before."""
    with shadow_of(workspace) as shadow:
        for made in found:
            now, earlier = _entry(shadow, made.tree, path), before.get(made.id)
            if now != _entry(shadow, earlier.tree, path) if earlier else _may_name(made, path, now is not None):
                yield made


def _may_name(made: Checkpoint, path: bytes, exists: bool) -> bool:
    """Check whether a checkpoint without a predecessor lists a path as changed, or has a list too short to tell."""
    wanted = path_text(os.fsdecode(path))
    named = any(not wanted or found == wanted or found.startswith(wanted + "/") for found in made.changed)
    return named or (exists and made.changes > len(made.changed))


def _entry(shadow: Shadow, tree: str, path: bytes) -> tuple[int, str] | None:
    entry = shadow.reader.find(tree, path) if path else Entry(DIRECTORY, b"", tree)
    return (entry.mode, entry.id) if entry else None


@contextlib.contextmanager
def _locked(workspace: Workspace, worktree: str) -> Iterator[Shadow]:
    """Lock the shadow of a checkpoint's worktree, which may be another than this one."""
    shadow = Shadow(workspace.place, workspace.root, worktree)
    files.make_private_directory(shadow.directory.parent)
    files.make_private_directory(shadow.directory)
    with files.lock(shadow.directory / "lock", PATIENCE):  # safeguard: lock-checkpoint-deleted
        yield shadow


def _refuse_unfinished(ledger: Run, made: Checkpoint) -> None:
    if ledger.unfinished and needs(ledger.unfinished, made.id):
        hints = ["`holdfast restore --continue` finishes it", "`holdfast restore --undo` takes it back"]
        raise Refused("An interrupted restore needs this checkpoint", [("checkpoint", made.id)], hints)


def _refuse_needed(ledger: Run, made: Checkpoint, step: Kept | None) -> None:
    facts = [("checkpoint", made.id)]
    anyway = f"`holdfast checkpoints delete {made.id} --force`"
    if made.pinned:
        raise Refused("This checkpoint is pinned", facts, [f"`holdfast pin {made.id} --off` unpins it", anyway])
    if any(needs(way, made.id) for way in (*ledger.undoable, *ledger.redoable)):
        hint = f"{anyway} makes that impossible"
        raise Refused("`holdfast undo` or `holdfast redo` needs this checkpoint", facts, [hint])
    if step:
        facts.append(("step", step.id))
        hint = f"{anyway} marks the step's checkpoint as not valid"
        raise Refused("This checkpoint holds the code of a step", facts, [hint])


def _step_of(journal: Journal, made: Checkpoint) -> Kept | None:
    """Return the step of a Go Team run whose code the checkpoint holds."""
    run = journal.find_run(made.run or "")
    if run is None:
        return None
    return next((kept for kept in run.standing.kept if kept.checkpoint == made.id and kept.is_valid), None)
