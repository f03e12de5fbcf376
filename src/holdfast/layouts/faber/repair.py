"""Repairing FABER's state files: the best copy is put back where one is damaged, or was turned back."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import NotFound, Refused
from holdfast.core.fold.external import TOLD
from holdfast.core.model import Draft, Run
from holdfast.core.text import parse_time, path_text
from holdfast.layouts import json_file
from holdfast.layouts.faber import schema
from holdfast.layouts.faber.find_run import Target, is_of, lost_records, own_id, shown
from holdfast.layouts.faber.reconcile import body_of, copies, journal_id, keep_copy, remember
from holdfast.layouts.faber.session_records import record_ids
from holdfast.layouts.json_file import Face, Unreadable, read_face
from holdfast.layouts.protocol import STORE, FilesRepaired
from holdfast.project.workspace import Workspace
from holdfast.system import files, shared_files


class Copy(Struct):
    face: Face
    source: str

    @property
    def rank(self) -> tuple[int, datetime]:
        """The more session records the better; then the later."""
        written = parse_time(self.face.value.get("updated_at"))
        return len(record_ids(self.face.value)), written or datetime.min.replace(tzinfo=UTC)


def repair(workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
    """Put the best copy of a run's state back, if it is damaged or was turned back; or `keep` it as it is."""
    named = name or schema.find_active(workspace.root).run or ""
    run = own_id(workspace, known) if known is not None else schema.check_run_id(named)
    path = _path(workspace, run, known)
    current, why = _current(path, workspace.root)
    lacking = _lacks(workspace, run, current) if current is not None else []
    if current is not None and (keep or not lacking):
        return _accept(workspace, run, current, changed=bool(lacking))
    if keep:
        raise Refused(
            "A file that cannot be read cannot be kept",
            [("path", path), ("because", why)],
            [f"`holdfast repair {shlex.quote(run)}` puts the best copy back"],
        )
    best = max(_copies(workspace, run, path), key=lambda copy: copy.rank, default=None)
    if best is None:
        raise NotFound(
            "No good copy is left",
            [("path", path_text(path)), ("because", why)],
            ["look for one in git: `git log -- " + shown(workspace, path) + "`"],
        )
    if current is not None and best.rank <= Copy(current, "").rank:
        return _accept(workspace, run, current, changed=True)
    return _put_back(workspace, run, path, best, known)


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


def _accept(workspace: Workspace, run: str, face: Face, *, changed: bool) -> FilesRepaired:
    """Take a state as it is: what it lacks is not missed any more."""
    if changed:
        backup = face.path.with_name(face.path.name + ".backup")
        if backup.exists():
            files.write(backup, face.data, root=workspace.root)
        _note(workspace, run, face)
    return FilesRepaired(run, shown(workspace, face.path), changed)


def _put_back(workspace: Workspace, run: str, path: Path, best: Copy, known: Run | None) -> FilesRepaired:
    before = files.read(path, root=workspace.root)
    aside = None
    if before is not None:
        aside = path.with_name(f"{path.name}.damaged-{workspace.clock.now():%Y%m%d-%H%M%S}")
        files.write(aside, before, root=workspace.root)
    if shared_files.replace_shared(path, before, best.face.data, root=workspace.root) is not None:
        raise Refused("Somebody else changed the file at the same moment", [("path", path)], ["run the command again"])
    face = read_face(path, root=workspace.root)
    shown_now = schema.tell(workspace.hide(schema.telling(face.value)), run)  # safeguard: hide-repair-compared
    lost = [f"session record {id}" for id in _lacks(workspace, run, face)] + _missed(known, shown_now)
    _note(workspace, run, face)
    return FilesRepaired(
        run, shown(workspace, path), True, best.source, shown(workspace, aside) if aside else None, lost
    )


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
