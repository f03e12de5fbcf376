"""Checkpoints of a Go Team run: steps that make them, names that mean them, verification and export of their files.

Nothing of the user's repository is touched: no commit is made, and no branch is checked out.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

from holdfast.core import ids
from holdfast.core.errors import HoldfastError, NotFound, Refused
from holdfast.core.fold import team
from holdfast.core.fold.run import record_of
from holdfast.core.fold.team import Meant
from holdfast.core.model import Body, Checkpoint, Draft, Kept, Reason, Run
from holdfast.core.text import one_line, path_text
from holdfast.journal.journal import Journal
from holdfast.layouts.goteam import schema
from holdfast.layouts.goteam.files import is_directory, root_of
from holdfast.layouts.goteam.runs import COMMIT, tree_of
from holdfast.layouts.json_file import Unreadable, read_json
from holdfast.layouts.results import Examined, Exported
from holdfast.project.checkpoints.create import (
    find_unfinished,
    keep_changes,
    make_checkpoint,
    refuse_unfinished,
    shadow_of,
)
from holdfast.project.checkpoints.restore import Restored
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import DIRECTORY, Entry
from holdfast.worktree.capture import Shadow
from holdfast.worktree.metadata import TreeMetadata
from holdfast.worktree.user_index import names_in

NAMED = 500  # files in the event of a step
FIELDS = {"A": "created", "D": "deleted"}  # by git's letters; all others are modified
NEEDED = ("id", "session_id", "step_number", "step_name", "created_at", "state", "outputs", "git")
MOST_BYTES = 2_000_000_000


def find_step(run: Run, name: str, new: bool) -> Meant:
    meant, known = team.meant(run, name), team.known_steps(run)
    if meant.step in known or new:
        return meant
    from difflib import get_close_matches

    near = get_close_matches(meant.step.lower(), known, 1)
    hints = [f"did you mean `{near[0]}`?"] if near else []
    hints += ["`--new` adds a step of this name", "`holdfast step list` shows the steps"]
    facts = [("run", run.id), ("steps", ", ".join(one_line(step, 60) for step in known))]
    raise NotFound(f'There is no step "{one_line(name, 60)}" in this run', facts, hints)


def keep_step(workspace: Workspace, run_id: str, meant: Meant) -> Checkpoint:
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            refuse_unfinished(journal, workspace)
            run = journal.get_run(run_id)
            last = team.last_kept(run)
            before = journal.find_checkpoint(last.checkpoint) if last and last.checkpoint else None
        number = team.number_of(run, meant.step)
        id = team.kept_name(run, number, meant.name, workspace.clock.now())
        made, _ = make_checkpoint(workspace, shadow, run=run, name=id, reason=Reason.STEP)
        changed = _changed(shadow, before, made)
    body: Body = {
        "id": id,
        "step": meant.step,
        "number": number,
        "checkpoint": made.id,
        "seq": made.seq,
        "time": made.time,
        "completes": meant.completes,
        "branch": path_text(made.branch) if made.branch else None,
        "commit": made.commit,
        **changed,
        **({"turn": meant.turn} if meant.turn else {}),
    }
    with workspace.writing() as journal:
        journal.append(run_id, Draft("step.kept", body, time=made.time))
    return made


def keep_run(workspace: Workspace, run: Run, reason: Reason, *, always: bool = False) -> Checkpoint | None:
    with shadow_of(workspace) as shadow:
        with workspace.reading() as journal:
            if find_unfinished(journal, workspace):
                return None  # a half restored worktree is no state to restore
        kept, is_new = keep_changes(
            workspace, shadow, reason, run, holds=lambda last: last.run == run.id and not always
        )
        return kept if is_new else None


def keep_interrupted(workspace: Workspace, run: Run) -> None:
    if run.worktree != workspace.worktree:
        return
    try:
        keep_run(workspace, run, Reason.INTERRUPTED)
    except HoldfastError as error:
        workspace.warn(f"what {run.id} left could not be kept: {error.message}")


def _changed(shadow: Shadow, before: Checkpoint | None, made: Checkpoint) -> Body:
    found: dict[str, list[str]] = {"created": [], "modified": [], "deleted": []}
    start = before.tree if before else f"{made.commit}^{{tree}}" if made.commit else None
    if start is None:
        return {**found, "created": made.changed[:NAMED]}
    try:
        told = shadow.git.run("diff-tree", "-r", "-z", "--no-renames", "--name-status", start, made.tree)
    except HoldfastError:
        return {**found, "modified": made.changed[:NAMED]}
    words = told.split(b"\0")
    for letter, path in zip(words[::2], words[1::2], strict=False):
        found[FIELDS.get(letter.decode("ascii", "replace"), "modified")].append(
            path.decode("utf-8", "backslashreplace")
        )
    return {name: paths[:NAMED] for name, paths in found.items()}


def get_checkpoint(
    workspace: Workspace, journal: Journal, run: Run, name: str, *, left_too: bool = False
) -> Checkpoint:
    """Get a checkpoint by any name of ours, by its name in the team's files, or by its step's number."""
    kept = find_kept(run, name, left_too=left_too)
    if kept is None:
        return select.count_back(workspace, journal, name)
    found = journal.find_checkpoint(kept.checkpoint or "")
    if found is None:
        facts = [("checkpoint", kept.id), ("commit", kept.commit or "none")]
        raise NotFound("Of this checkpoint only the file is known, not the code", facts, ["`holdfast checkpoints`"])
    return found


def find_last_checkpoint(journal: Journal, run: Run) -> Checkpoint | None:
    point = team.last_kept(run)
    return journal.find_checkpoint(point.checkpoint or "") if point else None


def find_kept(run: Run, name: str, *, left_too: bool = False) -> Kept | None:
    """Find a point by the team's name or number; an invalidated one is refused unless `left_too`."""
    found = team.resolve(run, name)
    if not found and team.NUMBERED.fullmatch(name):  # a number is a step here, never a row of a list
        known = ", ".join(kept.id for kept in run.standing.kept if kept.is_valid) or "none"
        facts = [("run", run.id), ("checkpoints", known)]
        raise NotFound(f"Step {one_line(name, 20)} has no checkpoint", facts, ["`holdfast checkpoints`"])
    if found and not found[0].is_valid and not left_too:
        kept = found[0]
        facts = [("checkpoint", kept.id), ("left behind by", kept.invalidated_by or "")]
        hints = ["`holdfast undo` takes the way back back", f"`holdfast restore {kept.checkpoint}` brings its code"]
        raise Refused("This checkpoint is not valid any more", facts, hints)
    return found[0] if found else None


def refuse_return(run: Run, planned: Restored) -> None:
    """Refuse the last point if nothing was done since."""
    last = team.last_kept(run)
    if last and last.checkpoint == planned.to and not planned.acts and run.seq <= last.seq + 1:
        facts = [("checkpoint", last.id)]
        raise Refused("The run is there already, and nothing was done since", facts, ["`holdfast checkpoints`"])


def prepare_return(workspace: Workspace, run: Run, name: str) -> None:
    """Import a point that only a file knows: its checkpoint has the tree of its commit, if that exists."""
    kept = find_kept(run, name)
    if kept is None or kept.checkpoint is not None or not COMMIT.fullmatch(kept.commit or ""):
        return
    with shadow_of(workspace) as shadow:
        tree = tree_of(shadow, kept.commit or "")
        if tree is None:
            return
        made = _keep_tree(workspace, shadow, run, kept, tree)
    body = {"id": kept.id, "step": kept.step, "number": kept.number, "checkpoint": made.id}
    with workspace.writing() as journal:
        journal.append(run.id, Draft("step.kept", body))


def _keep_tree(workspace: Workspace, shadow: Shadow, run: Run, kept: Kept, tree: str) -> Checkpoint:
    object_store = shadow.object_store
    with workspace.reading() as journal:
        number = journal.view.last_checkpoint_number(workspace.worktree) + 1
    beside = object_store.blob(TreeMetadata().encode())
    object_store.rely_on(names_in(shadow.git, tree))
    object_store.keep(number, {b"tree": Entry(DIRECTORY, b"", tree), b"beside": beside})
    made = Checkpoint(
        id=ids.make("cp"),
        worktree=workspace.worktree,
        number=number,
        time=workspace.clock.now(),
        tree=tree,
        beside=beside.id,
        kind=Reason.FOREIGN,
        name=kept.id,
        run=run.id,
        seq=kept.seq,
        directory=path_text(workspace.root),
        commit=kept.commit,
        branch=kept.branch,
    )
    with workspace.writing() as journal:
        body = {name: value for name, value in record_of(made).items() if name != "time"}
        journal.append(journal.ledger(workspace.worktree).id, Draft("checkpoint.made", body, time=made.time))
    return made


def examine_checkpoints(workspace: Workspace, run: Run, broken: Mapping[str, list[str]]) -> list[Examined]:
    return [_examine(workspace, run, place, broken) for place in range(len(run.standing.kept))]


def _examine(workspace: Workspace, run: Run, place: int, broken: Mapping[str, list[str]]) -> Examined:
    kept = run.standing.kept[place]
    problems = [kept.flaw] if kept.flaw else []
    try:
        document = read_json(root_of(workspace) / run.id / f"{kept.id}.json", root=workspace.root).value
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
    with workspace.reading() as journal:
        made = {one.id: one for one in journal.list_checkpoints(run=run.id)}
    directory = root_of(workspace) / run.id
    exports = directory / "exports"
    if not is_directory(directory) or exports.is_symlink():
        raise Refused("The run's directory is not there", [("path", directory)], ["`holdfast status` writes it anew"])
    files.make_directories(exports, 0o755, workspace.root)
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
            data = b""
            with contextlib.suppress(HoldfastError):
                data = files.read(path, root=root) or b""
            _add(archive, f"{run.id}/{path.name}", data)
        for point in points:
            _add(archive, f"{run.id}/code/{point.name}.tar", shadow.git.run("archive", "--format=tar", point.tree))
            if buffer.tell() > MOST_BYTES:
                facts = [("bytes", buffer.tell()), ("limit", MOST_BYTES)]
                raise Refused("The archive would be too large", facts, ["`holdfast restore` brings one back"])
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))
