"""Checkpoints as a whole: prove that they are what they say, and put them into one file that can be carried away."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

from msgspec import Struct

from holdfast.core.errors import HoldfastError, Refused, WrongUsage
from holdfast.core.fold.team import LAYOUT
from holdfast.core.model import Body, Checkpoint, Run
from holdfast.layouts.goteam import schema
from holdfast.layouts.goteam.reconcile import DIRECTORY, is_directory, root_of
from holdfast.layouts.json_file import Unreadable, read_face
from holdfast.maintenance.verify import prove
from holdfast.operations.verb import verb
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.worktree.capture import Shadow

NEEDED = ("id", "session_id", "step_number", "step_name", "created_at", "state", "outputs", "git")
MOST_BYTES = 2_000_000_000


class Examined(Struct):
    """One checkpoint, and what is wrong with it; nothing where it is whole."""

    id: str
    problems: list[str]
    is_valid: bool = True  # false: a way back has left it behind


class Validated(Struct):
    run: str | None
    checkpoints: list[Examined]
    whole: bool


class Exported(Struct):
    run: str
    path: str
    sha256: str
    checkpoints: int


@verb
def validate_checkpoints(workspace: Workspace, *, run: str | None = None) -> Validated:
    """Prove that checkpoints are whole: the code of this worktree's; of a Go Team run also its files."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
        listed = list(journal.list_checkpoints(workspace.worktree, run=found.id if found.layout == LAYOUT else None))
    told = prove(workspace, listed, deep=False).problems
    broken = {made.id: [problem.what for problem in told if made.id in problem.where] for made in listed}
    if found.layout != LAYOUT:
        examined = [Examined(made.id, broken[made.id]) for made in listed]
    else:
        examined = [_examine(workspace, found, place, broken) for place in range(len(found.standing.kept))]
    return Validated(found.id, examined, not told and not any(one.problems for one in examined))


def _examine(workspace: Workspace, run: Run, place: int, broken: dict[str, list[str]]) -> Examined:
    kept = run.standing.kept[place]
    problems = [kept.flaw] if kept.flaw else []
    try:
        document = read_face(root_of(workspace) / run.id / f"{kept.id}.json", root=workspace.root).value
    except Unreadable as error:
        problems.append(error.why)
    else:
        problems += _flaws(document, is_ours=kept.checkpoint is not None and kept.flaw is None)
    if kept.checkpoint and kept.checkpoint not in broken:
        problems.append("its code is not there any more")
    problems += broken.get(kept.checkpoint or "", [])
    return Examined(kept.id, problems, kept.is_valid)


def _flaws(document: Body, *, is_ours: bool) -> list[str]:
    missing = [name for name in NEEDED if name not in document]
    found = [f"it lacks {', '.join(missing)}"] if missing else []
    if is_ours and document.get("checksum") != schema.checksum(document):
        found.append("its checksum is not that of its content")
    return found


@verb
def export_checkpoints(workspace: Workspace, *, run: str | None = None) -> Exported:
    """Put the files of a Go Team run and the code of its checkpoints into one archive, with its digest beside it."""
    with workspace.reading() as journal:
        found = select.get_run(workspace, journal, run, ended_too=True)
        made = {one.id: one for one in journal.list_checkpoints(run=found.id)}
    if found.layout != LAYOUT:
        raise WrongUsage("Only a Go Team run has such files", [("run", found.id)], ["`holdfast checkpoints`"])
    directory = root_of(workspace) / found.id
    exports = directory / "exports"
    if not is_directory(directory) or exports.is_symlink():
        raise Refused("The run's directory is not there", [("path", directory)], ["`holdfast status` writes it anew"])
    files.make_directories(exports, DIRECTORY, workspace.root)
    points = [made[kept.checkpoint] for kept in found.standing.kept if kept.checkpoint in made]
    with shadow_of(workspace) as shadow:
        data = _archive(shadow, directory, found, points, workspace.root)
    name = f"{found.id}-{workspace.clock.now():%Y%m%d-%H%M%S}.tar.gz"
    digest = hashlib.sha256(data).hexdigest()
    files.write(exports / name, data, root=workspace.root)
    files.write(exports / f"{name}.sha256", f"{digest}  {name}\n".encode(), root=workspace.root)
    return Exported(found.id, str((exports / name).relative_to(workspace.root)), digest, len(points))


def _archive(shadow: Shadow, directory: Path, run: Run, points: list[Checkpoint], root: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path in sorted(directory.glob("*.json")):
            _add(archive, f"{run.id}/{path.name}", _bytes(path, root))
        for point in points:
            _add(archive, f"{run.id}/code/{point.name}.tar", shadow.git.run("archive", "--format=tar", point.tree))
            if buffer.tell() > MOST_BYTES:
                facts = [("bytes", buffer.tell()), ("limit", MOST_BYTES)]
                raise Refused("The archive would be too large", facts, ["`holdfast restore` brings one back"])
    return buffer.getvalue()


def _bytes(path: Path, root: Path) -> bytes:
    try:
        return files.read(path, root=root) or b""
    except HoldfastError:
        return b""


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))
