"""Checkpoints of a Go Team run as a whole: proving their files, and putting them into one archive."""

from __future__ import annotations

import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from holdfast.core.errors import HoldfastError, Refused
from holdfast.core.model import Body, Checkpoint, Run
from holdfast.layouts.goteam import schema
from holdfast.layouts.goteam.reconcile import DIRECTORY, is_directory, root_of
from holdfast.layouts.json_file import Unreadable, read_face
from holdfast.layouts.protocol import Examined, Exported
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.worktree.capture import Shadow

NEEDED = ("id", "session_id", "step_number", "step_name", "created_at", "state", "outputs", "git")
MOST_BYTES = 2_000_000_000


def examine_checkpoints(workspace: Workspace, run: Run, broken: Mapping[str, list[str]]) -> list[Examined]:
    """Each point with what is wrong with its file and its code."""
    return [_examine(workspace, run, place, broken) for place in range(len(run.standing.kept))]


def _examine(workspace: Workspace, run: Run, place: int, broken: Mapping[str, list[str]]) -> Examined:
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


def export_checkpoints(workspace: Workspace, run: Run) -> Exported:
    """Put the files of the run and the code of its checkpoints into one archive, with its digest beside it."""
    with workspace.reading() as journal:
        made = {one.id: one for one in journal.list_checkpoints(run=run.id)}
    directory = root_of(workspace) / run.id
    exports = directory / "exports"
    if not is_directory(directory) or exports.is_symlink():
        raise Refused("The run's directory is not there", [("path", directory)], ["`holdfast status` writes it anew"])
    files.make_directories(exports, DIRECTORY, workspace.root)
    points = [made[kept.checkpoint] for kept in run.standing.kept if kept.checkpoint in made]
    with shadow_of(workspace) as shadow:
        data = _archive(shadow, directory, run, points, workspace.root)
    name = f"{run.id}-{workspace.clock.now():%Y%m%d-%H%M%S}.tar.gz"
    digest = hashlib.sha256(data).hexdigest()
    files.write(exports / name, data, root=workspace.root)
    files.write(exports / f"{name}.sha256", f"{digest}  {name}\n".encode(), root=workspace.root)
    return Exported(run.id, str((exports / name).relative_to(workspace.root)), digest, len(points))


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
