"""Look at checkpoints: list them, and see what is different between two of them or since one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.event_text import headline
from holdfast.core.model import Checkpoint, Reason, Restore
from holdfast.core.question import Instead
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.operations.checkpoint import ACTS
from holdfast.operations.parameters import Kind, Parameter, argument, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.conflicts import refuse_unknown
from holdfast.project.checkpoints.create import MEGABYTE, beside_of, find_unfinished, look, shadow_of
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system.git.repository import DIRECTORY, Entry, write_pack
from holdfast.worktree.capture import Shadow
from holdfast.worktree.restore.plan import State, holds, left_alone
from holdfast.worktree.scan_directories import literal


class CheckpointsListed(Struct):
    checkpoints: list[Checkpoint]
    unfinished: Restore | None = None
    more: bool = False  # whether there are more than these


class Diffed(Struct):
    a: str
    b: str | None  # None: the worktree
    code: str
    state: list[str]
    left: dict[str, str] = {}  # repositories, and files that were left out, which differ too, and how


def _find_act(workspace: Workspace, given: Arguments, can_ask: bool) -> Instead | None:
    """The verb behind the first word of `holdfast checkpoints`."""
    act, names = given.get("act", "list"), given.get("names", ())
    more = {name: value for name, value in given.items() if name in ("run", "force", "yes")}
    if act == "delete":
        if len(names) != 1:
            raise WrongUsage("Which checkpoint? One at a time is deleted", [], ["`holdfast checkpoints` lists them"])
        return Instead("delete_checkpoint", {**more, "checkpoint": names[0]})
    if act in ("validate", "export"):
        return Instead(f"{act}_checkpoints", more)
    if given.get("force") or given.get("yes"):
        raise WrongUsage("`--force` and `--yes` go with `checkpoints delete ID`", [], ["`holdfast checkpoints --help`"])
    if act == "list":
        return None
    if not names:
        raise WrongUsage("Which checkpoint?", [], ["`holdfast checkpoints` lists them"])
    if (run := given.get("run")) is not None:  # a number would be a step of another run than this one
        hints = [f"`holdfast checkpoints --run {run}` lists its ids", f"`holdfast {act} cp-…`"]
        raise WrongUsage(f"`checkpoints {act}` works on the current run only", [("run", run)], hints)
    return Instead("command", {"text": f"*cp-{act}:{':'.join(names)}"})


def _find_other(workspace: Workspace, given: Arguments, can_ask: bool) -> Instead | None:
    """Tell the other checkpoint of `holdfast diff` from paths."""
    if (rest := given.get("rest")) is None:
        return None
    b = rest[0] if select.names_checkpoint(workspace, rest[0], is_path=os.path.lexists(rest[0])) else None
    paths = [*map(os.path.abspath, rest[1:] if b else rest), *given.get("paths", ())]
    return Instead("diff", {"a": given["a"], "b": b, "paths": tuple(paths)})


@verb(
    group=Group.BACK,
    example="holdfast checkpoints --touching src/client.py",
    about="checkpoints, newest first",
    common=True,
    changes=False,
    options=(Parameter(choices=ACTS, target="act"), Parameter(metavar="[CHECKPOINT…]", many=True, target="names")),
    previews=True,
    asks=_find_act,
)
def checkpoints(
    workspace: Workspace,
    *,
    touching: Annotated[
        str | None, option(metavar="PATH", kind=Kind.PATH, help="Only those in which this file or directory changed.")
    ] = None,
    run: Annotated[
        str | None,
        option(
            metavar="RUN",
            kind=Kind.RUN,
            help="Only of this run; else of this worktree. For `validate` and `export`: the run; else the current one.",
        ),
    ] = None,
    every: Annotated[bool, option("--all", help="Of all worktrees of the repository, also of removed ones.")] = False,
    asked: Annotated[bool, option(help="Only those that somebody asked for.")] = False,
    limit: Annotated[int | None, option(least=1, most=100_000, metavar="N", help="At most N rows.")] = None,
) -> CheckpointsListed:
    """Checkpoints of this worktree, newest first; or show one, compare two, delete one, validate or export them."""
    _refuse_without_store(workspace)
    most = limit or workspace.settings.whole("list.limit")
    with workspace.reading() as journal:
        id = select.find_by_name(workspace, journal, run).id if run else None
        found = list(journal.list_checkpoints(None if id or every else workspace.worktree, run=id))
        before = _one_before(journal.list_checkpoints(None)) if touching else {}
        unfinished = find_unfinished(journal, workspace)
    fitting: Iterable[Checkpoint] = (made for made in found if made.reason is Reason.ASKED or not asked)
    if touching:
        fitting = _touching(workspace, fitting, before, select.inside(workspace, touching))
    listed = list(islice(fitting, most + 1))
    shown = listed[:most]
    select.remember(workspace, "checkpoint", [checkpoint.id for checkpoint in shown])
    return CheckpointsListed(shown, unfinished, len(listed) > most)


@verb(
    group=Group.BACK,
    example="holdfast diff cp-4x9k2m7pq3 src/client.py",
    about="what differs between checkpoints, or since one",
    common=True,
    changes=False,
    options=(Parameter(metavar="[OTHER] [PATH…]", many=True, target="rest"),),
    asks=_find_other,
)
def diff(
    workspace: Workspace,
    a: Annotated[str, argument(metavar="CHECKPOINT", kind=Kind.CHECKPOINT)],
    b: str | None = None,
    paths: Annotated[tuple[str, ...], argument(kind=Kind.PATHS)] = (),
) -> Diffed:
    """What differs between two checkpoints, or between one and the worktree: the code, and what the run learned.

    After `--` there are only paths.
    """
    inside = [select.inside(workspace, path) for path in paths]
    with workspace.reading() as journal:
        first = select.get_checkpoint(workspace, journal, a)
        second = select.get_checkpoint(workspace, journal, b) if b else None
        state = _learned(journal, first, second)
    within = inside if b"" not in inside else []
    limit = workspace.settings.whole("checkpoint.file_limit") * MEGABYTE
    with shadow_of(workspace) as shadow:
        then, now = _state(shadow, first), _state(shadow, second) if second else _worktree(workspace, shadow)
        _refuse_unknown(shadow, first, (then, now), within)
        stands = partial(holds, shadow.reader, now) if second else shadow.stands
        left = left_alone(now[1], then[1], stands, within, limit)
        code = _code(shadow, then[0], now[0], within)
    differ_too = {path_text(os.fsdecode(path)): how for path, how in left.items()}
    return Diffed(first.id, second.id if second else None, code, state, differ_too)


def _refuse_without_store(workspace: Workspace) -> None:
    if not workspace.exists:
        raise NotFound(
            "There is no Holdfast store here, so there is no checkpoint yet",
            [("looked at", workspace.place)],
            ["`holdfast checkpoint` makes the first one"],
        )


def _state(shadow: Shadow, checkpoint: Checkpoint) -> State:
    return checkpoint.tree, beside_of(shadow, checkpoint)


def _worktree(workspace: Workspace, shadow: Shadow) -> State:
    scan = look(workspace, shadow)
    return scan.tree, scan.beside


def _refuse_unknown(shadow: Shadow, first: Checkpoint, states: tuple[State, State], paths: list[bytes]) -> None:
    known = [path for path in paths if any(holds(shadow.reader, state, path) for state in states)]
    refuse_unknown(first.id, [path for path in paths if path not in known])


def _code(shadow: Shadow, first: str, second: str, paths: list[bytes]) -> str:
    arguments = ("diff-tree", "-p", "--no-ext-diff", "--no-textconv", "--no-color", "-M")
    with shadow.scratch() as scratch:  # what was only looked at is not on disk
        write_pack(scratch, shadow.reader.pending, shadow.git.form)
        limited = (literal(path) for path in paths)
        return shadow.git.run(*arguments, first, second, "--", *limited, scratch=scratch).decode("utf-8", "replace")


def _learned(journal: Journal, first: Checkpoint, second: Checkpoint | None) -> list[str]:
    """What happened to the run between two points of its journal, in a line each."""
    if first.run is None or first.seq is None or journal.find_run(first.run) is None:
        return []
    until = second.seq if second and second.run == first.run else None
    low, high = sorted((first.seq, until)) if until is not None else (first.seq, None)
    return [headline(event) for event in journal.events(first.run, after=low, until=high)]


def _one_before(newest_first: Iterable[Checkpoint]) -> dict[str, Checkpoint]:
    """For each checkpoint the one that was made before it in the same worktree."""
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
    """Those at which something else stands at a path than in the checkpoint before."""
    with shadow_of(workspace) as shadow:
        for made in found:
            now, earlier = _standing(shadow, made.tree, path), before.get(made.id)
            if now != _standing(shadow, earlier.tree, path) if earlier else _may_name(made, path, now is not None):
                yield made


def _may_name(made: Checkpoint, path: bytes, stands: bool) -> bool:
    """Whether the record of a checkpoint with none before it names a path, or is too short to tell."""
    wanted = path_text(os.fsdecode(path))
    named = any(not wanted or found == wanted or found.startswith(wanted + "/") for found in made.changed)
    return named or (stands and made.changes > len(made.changed))


def _standing(shadow: Shadow, tree: str, path: bytes) -> tuple[int, str] | None:
    entry = shadow.reader.find(tree, path) if path else Entry(DIRECTORY, b"", tree)
    return (entry.mode, entry.id) if entry else None
