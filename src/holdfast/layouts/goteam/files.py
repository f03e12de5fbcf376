"""The Go Team's files on disk: where they lie, which of them somebody else has changed, and which are damaged.

A file counts as changed when it is not the one that we last read or wrote. One that is damaged is told of and never
written: torn, no JSON, of other types than its schema, another session's, a link, a pipe, or too large to read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from holdfast.core.model import Body, Run
from holdfast.core.text import one_line, path_text, sound
from holdfast.journal.journal import Journal
from holdfast.journal.store import RunQuery
from holdfast.layouts import memory
from holdfast.layouts.goteam import NAME, merge
from holdfast.layouts.goteam.presence import SEEN as SEEN
from holdfast.layouts.goteam.schema import MANIFEST, RECOVERY, REGISTRY, ROLLBACKS, STATE
from holdfast.layouts.json_file import LIMIT, Face, Unreadable, as_bytes as as_bytes, parse_face, read_face
from holdfast.project.workspace import Workspace
from holdfast.redaction.unmask import unmask
from holdfast.system import files, shared_files
from holdfast.system.safe_paths import real_path

SHARED = 0o644
MOST = 1_000  # sessions that are taken in, and runs that are shown
REMEMBERED = 1_000_000  # bytes of what others put into one file
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
    """Somebody else wrote a file between our look at it and our writing."""


class Written(Struct):
    """What was written last: after which event of each run; each file as it was then; and what others had in it."""

    runs: dict[str, int] = {}
    looks: dict[str, Look] = {}
    beside: dict[str, Body] = {}


class Damage(Struct, frozen=True):
    """A file that cannot be read as what it should be."""

    path: Path
    run: str | None  # null: the registry
    why: str


def root_of(workspace: Workspace) -> Path:
    """Where the files are: inside the project, and not by way of a link."""
    value = str(workspace.settings.values["go_team.root"].value)
    path = Path(os.path.normpath(workspace.root / value))
    inside = path != workspace.root and workspace.root in path.parents
    if not inside or ".git" in path.relative_to(workspace.root).parts or real_path(path) != str(path):
        workspace.warn(f"`go_team.root` does not lead to a directory inside the project: {one_line(value, 100)}")
        return workspace.root / "checkpoints"
    return path


def team_runs(journal: Journal, worktree: str) -> list[Run]:
    """The Go Team's runs of a worktree, the oldest first; not those whose files were cleaned up."""
    found, _ = journal.list_runs(RunQuery(worktree=worktree, layouts=frozenset({NAME}), limit=MOST))
    ours = [run for run in found if run.archived is None]
    return sorted(ours, key=lambda run: (run.created is not None, run.created, run.id))


def look_at(path: Path) -> Look | None:
    """What is different once something else stands there; None where nothing does."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino, found.st_mode


def is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def point_files(directory: Path) -> list[Path]:
    """The files of checkpoints in a session's directory."""
    names = [name for name in sorted(os.listdir(directory)) if name.startswith(POINT) and name.endswith(".json")]
    return [directory / name for name in names[:MOST]]


def read_sound(path: Path, run: str | None, root: Path) -> Face:
    """A file that is what it should be, or Unreadable."""
    face = read_face(path, root=root)
    if why := flaw_of(face, run):
        raise Unreadable(path, "unsound", why)
    return face


def flaw_of(face: Face, run: str | None) -> str | None:
    """Why a JSON object is not the file that it should be."""
    if face.flaws:
        return face.flaws[0]
    name = face.path.name
    for key, form in SHAPES[POINT if name.startswith(POINT) else name].items():
        value = face.value.get(key)
        if value is not None and not isinstance(value, form):
            return f"Its {key} is of another type than it should be"
    for key, wanted in (("session_id", run), ("id", face.path.stem if name.startswith(POINT) else None)):
        told = face.value.get(key)
        if wanted is not None and told is not None and told != wanted:
            return f"It says that its {key} is {one_line(str(told), 60)}"
    return None


def damages(workspace: Workspace, only: str | None = None) -> Iterator[Damage]:
    """The files of the Go Team's runs that are damaged, or those of one run; the registry's first. Nothing changes."""
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
                yield Damage(directory, run.id, "It is not a directory")
            continue
        known = {f"{kept.id}.json" for kept in run.standing.kept}
        for path in (*(directory / name for name in FACES), *point_files(directory)):
            if path.name in FACES or path.name in known:
                yield from _damage(path, run.id, workspace.root)


def _damage(path: Path, run: str | None, root: Path) -> Iterator[Damage]:
    try:
        read_sound(path, run, root)
    except Unreadable as error:
        if os.path.lexists(path):
            yield Damage(path, run, error.why)


class Shelf:
    """The files of a worktree, as one command reads and writes them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.root = root_of(workspace)
        self.written = memory.recall(place_of(workspace), Written)
        self.broken: set[str] = set()  # files that must not be written
        self.read_anew: set[str] = set()  # runs of which a file was changed by others

    def key(self, path: Path) -> str:
        return path_text(path.relative_to(self.root))

    def is_changed(self, path: Path) -> bool:
        look = look_at(path)
        return look is not None and look != self.written.looks.get(self.key(path))

    def read(self, path: Path, run: str | None, *, tolerant: bool = False) -> Body | None:
        """What a file says; None where there is none, or it is damaged. Tolerant, any object is heard."""
        look = look_at(path)
        if look is None:
            return None
        if run is not None:
            self.read_anew.add(run)
        try:
            face = read_face(path, root=self.workspace.root)
        except Unreadable as error:
            self._report(path, run, error.why)
            return None
        if why := flaw_of(face, run):
            self._report(path, run, why)
            return self.workspace.hide(face.value) if tolerant else None
        self.written.looks[self.key(path)] = look
        return cast(Body, self.workspace.hide(face.value))  # safeguard: hide-team-file-compared

    def put(self, path: Path, ours: Body) -> bool:
        """Write ours and what others have beside it. False where the file is damaged."""
        key = self.key(path)
        if key in self.broken:
            return False
        before = self._before(path, key)
        theirs = parse_face(path, before).value if before is not None else {}
        self.remember(key, merge.beside(theirs, ours) if before is not None else None)
        whole = merge.put_beside(ours, self.written.beside.get(key, {}))
        # safeguard: keep-team-file-secrets
        self.put_bytes(path, before, as_bytes(unmask(whole, theirs, self.workspace.hide)))
        return True

    def put_registry(self, entries: list[Body], active: str | None, gone: set[str]) -> None:
        path = self.root / REGISTRY
        if REGISTRY in self.broken:
            return
        before = self._before(path, REGISTRY)
        if before is not None:
            value = parse_face(path, before).value
            self.remember(REGISTRY, merge.registry_beside(value, entries))
        else:
            value = self.written.beside.get(REGISTRY, {})
        whole = merge.registry(value, entries, active, gone)
        # safeguard: keep-registry-secrets
        self.put_bytes(path, before, as_bytes(unmask(whole, value, self.workspace.hide)))

    def put_bytes(self, path: Path, before: bytes | None, data: bytes) -> None:
        """Replace what was read by this."""
        if data != before and shared_files.replace_shared(path, before, data, SHARED, self.workspace.root) is not None:
            raise Edited
        look = look_at(path)
        now = files.read(path, LIMIT, self.workspace.root)
        if look is not None and now == data:  # else somebody was quick, and is heard next time
            self.written.looks[self.key(path)] = look

    def remove(self, path: Path, ours: Body) -> None:
        """Take a file away; what others had in it comes back with the next one."""
        key = self.key(path)
        if key in self.broken or look_at(path) is None:
            return
        before = self._before(path, key)
        if before is not None:
            self.remember(key, merge.beside(parse_face(path, before).value, ours))
            if shared_files.remove_shared(path, before, self.workspace.root) is not None:
                raise Edited
        self.written.looks.pop(key, None)

    def discard(self, path: Path) -> None:
        """Take a file away that is needed no more, unless somebody has changed it since it was last read or written."""
        if look_at(path) == self.written.looks.get(self.key(path), look_at(path)):
            data = files.read(path, LIMIT, self.workspace.root)
            if data is not None:
                shared_files.remove_shared(path, data, self.workspace.root)

    def remember(self, key: str, rest: Body | None) -> None:
        """What others have in a file. Where the file is lost, it is known from the last time."""
        if rest and len(as_bytes(rest)) <= REMEMBERED:
            self.written.beside[key] = rest
        elif rest is not None:
            self.written.beside.pop(key, None)

    def name(self, path: Path) -> str:
        return one_line(path_text(path.relative_to(self.workspace.root)), 200)

    def save(self) -> None:
        data = msgspec.json.encode(
            sound(msgspec.to_builtins(self.written), small=True)
        )  # others may write what no JSON holds
        files.put(place_of(self.workspace), data, synced=False)

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
    return memory.place_of(workspace) / SEEN
