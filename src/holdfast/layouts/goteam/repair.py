"""Rebuild damaged files of a Go Team run from the journal. The damaged files are renamed, and their readable members
ingested.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.formats.json_salvage import salvage
from holdfast.core.model import WARNING, Body, Check, Run
from holdfast.layouts.goteam import files as own, merge
from holdfast.layouts.goteam.reconcile import append, follow_file, open_files, put_point, show
from holdfast.layouts.goteam.schema import REGISTRY
from holdfast.layouts.json_file import LIMIT
from holdfast.layouts.memory import relative
from holdfast.layouts.results import JOURNAL, Damage, FilesRepaired, Rebuilt
from holdfast.project.workspace import Workspace
from holdfast.system import files


def repair(workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
    if known is None or known.worktree != workspace.worktree:
        facts = [("run", known.id if known else name), ("its worktree", known.directory if known else "unknown")]
        hints = [f"`cd {shlex.quote(known.directory)}` and try again"] if known else []
        raise Refused("This run belongs to another worktree", facts, hints)
    path = relative(workspace, own.root_of(workspace) / known.id)
    remade, lost = remake(workspace, known)
    workspace.warnings[:] = [told for told in workspace.warnings if all(made.path not in told for made in remade)]
    return FilesRepaired(known.id, path, bool(remade), JOURNAL if remade else None, None, lost, remade)


def remake(workspace: Workspace, run: Run) -> tuple[list[Rebuilt], list[str]]:
    """Rename damaged files and write new ones. Return these, and the lost facts."""
    made: list[Rebuilt] = []
    lost: list[str] = []
    with open_files(workspace) as shelf:
        for damage in list(own.find_damages(workspace, run.id)):
            said = _salvaged(damage, workspace.root)
            mark = f"damaged-{workspace.clock.now():%Y%m%d-%H%M%S}"
            aside = files.move_aside(damage.path, mark, workspace.root)
            shelf.written.looks.pop(shelf.key(damage.path), None)
            made.append(Rebuilt(shelf.name(damage.path), shelf.name(aside), damage.why))
            lost += _hear(shelf, run, damage, said)
        if made:
            shelf.written.runs.setdefault(run.id, run.seq)
            shelf.read_anew.add(run.id)
            show(shelf)
    return made, lost


def _salvaged(damage: own.DamagedFile, root: Path) -> Body:
    name = damage.path.name
    if name not in own.SHAPES:
        return {}
    try:
        text = (files.read(damage.path, LIMIT, root) or b"").decode("utf-8", "replace")
    except HoldfastError:  # a link, a pipe, a directory, too large
        return {}
    shape = {**own.SHAPES[name], "topic": str}
    found = salvage(text, tuple(shape), frozenset({"state", "topic"}))
    return {key: value for key, value in found.items() if isinstance(value, shape[key])}


def _hear(shelf: own.SessionFiles, run: Run, damage: own.DamagedFile, said: Body) -> list[str]:
    """Ingest the readable members. Return the lost ones."""
    name = damage.path.name
    if damage.run is None:
        return _registry(shelf, said)
    if name.startswith(own.POINT):
        return _point(shelf, run, damage.path)
    if name in own.FACES and said:
        append(shelf, run, follow_file(shelf, run, name, said))
    missing = ", ".join(key for key in own.SHAPES.get(name, {}) if key not in said)
    return [f"what somebody else may have changed in {name}, at {missing}"] if missing else []


def _registry(shelf: own.SessionFiles, said: Body) -> list[str]:
    """Write the readable sessions of other programs into a new registry."""
    entries = [item for item in merge.sessions(said) if isinstance(item, dict)]
    if not entries:
        return ["what the registry said of sessions that have no directory"]
    known = [item.get("id") for item in entries]
    before = shelf.written.beside.get(REGISTRY, {})
    entries += [item for item in merge.sessions(before) if isinstance(item, dict) and item.get("id") not in known]
    shelf.put_bytes(shelf.root / REGISTRY, None, own.as_bytes({**before, "sessions": entries}))
    shelf.written.looks.pop(REGISTRY)  # so that it is ingested as another program's
    return []


def _point(shelf: own.SessionFiles, run: Run, path: Path) -> list[str]:
    """Rebuild a checkpoint's file from the run at that event; only one of our own is the same as before."""
    kept = next((found for found in run.standing.kept if found.id == path.stem), None)
    if kept is None or not ids.is_safe(kept.id):
        return [f"what {path.name} said"]
    put_point(shelf, run, kept, path)
    return [] if kept.checkpoint else [f"what {path.name} held beside what the journal knows of it"]


def damages(workspace: Workspace) -> Iterator[Damage]:
    for found in own.find_damages(workspace):
        way = f"holdfast repair {found.run}" if found.run else "holdfast repair"
        yield Damage(relative(workspace, found.path), found.why, f"`{way}` makes it anew")


def health(workspace: Workspace) -> Iterator[Check]:
    try:
        found = list(own.find_damages(workspace)) if workspace.exists else []
    except HoldfastError:  # the check of the store says why
        return
    for damage in found:
        remedy = f"`holdfast repair {shlex.quote(damage.run)}`" if damage.run else "`holdfast repair`"
        why = f"{relative(workspace, damage.path)} cannot be read: {damage.why}"
        yield Check("go-team files", WARNING, why, [remedy])
