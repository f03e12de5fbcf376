"""The Go Team's files as faces of the journal: written after every change, whole or not at all.

Sessions that somebody else began there are taken in. The registry can be lost: it is made again from the journal and
from the directories of the sessions. The files are never committed: a `.gitignore` among them says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
from msgspec import Struct

from holdfast import files, ids, teamfiles, teamreading
from holdfast.attending import attended, is_silent
from holdfast.bearings import take_bearings
from holdfast.errors import HoldfastError, Refused, Trouble
from holdfast.faces import Unreadable, read_face
from holdfast.journal import Journal
from holdfast.model import Body, Draft, Run, Status
from holdfast.packing import UNREADABLE
from holdfast.recovery import options, reason_of
from holdfast.repository import Head, Repository
from holdfast.stores.protocol import RunQuery
from holdfast.teamfiles import MANIFEST, RECOVERY, REGISTRY, ROLLBACKS, STATE, Around
from holdfast.teamwork import LAYOUT
from holdfast.text import one_line, path_text
from holdfast.workspace import Workspace

ATTEMPTS = 5
DIRECTORY, SHARED = 0o755, 0o644
MOST = 1_000  # sessions that are taken in, and runs that are shown
PATIENCE = 3.0  # seconds for a look at what is not committed
READ_LIMIT = 16 * 1024 * 1024
LEFTOVER = re.compile(r"\.[^/]+\.json\.[0-9a-f]{12}")
SEEN = "team.json"


class Written(Struct):
    """What was written last: after which event of each run, and the registry."""

    runs: dict[str, int] = {}
    registry: str = ""


def root_of(workspace: Workspace) -> Path:
    """Where the files are: inside the project, and not by way of a link."""
    value = str(workspace.settings.values["go_team.root"].value)
    path = Path(os.path.normpath(workspace.root / value))
    inside = path != workspace.root and workspace.root in path.parents
    if not inside or ".git" in path.relative_to(workspace.root).parts or os.path.realpath(path) != str(path):
        workspace.warn(f"`go_team.root` does not lead to a directory inside the project: {one_line(value, 100)}")
        return workspace.root / "checkpoints"
    return path


def show_team(workspace: Workspace, *, trigger: str | None = None) -> None:
    """Make the files and the journal say the same. With a trigger, the current run's are written in any case."""
    root = root_of(workspace)
    if root.is_symlink() or (root.exists() and not root.is_dir()):
        workspace.warn(f"{_name(workspace, root)} is not a directory, so the Go Team's files are not written")
        return
    place = _seen(workspace).parent
    for directory in (place.parent, place):
        files.make_private_directory(directory)
    with files.lock(place / "team.lock", workspace.settings.number("store.deadline")):
        written = _load(workspace)
        _take_in(workspace, root, written)
        try:
            _write_all(workspace, root, written, trigger)
        except (Trouble, OSError) as error:  # what the user asked for is done, and the next command writes them
            why = error.message if isinstance(error, Trouble) else error.strerror or "the system said no"
            workspace.warn(f"the Go Team's files in {_name(workspace, root)} could not be written: {why}")
        files.put(_seen(workspace), msgspec.json.encode(written), synced=False)


# Taking in


def _take_in(workspace: Workspace, root: Path, written: Written) -> None:
    """Begin a run for every session that is there and nobody knows."""
    listed = {} if not root.exists() else _sessions(workspace, root, written)
    for id, entry in list(listed.items())[:MOST]:
        with workspace.reading() as journal:
            known = journal.find_run(id)
        if known is not None:
            _follow(workspace, known, entry, written)
            continue
        if not teamreading.is_name(id):
            workspace.warn(
                f'the Go Team session "{one_line(id, 60)}" has a name that no run can have; it is left alone'
            )
            continue
        _adopt(workspace, root, id, entry)


def _sessions(workspace: Workspace, root: Path, written: Written) -> dict[str, Body]:
    """The sessions of the registry, by id; where it is lost or damaged, those that have a directory."""
    found: dict[str, Body] = {}
    value = _read(workspace, root / REGISTRY)
    if value is not None and files.digest(_canonical(value)) == written.registry:
        return {}
    for item in teamreading.entries(value):
        found[item["id"]] = item
    for name in sorted(os.listdir(root))[: 10 * MOST]:
        if name not in found and is_directory(root / name) and (root / name / MANIFEST).is_file():
            found[name] = {"id": name}
    return found


def _follow(workspace: Workspace, run: Run, entry: Body, written: Written) -> None:
    """Somebody else changed the registry: a status that he gave to a run of ours is taken in."""
    if run.layout != LAYOUT or run.id not in written.runs or run.worktree != workspace.worktree:
        return
    drafts = teamreading.follow(run, entry, teamfiles.word_of(run))
    if drafts:
        with workspace.writing(for_session=False) as journal:
            journal.append(run.id, *drafts)


def _adopt(workspace: Workspace, root: Path, id: str, entry: Body) -> None:
    directory = root / id
    if not is_directory(directory):
        workspace.warn(
            f"{_name(workspace, directory)} is not there, so the Go Team session in the registry is not taken in"
        )
        return
    found = teamreading.Found(entry)
    for name, field in ((MANIFEST, "manifest"), (STATE, "state"), (RECOVERY, "recovery")):
        setattr(found, field, _read(workspace, directory / name) or {})
    names = [name for name in sorted(os.listdir(directory)) if name.startswith("cp-") and name.endswith(".json")]
    found.points = [value for name in names[:MOST] if (value := _read(workspace, directory / name)) is not None]
    now = workspace.clock.now()
    first, *rest = teamreading.drafts(found, workspace.worktree, path_text(workspace.root), now)
    with workspace.writing(for_session=False) as journal:
        journal.start(id, first)
        journal.append(id, *rest)


def _read(workspace: Workspace, path: Path) -> Body | None:
    try:
        return read_face(path, READ_LIMIT).value
    except Unreadable as error:
        if error.reason != "missing":
            workspace.warn(f"{_name(workspace, path)} cannot be read: {error.why}")
        return None


# Writing


def _write_all(workspace: Workspace, root: Path, written: Written, trigger: str | None) -> None:
    with workspace.reading() as journal:
        runs, cleaned = team_runs(journal, workspace.worktree), _cleaned(journal, workspace.worktree)
        if not runs and not cleaned:  # a directory of this name may be anybody's
            return
        pointed = journal.view.pointer(workspace.worktree)
        active = [run for run in runs if run.status is Status.ACTIVE]
        alive = {run.id for run in active if _is_attended(workspace, journal, run)}
    _prepare(root)
    last = pointed if any(run.id == pointed for run in runs) else runs[-1].id if runs else None
    entries, head = [], Repository(workspace.root).head()
    for run in runs:
        around = _around(workspace, head, run.id in alive, trigger if run.id == pointed else None)
        stale = written.runs.get(run.id) != run.seq or not (root / run.id / STATE).exists()
        if (stale or around.trigger) and _write_run(workspace, root / run.id, run, around):
            written.runs[run.id] = run.seq
        entries.append(teamfiles.entry(run, around))
    before = _quietly(root / REGISTRY)
    value = teamfiles.registry(before, entries, last, cleaned)
    if value != before:
        _put(workspace, root / REGISTRY, lambda found: teamfiles.registry(found, entries, last, cleaned))
    written.registry = files.digest(_canonical(_quietly(root / REGISTRY) or {}))


def _is_attended(workspace: Workspace, journal: Journal, run: Run) -> bool:
    return any(not is_silent(workspace, session) for session in attended(journal, run.id))


def team_runs(journal: Journal, worktree: str) -> list[Run]:
    """The Go Team's runs of a worktree, the oldest first; not those whose files were cleaned up."""
    found, _ = journal.list_runs(RunQuery(worktree=worktree, layouts=frozenset({LAYOUT}), limit=MOST))
    ours = [run for run in found if run.archived is None]
    return sorted(ours, key=lambda run: (run.created is not None, run.created, run.id))


def _cleaned(journal: Journal, worktree: str) -> set[str]:
    found, _ = journal.list_runs(RunQuery(worktree=worktree, layouts=frozenset({LAYOUT}), limit=MOST))
    return {run.id for run in found if run.archived is not None}


def _prepare(root: Path) -> None:
    """The directory, and in it the word that keeps all of it out of commits and of `git clean`."""
    root.mkdir(DIRECTORY, parents=True, exist_ok=True)
    if not (root / ".gitignore").exists():
        files.write(root / ".gitignore", b"*\n", SHARED)


def _around(workspace: Workspace, head: Head, alive: bool, trigger: str | None) -> Around:
    return Around(
        now=workspace.clock.now(),
        branch=path_text(head.branch) if head.branch else None,
        commit=head.commit,
        attended=alive,
        interval=workspace.settings.number("save.interval"),
        auto_resume=workspace.settings.values["recovery.auto_resume"].value == "on",
        trigger=trigger,
    )


def _write_run(workspace: Workspace, directory: Path, run: Run, around: Around) -> bool:
    """The files of one run. Checkpoints come first, so that the live state is never older than they are."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        workspace.warn(f"{_name(workspace, directory)} is not a directory, so the run's files are not written")
        return True
    directory.mkdir(DIRECTORY, exist_ok=True)
    for name in os.listdir(directory):
        if LEFTOVER.fullmatch(name):  # of one of us who was killed; the lock is ours
            files.remove(directory / name)
    _write_points(workspace, directory, run)
    documents = {MANIFEST: teamfiles.manifest(run), ROLLBACKS: teamfiles.rollback_history(run)}
    if reason_of(run) is not None and run.status.is_open:
        around = msgspec.structs.replace(around, uncommitted=bool(take_bearings(workspace, run, PATIENCE).uncommitted))
        documents[RECOVERY] = teamfiles.recovery(run, options(run), around)
    elif (directory / RECOVERY).is_file():
        files.remove(directory / RECOVERY)
    documents[STATE] = teamfiles.live(run, around)
    written = [_put(workspace, directory / name, partial(_beside, value)) for name, value in documents.items()]
    return all(written)


def _beside(ours: Body, before: Body | None) -> Body:
    return teamfiles.merged(before, ours)


def _write_points(workspace: Workspace, directory: Path, run: Run) -> None:
    for kept in run.standing.kept:
        path = directory / f"{kept.id}.json"
        if kept.checkpoint and ids.is_safe(kept.id) and not path.exists():
            with workspace.reading() as journal:
                document = teamfiles.point(kept, journal.run_at(run.id, kept.seq))
            files.write(path, _as_bytes(document), SHARED)


def _put(workspace: Workspace, path: Path, make: Callable[[Body | None], Body]) -> bool:
    """Write what `make` makes of what is there. False where a file is damaged, or always somebody else's."""
    for _ in range(ATTEMPTS):
        try:
            before: bytes | None = files.read(path, READ_LIMIT)
            value = read_face(path, READ_LIMIT).value if before is not None else None
        except (Unreadable, Refused) as error:
            why = error.why if isinstance(error, Unreadable) else error.message
            workspace.warn(f"{_name(workspace, path)} cannot be read: {why}; moved away, it is written anew")
            return False
        data = _as_bytes(make(value))
        if data == before or files.replace_shared(path, before, data, SHARED) is None:
            return True
    workspace.warn(f"{_name(workspace, path)} is written by somebody else all the time; it will be written later")
    return False


def _as_bytes(value: Body) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def _canonical(value: Body) -> bytes:
    return msgspec.json.encode(value, order="sorted")


def _quietly(path: Path) -> Body | None:
    with contextlib.suppress(HoldfastError):
        return read_face(path, READ_LIMIT).value
    return None


def is_directory(path: Path) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _name(workspace: Workspace, path: Path) -> str:
    return one_line(path_text(path.relative_to(workspace.root)), 200)


def _seen(workspace: Workspace) -> Path:
    return workspace.place / "worktrees" / ids.file_name(workspace.worktree) / SEEN


def _load(workspace: Workspace) -> Written:
    try:
        return msgspec.json.decode(files.read(_seen(workspace)) or b"{}", type=Written)
    except (*UNREADABLE, Refused):
        return Written()


def note_cleaned(journal: Journal, run: Run) -> None:
    """A run whose files were cleaned up stays in the journal, and is shown in no file any more."""
    journal.append(run.id, Draft("run.archived", {"path": "the journal"}))
