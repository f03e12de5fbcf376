"""Mend what is damaged: the store, then the run's files of another system, each from the best copies that are left.

A Go Team run's files, and the orchestrator's, are made anew from the journal.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import Ambiguous, HoldfastError, NotFound, Refused
from holdfast.core.fold.external import TOLD
from holdfast.core.formats.timestamps import moment
from holdfast.core.model import Draft, Run
from holdfast.core.text import path_text
from holdfast.layouts import json_file
from holdfast.layouts.faber import NAME as LAYOUT, schema
from holdfast.layouts.faber.find_run import Target, faber_id, is_of, lost_records, shown
from holdfast.layouts.faber.reconcile import body_of, copies, journal_id, keep_copy, remember
from holdfast.layouts.faber.session_records import record_ids
from holdfast.layouts.goteam.files import root_of
from holdfast.layouts.goteam.repair import Remade as Remade, remake
from holdfast.layouts.json_file import Face, Unreadable, read_face
from holdfast.layouts.orchestrator import reconcile
from holdfast.layouts.orchestrator.files import put_aside, read_session
from holdfast.layouts.orchestrator.follow import SESSION
from holdfast.maintenance.repair.repair import Mended as Mended, mend
from holdfast.operations.verb import verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files, shared_files

STORE, JOURNAL = "the store", "the journal"


class Repaired(Struct):
    run: str | None  # whose file was looked at; null: there is none
    path: str | None  # of the file; null: the run has none
    changed: bool
    source: str | None = None  # where the copy came from
    aside: str | None = None  # where what stood there is now
    lost: list[str] = []  # what was known and is not in it
    files: list[Remade] = []  # of a Go Team run, that were made anew
    store: Mended | None = None  # what became of the store; null: there is none


class Copy(Struct):
    face: Face
    source: str

    @property
    def rank(self) -> tuple[int, datetime]:
        """The more session records the better; then the later."""
        written = moment(self.face.value.get("updated_at"))
        return len(record_ids(self.face.value)), written or datetime.min.replace(tzinfo=UTC)


def repair(workspace: Workspace, run: str | None = None, *, keep: bool = False) -> Repaired:
    """Mend the store, then put the best copy of a FABER run's state back, if it is damaged or was turned back; or
    `keep` that as it is. Damaged files of a Go Team run or the orchestrator are made
    anew, and kept aside.

    The store comes first: whatever is put back is written into the journal too.
    """
    with files.os_errors():
        store = mend(workspace) if workspace.exists else None
    try:
        result = _repair_file(workspace, run, keep=keep)
    except HoldfastError as error:
        if run is not None or store is None or not isinstance(error, NotFound | Ambiguous):
            error.facts += _told(store)
            raise
        result = Repaired(None, None, changed=False)  # nobody asked for a file
    result.store = store
    return result


def _told(store: Mended | None) -> Iterator[tuple[str, str]]:
    """What became of the store, for who hears that a file cannot be mended."""
    if store is not None:
        yield from (("mended", what) for what in store.mended)
        yield from (("lost", what) for what in store.lost)
        yield from [("the damaged database", store.aside)] if store.aside else []


@verb
def _repair_file(workspace: Workspace, run: str | None = None, *, keep: bool = False) -> Repaired:
    """Put the best copy of a FABER run's state back, if it is damaged or was turned back; or `keep` it as it is."""
    known = _find(workspace, run)
    if known is not None and known.layout == "go-team":
        return _remake(workspace, known)
    if known is not None and known.layout == "orchestrator":
        return _put_session_back(workspace, known)
    if known is not None and known.layout != LAYOUT:
        return Repaired(known.id, None, changed=False)
    named = run or schema.find_active(workspace.root).run or ""
    name = faber_id(workspace, known) if known is not None else schema.check_run_id(named)
    path = _path(workspace, name, known)
    current, why = _current(path, workspace.root)
    lacking = _lacks(workspace, name, current) if current is not None else []
    if current is not None and (keep or not lacking):
        return _accept(workspace, name, current, changed=bool(lacking))
    if keep:
        raise Refused(
            "A file that cannot be read cannot be kept",
            [("path", path), ("because", why)],
            [f"`holdfast repair {shlex.quote(name)}` puts the best copy back"],
        )
    best = max(_copies(workspace, name, path), key=lambda copy: copy.rank, default=None)
    if best is None:
        raise NotFound(
            "No good copy is left",
            [("path", path_text(path)), ("because", why)],
            ["look for one in git: `git log -- " + shown(workspace, path) + "`"],
        )
    if current is not None and best.rank <= Copy(current, "").rank:
        return _accept(workspace, name, current, changed=True)
    return _put_back(workspace, name, path, best, known)


def _put_session_back(workspace: Workspace, run: Run) -> Repaired:
    """The orchestrator's file shows one run; if it cannot be read, it goes aside, and the journal writes it anew."""
    with workspace.reading() as journal:
        current = reconcile.find_current(journal, workspace.worktree)
    if current is None or current.id != run.id:
        return Repaired(run.id, None, changed=False)
    try:
        read_session(workspace)
        return Repaired(run.id, SESSION, changed=False)
    except Unreadable:
        aside = put_aside(workspace)
    reconcile.project(workspace)
    return Repaired(run.id, SESSION, True, JOURNAL, shown(workspace, aside))


def _remake(workspace: Workspace, run: Run) -> Repaired:
    if run.worktree != workspace.worktree:
        facts = [("run", run.id), ("its worktree", run.directory)]
        hints = [f"`cd {shlex.quote(run.directory)}` and try again"]
        raise Refused("This run belongs to another worktree", facts, hints)
    path = shown(workspace, root_of(workspace) / run.id)
    remade, lost = remake(workspace, run)
    workspace.warnings[:] = [told for told in workspace.warnings if all(made.path not in told for made in remade)]
    return Repaired(run.id, path, bool(remade), JOURNAL if remade else None, None, lost, remade)


def _find(workspace: Workspace, run: str | None) -> Run | None:
    """The run that is meant, where the journal knows it."""
    if not workspace.exists and (run or schema.find_active(workspace.root).run):
        return None
    with workspace.reading() as journal:
        if run is not None and (found := journal.find_run(journal_id(run))):
            return found
        try:
            found = select.get_run(workspace, journal, run)
        except NotFound:
            if run is None or schema.find_state(workspace.root, run) is None:
                raise
            return None
    return found


def _path(workspace: Workspace, name: str, known: Run | None) -> Path:
    if path := schema.find_state(workspace.root, name):
        return path
    candidates = schema.state_candidates(workspace.root, name)
    before = workspace.root / known.owned.path if known is not None and known.owned else candidates[0]
    path = before if before in candidates else candidates[0]
    if not path.parent.is_dir():
        facts = [("directory", path_text(path.parent))]
        touching = shlex.quote(path_text(path.parent.relative_to(workspace.root)))
        hints = [f"`holdfast checkpoints --touching {touching}`"] if workspace.exists else []
        raise NotFound(f"The directory of run {name} is gone", facts, hints)
    return path


def _current(path: Path, root: Path) -> tuple[Face | None, str]:
    try:
        return read_face(path, root=root), ""
    except Unreadable as error:
        if error.is_denied:
            raise Refused(
                "No permission to read the state file",
                [("path", path_text(path)), ("because", error.why)],
                [error.remedy("")],
            ) from error
        return None, error.why


def _lacks(workspace: Workspace, run: str, face: Face) -> list[str]:
    return lost_records(workspace, Target(run, face, schema.tell(face.value, run)))


def _copies(workspace: Workspace, run: str, path: Path) -> list[Copy]:
    """All copies that are left. The store's come first: what was written last is there, and not in a backup."""
    found = []
    for data in copies(workspace).find(path) if workspace.exists else []:
        try:
            face = json_file.parse_face(path, data)
        except Unreadable:
            continue
        if is_of(run, face.value):
            found.append(Copy(face, STORE))
    beside = json_file.best_backup(path, lambda state: is_of(run, state), workspace.root)
    return found + [Copy(face, shown(workspace, face.path)) for face in beside]


def _accept(workspace: Workspace, run: str, face: Face, *, changed: bool) -> Repaired:
    """Take a state as it is: what it lacks is not missed any more."""
    if changed:
        backup = face.path.with_name(face.path.name + ".backup")
        if backup.exists():
            files.write(backup, face.data, root=workspace.root)
        _note(workspace, run, face)
    return Repaired(run, shown(workspace, face.path), changed)


def _put_back(workspace: Workspace, run: str, path: Path, best: Copy, known: Run | None) -> Repaired:
    before = files.read(path, root=workspace.root)
    aside = None
    if before is not None:
        aside = path.with_name(f"{path.name}.damaged-{workspace.clock.now():%Y%m%d-%H%M%S}")
        files.write(aside, before, root=workspace.root)
    if shared_files.replace_shared(path, before, best.face.data, root=workspace.root) is not None:
        raise Refused("Somebody else changed the file at the same moment", [("path", path)], ["run the command again"])
    face = read_face(path, root=workspace.root)
    shown_now = schema.tell(workspace.hide(schema.telling(face.value)), run)
    lost = [f"session record {id}" for id in _lacks(workspace, run, face)] + _missed(known, shown_now)
    _note(workspace, run, face)
    return Repaired(run, shown(workspace, path), True, best.source, shown(workspace, aside) if aside else None, lost)


def _missed(known: Run | None, told: schema.Told) -> list[str]:
    """What the journal knew of the run that the copy does not hold."""
    owned = known.owned if known else None
    if owned is None or known is None:
        return []
    lost = []
    for noun, then, now in (
        ("status", owned.word, told.word),
        ("phase", owned.phase, told.phase),
        ("step", owned.step, told.step),
    ):
        if then and then != now:
            lost.append(f"{noun} {then}: it says {now or 'none'}")
    return lost


def _note(workspace: Workspace, run: str, face: Face) -> None:
    """Let the journal take the file as it is now."""
    if not workspace.exists:
        return
    with workspace.writing() as journal:
        if known := journal.find_run(journal_id(run)):
            body = {**body_of(workspace, run, face), "accepted": True}
            journal.append(known.id, Draft(TOLD, msgspec.to_builtins(body)))
    keep_copy(workspace, face)
    remember(workspace, face.path)
