"""The Go Team's files on disk: location, external changes, damage.

A file has changed if it is not the one that we last read or wrote. A damaged file is reported and never written: torn,
no JSON, not of its schema, another session's, a link, a pipe, or too large.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from msgspec import Struct

from holdfast.core.model import Body, Run
from holdfast.core.text import one_line, path_text
from holdfast.journal.journal import Journal
from holdfast.layouts import memory
from holdfast.layouts.goteam import NAME, RECORD, merge
from holdfast.layouts.goteam.schema import MANIFEST, RECOVERY, REGISTRY, ROLLBACKS, STATE
from holdfast.layouts.json_file import LIMIT, JsonFile, Unreadable, as_bytes as as_bytes, parse_json, read_json
from holdfast.layouts.registry import find_layout, is_present
from holdfast.project.workspace import Workspace
from holdfast.redaction.unmask import unmask
from holdfast.system import files, shared_files
from holdfast.system.safe_paths import real_path

MOST = 1_000  # sessions that are ingested, and runs that are shown
REMEMBERED = 1_000_000  # bytes of other programs' members of one file
POINT = "cp-"
FACES = (STATE, MANIFEST, ROLLBACKS, RECOVERY)
SHAPES: dict[str, dict[str, type | tuple[type, ...]]] = {
    REGISTRY: {"sessions": (list, dict)},
    STATE: {"state": dict, "context": dict, "outputs": dict, "recovery_point": dict},
    MANIFEST: {"checkpoints": list, "rollback_history": list},
    ROLLBACKS: {"history": list},
    RECOVERY: {"last_known_state": dict, "recovery_options": list, "git_state": dict},
    POINT: {"state": dict, "outputs": dict, "files": dict, "git": dict},
}

Look = tuple[int, int, int, int]


class Edited(Exception):
    """Another program wrote a file after we read it."""


class Written(Struct):
    runs: dict[str, int] = {}  # the last event of each run
    looks: dict[str, Look] = {}  # of each file
    beside: dict[str, Body] = {}  # other programs' members of each file


class DamagedFile(Struct, frozen=True):
    path: Path
    run: str | None  # null: the registry
    why: str


def root_of(workspace: Workspace) -> Path:
    """Return the directory of the files, inside the project and not through a link."""
    value = workspace.settings.text("go_team.root")
    path = Path(os.path.normpath(workspace.root / value))
    inside = path != workspace.root and workspace.root in path.parents
    if not inside or ".git" in path.relative_to(workspace.root).parts or real_path(path) != str(path):
        workspace.warn(f"`go_team.root` does not lead to a directory inside the project: {one_line(value, 100)}")
        return workspace.root / "checkpoints"
    return path


def list_files(workspace: Workspace) -> list[str]:
    is_used = is_present(workspace, find_layout(NAME))
    return [workspace.settings.text("go_team.root")] if is_used else []


def team_runs(journal: Journal, worktree: str) -> list[Run]:
    """List the Go Team's runs of a worktree whose files were not cleaned up, oldest first."""
    return [run for run in memory.list_runs(journal, NAME, worktree, MOST) if run.archived is None]


def cleaned_runs(journal: Journal, worktree: str) -> set[str]:
    return {run.id for run in memory.list_runs(journal, NAME, worktree, MOST) if run.archived is not None}


def look_at(path: Path) -> Look | None:
    """Return a signature of the file at a path, or None."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode


def is_directory(path: Path) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def point_files(directory: Path) -> list[Path]:
    names = [name for name in sorted(os.listdir(directory)) if name.startswith(POINT) and name.endswith(".json")]
    return [directory / name for name in names[:MOST]]


def flaw_of(file: JsonFile, run: str | None) -> str | None:
    """Find out why a JSON object does not fit the schema, or is of another run."""
    if file.flaws:
        return file.flaws[0]
    name = file.path.name
    for key, form in SHAPES[POINT if name.startswith(POINT) else name].items():
        value = file.value.get(key)
        if value is not None and not isinstance(value, form):
            return f"Its {key} is of another type than it should be"
    for key, wanted in (("session_id", run), ("id", file.path.stem if name.startswith(POINT) else None)):
        told = file.value.get(key)
        if wanted is not None and told is not None and told != wanted:
            return f"It says that its {key} is {one_line(str(told), 60)}"
    return None


def find_damages(workspace: Workspace, only: str | None = None) -> Iterator[DamagedFile]:
    """List the damaged files of all runs or of one, the registry first."""
    root = root_of(workspace)
    if not is_directory(root):
        return
    with workspace.reading() as journal:
        runs = [run for run in team_runs(journal, workspace.worktree) if only in (None, run.id)]
    if runs:
        yield from _damage(root / REGISTRY, None, workspace.root)
    for run in runs:
        directory = root / run.id
        if not is_directory(directory):
            if os.path.lexists(directory):
                yield DamagedFile(directory, run.id, "It is not a directory")
            continue
        known = {f"{kept.id}.json" for kept in run.standing.kept}
        for path in (*(directory / name for name in FACES), *point_files(directory)):
            if path.name in FACES or path.name in known:
                yield from _damage(path, run.id, workspace.root)


def _damage(path: Path, run: str | None, root: Path) -> Iterator[DamagedFile]:
    try:
        why = flaw_of(read_json(path, root=root), run)
    except Unreadable as error:
        why = error.why
    if why and os.path.lexists(path):
        yield DamagedFile(path, run, why)


class SessionFiles:
    """The files of a worktree during one command."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.root = root_of(workspace)
        self.written = memory.recall(place_of(workspace), Written)
        self.broken: set[str] = set()  # files that must not be written
        self.read_anew: set[str] = set()  # runs with a file that another program changed

    def key(self, path: Path) -> str:
        return path_text(path.relative_to(self.root))

    def is_changed(self, path: Path) -> bool:
        look = look_at(path)
        return look is not None and look != self.written.looks.get(self.key(path))

    def read(self, path: Path, run: str | None, *, tolerant: bool = False) -> Body | None:
        """Read a file; None if it is missing or damaged. If `tolerant`, any object is returned."""
        look = look_at(path)
        if look is None:
            return None
        if run is not None:
            self.read_anew.add(run)
        try:
            file = read_json(path, root=self.workspace.root)
        except Unreadable as error:
            self._report(path, run, error.why)
            return None
        if why := flaw_of(file, run):
            self._report(path, run, why)
            return self.workspace.hide(file.value) if tolerant else None
        self.written.looks[self.key(path)] = look
        return cast(Body, self.workspace.hide(file.value))  # safeguard: hide-team-file-compared

    def put(self, path: Path, ours: Body) -> None:
        """Write our members and keep those of other programs. A damaged file is left alone."""
        key = self.key(path)
        if key in self.broken:
            return
        before = self._before(path, key)
        theirs = parse_json(path, before).value if before is not None else {}
        if before is not None:
            self.remember(key, merge.beside(theirs, ours))
        whole = merge.put_beside(ours, self.written.beside.get(key, {}))
        # safeguard: keep-team-file-secrets
        self.put_bytes(path, before, as_bytes(unmask(whole, theirs, self.workspace.hide)))

    def put_registry(self, entries: list[Body], active: str | None, gone: set[str]) -> None:
        path = self.root / REGISTRY
        if REGISTRY in self.broken:
            return
        before, value = self._before(path, REGISTRY), self.written.beside.get(REGISTRY, {})
        if before is not None:
            value = parse_json(path, before).value
            self.remember(REGISTRY, merge.registry_beside(value, entries))
        whole = merge.registry(value, entries, active, gone)
        # safeguard: keep-registry-secrets
        self.put_bytes(path, before, as_bytes(unmask(whole, value, self.workspace.hide)))

    def put_bytes(self, path: Path, before: bytes | None, data: bytes) -> None:
        """Replace the version that was read."""
        root = self.workspace.root
        if data != before and shared_files.replace_shared(path, before, data, memory.SHARED, root) is not None:
            raise Edited
        look, now = look_at(path), files.read(path, LIMIT, root)
        if look is not None and now == data:  # else another program was quick; the next command ingests its edit
            self.written.looks[self.key(path)] = look

    def remove(self, path: Path, ours: Body) -> None:
        """Remove a file; other programs' members of it are written into the next one."""
        key = self.key(path)
        if key in self.broken or look_at(path) is None:
            return
        before = self._before(path, key)
        if before is not None:
            self.remember(key, merge.beside(parse_json(path, before).value, ours))
            if shared_files.remove_shared(path, before, self.workspace.root) is not None:
                raise Edited
        self.written.looks.pop(key, None)

    def discard(self, path: Path) -> None:
        """Remove an unneeded file, unless another program has changed it since it was last read or written."""
        if look_at(path) == self.written.looks.get(self.key(path), look_at(path)):
            data = files.read(path, LIMIT, self.workspace.root)
            if data is not None:
                shared_files.remove_shared(path, data, self.workspace.root)

    def remember(self, key: str, rest: Body) -> None:
        """Record other programs' members of a file, for the case that the file is lost."""
        if rest and len(as_bytes(rest)) <= REMEMBERED:
            self.written.beside[key] = rest
        else:
            self.written.beside.pop(key, None)

    def name(self, path: Path) -> str:
        return one_line(memory.relative(self.workspace, path), 200)

    def save(self) -> None:
        memory.remember(place_of(self.workspace), self.written)

    def _before(self, path: Path, key: str) -> bytes | None:
        look = look_at(path)
        if look is not None and look != self.written.looks.get(key):
            raise Edited
        return files.read(path, LIMIT, self.workspace.root)

    def _report(self, path: Path, run: str | None, why: str) -> None:
        self.broken.add(self.key(path))
        way = f"holdfast repair {run}" if run else "holdfast repair"
        name = self.name(path)
        self.workspace.warn(f"{name} cannot be read: {why}; `{way}` makes it anew, and keeps this one aside")


def place_of(workspace: Workspace) -> Path:
    return memory.place_of(workspace) / RECORD
