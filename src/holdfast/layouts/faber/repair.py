"""Repair of FABER's state files: the best copy replaces one that is damaged, or was reverted to an old version."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast.core.errors import Damaged, NotFound, Refused
from holdfast.core.fold.external import TOLD
from holdfast.core.model import Draft, Run
from holdfast.core.text import parse_time, path_text
from holdfast.layouts import json_file
from holdfast.layouts.faber import schema
from holdfast.layouts.faber.files import Target, is_of, lost_records, own_id
from holdfast.layouts.faber.reconcile import body_of, copies, journal_id, keep_copy, remember
from holdfast.layouts.faber.session_records import record_ids
from holdfast.layouts.json_file import JsonFile, Unreadable, read_json
from holdfast.layouts.memory import relative
from holdfast.layouts.results import STORE, Damage, FilesRepaired
from holdfast.project.workspace import Workspace
from holdfast.system import files, shared_files


class Copy(Struct):
    file: JsonFile
    source: str

    @property
    def rank(self) -> tuple[int, datetime]:
        written = parse_time(self.file.value.get("updated_at"))
        return len(record_ids(self.file.value)), written or datetime.min.replace(tzinfo=UTC)


def repair(workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
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
            ["look for one in git: `git log -- " + relative(workspace, path) + "`"],
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


def _current(path: Path, root: Path) -> tuple[JsonFile | None, str]:
    try:
        return read_json(path, root=root), ""
    except Unreadable as error:
        if error.is_denied:
            raise Refused(
                "No permission to read the state file",
                [("path", path_text(path)), ("because", error.why)],
                [error.remedy("")],
            ) from error
        return None, error.why


def _lacks(workspace: Workspace, run: str, file: JsonFile) -> list[str]:
    return lost_records(workspace, Target(run, file, schema.tell(file.value, run)))


def _copies(workspace: Workspace, run: str, path: Path) -> list[Copy]:
    """List all copies. The store's come first: they include the last write, the backups do not."""
    found = []
    for data in copies(workspace).find(path) if workspace.exists else []:
        try:
            file = json_file.parse_json(path, data)
        except Unreadable:
            continue
        if is_of(run, file.value):
            found.append(Copy(file, STORE))
    beside = json_file.best_backup(path, lambda state: is_of(run, state), workspace.root)
    return found + [Copy(file, relative(workspace, file.path)) for file in beside]


def _accept(workspace: Workspace, run: str, file: JsonFile, *, changed: bool) -> FilesRepaired:
    """Accept a state as it is, without the records that it lacks."""
    if changed:
        backup = file.path.with_name(file.path.name + ".backup")
        if backup.exists():
            files.write(backup, file.data, root=workspace.root)
        _note(workspace, run, file)
    return FilesRepaired(run, relative(workspace, file.path), changed)


def _put_back(workspace: Workspace, run: str, path: Path, best: Copy, known: Run | None) -> FilesRepaired:
    before = files.read(path, root=workspace.root)
    aside = None
    if before is not None:
        aside = path.with_name(f"{path.name}.damaged-{workspace.clock.now():%Y%m%d-%H%M%S}")
        files.write(aside, before, root=workspace.root)
    if shared_files.replace_shared(path, before, best.file.data, root=workspace.root) is not None:
        raise Refused("Somebody else changed the file at the same moment", [("path", path)], ["run the command again"])
    file = read_json(path, root=workspace.root)
    shown_now = schema.tell(workspace.hide(schema.telling(file.value)), run)  # safeguard: hide-repair-compared
    lost = [f"session record {id}" for id in _lacks(workspace, run, file)] + _missed(known, shown_now)
    _note(workspace, run, file)
    return FilesRepaired(
        run, relative(workspace, path), True, best.source, relative(workspace, aside) if aside else None, lost
    )


def _missed(known: Run | None, told: schema.Told) -> list[str]:
    if known is None or (owned := known.owned) is None:
        return []
    facts = (("status", owned.word, told.word), ("phase", owned.phase, told.phase), ("step", owned.step, told.step))
    return [f"{noun} {then}: it says {now or 'none'}" for noun, then, now in facts if then and then != now]


def _note(workspace: Workspace, run: str, file: JsonFile) -> None:
    if not workspace.exists:
        return
    with workspace.writing() as journal:
        if known := journal.find_run(journal_id(run)):
            body = {**body_of(workspace, run, file), "accepted": True}
            journal.append(known.id, Draft(TOLD, msgspec.to_builtins(body)))
    keep_copy(workspace, file)
    remember(workspace, file.path)


def damages(workspace: Workspace) -> Iterator[Damage]:
    """List unreadable state files of known runs."""
    for name, path in schema.list_states(workspace.root) if schema.is_used(workspace) else ():
        try:
            with workspace.reading() as journal:
                is_known = journal.find_run(journal_id(name)) is not None
            if is_known:
                read_json(path, root=workspace.root)
        except Unreadable as error:
            remedy = error.remedy(f"`holdfast repair {shlex.quote(name)}` puts the best copy back")
            yield Damage(relative(workspace, path), error.why, remedy)
        except Damaged:  # `verify` reports the run itself
            continue
