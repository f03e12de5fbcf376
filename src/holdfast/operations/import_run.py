"""Import of an exported run: all of it, or nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from msgspec import Struct, structs

from holdfast.agents import jsonl
from holdfast.core import ids
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.fold.run import record_of
from holdfast.core.model import Checkpoint, Draft
from holdfast.core.text import path_text
from holdfast.journal.journal import Journal
from holdfast.operations.parameters import Kind, argument
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.create import MEGABYTE, shadow_of
from holdfast.project.transfer import bundle, import_plan
from holdfast.project.transfer.bundle import Incoming
from holdfast.project.transfer.import_plan import Plan
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import DIRECTORY, Entry
from holdfast.system.safe_paths import real_path
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.portable import parse_pack

BATCH = 1 << 25  # bytes of objects a pack
TRANSCRIPT = re.compile(r"transcripts/([A-Za-z0-9][A-Za-z0-9._-]{0,150}\.jsonl)\Z")
CARRIED = "carried"  # directory in the store for imported transcripts


class RunImported(Struct):
    run: str
    goal: str
    outcome: str  # `new`, `extended`, `forked`, or `known`: all its events were here
    added: int  # events
    events: int  # of the run now
    checkpoints: int  # that were added
    left_out: int  # checkpoints whose code cannot be stored here
    redacted: bool  # secrets were removed by the export
    forked_from: str | None = None  # the run here that has the same events up to `forked_at`
    forked_at: int | None = None
    transcripts: list[str] = []  # paths of those that came with it


def _refuse_nothing(workspace: Workspace, given: Arguments, can_ask: bool) -> None:
    if "file" not in given:
        hints = ["`holdfast import login.holdfast`", "`holdfast import --claude`"]
        raise WrongUsage("Name an exported file, or import old conversations", [], hints)


@verb(
    "import",
    group=Group.CARE,
    example="holdfast import login.holdfast",
    about="import an exported run, or old conversations",
    common=True,
    asks=_refuse_nothing,
)
def import_run(
    workspace: Workspace, file: Annotated[str | os.PathLike[str], argument(metavar="[FILE]", kind=Kind.FILE)]
) -> RunImported:
    """Import an exported run; or, with --claude, earlier conversations. Prints the runs' ids."""
    path = Path(real_path(file))
    if not path.exists():
        raise NotFound("There is no such file", [("path", path_text(path))], ["`holdfast export RUN FILE` writes one"])
    workspace.create()
    if workspace.is_off:
        raise Refused("Holdfast is off here, so nothing is recorded", [("store", workspace.place)], ["`holdfast on`"])
    most = workspace.settings.whole("store.cap") * MEGABYTE
    with bundle.opened(path, most) as incoming:
        workspace.progress("checking the file", 0, 1)
        import_plan.check(incoming, most)
        workspace.progress("checking the file", 1, 1)
        if incoming.manifest.form is None:
            return _import_run(workspace, incoming, {}, 0)
        with shadow_of(workspace) as shadow:
            if shadow.git.form.name != incoming.manifest.form:
                workspace.warn(f"its code uses {incoming.manifest.form} hashes, which this repository does not use")
                return _import_run(workspace, incoming, {}, incoming.manifest.checkpoints)
            return _import_run(workspace, incoming, _import_code(workspace, shadow, incoming, most), 0)


def _import_code(workspace: Workspace, shadow: Shadow, incoming: Incoming, most: int) -> dict[str, Checkpoint]:
    """Store objects and trees of the new checkpoints under numbers of this worktree; returns the checkpoints by id.

    Until the journal records them, the next checkpoint may reuse their numbers.
    """
    with workspace.reading() as journal:
        plan = import_plan.plan_receipt(journal, incoming)
        new = import_plan.new_checkpoints(journal, import_plan.read_checkpoints(incoming), plan)
        first = journal.view.last_checkpoint_number(workspace.worktree) + 1
    if not new:
        return {}
    workspace.progress("importing code", 0, 1)
    waiting: dict[str, tuple[str, bytes]] = {}
    size = 0
    for found in parse_pack(incoming.read("objects"), shadow.git.form, most):
        waiting[found.id] = (found.kind, found.data)
        size += len(found.data)
        if size > BATCH:
            shadow.object_store.bring(waiting)
            waiting, size = {}, 0
    shadow.object_store.bring(waiting)
    shadow.known.refresh()
    here = {
        number: structs.replace(made, worktree=workspace.worktree, number=number)
        for number, made in enumerate(new, first)
    }
    shadow.object_store.keep_many({number: _parts(made) for number, made in here.items()})
    workspace.progress("importing code", 1, 1)
    return {made.id: made for made in here.values()}


def _parts(made: Checkpoint) -> dict[bytes, Entry]:
    parts = {b"tree": Entry(DIRECTORY, b"", made.tree), b"beside": Entry(0o100644, b"", made.beside)}
    return {**parts, b"staged": Entry(DIRECTORY, b"", made.staged)} if made.staged else parts


def _import_run(workspace: Workspace, incoming: Incoming, stored: dict[str, Checkpoint], left_out: int) -> RunImported:
    with workspace.writing(for_session=False) as journal:
        plan = import_plan.plan_receipt(journal, incoming)
        is_new = journal.find_run(plan.run) is None
        added = journal.replay(plan.run, import_plan.new_events(journal, incoming, plan))
        # the run here may have new events since the trees were stored, so that these belong to a fork now
        new = [structs.replace(made, run=plan.run) for made in stored.values() if not journal.find_checkpoint(made.id)]
        _record_checkpoints(workspace, journal, new)
        run = journal.get_run(plan.run)
        result = RunImported(
            run.id, run.goal, _outcome(plan, is_new, added), added, run.seq, len(new), left_out,
            incoming.manifest.redacted, run.forked_from, run.forked_at,
        )  # fmt: skip
    result.transcripts = _store_transcripts(workspace, incoming, result.run)
    return result


def _outcome(plan: Plan, is_new: bool, added: int) -> str:
    if is_new:
        return "forked" if plan.forked_from else "new"
    return "extended" if added else "known"


def _record_checkpoints(workspace: Workspace, journal: Journal, made: Iterable[Checkpoint]) -> None:
    for checkpoint in made:
        body = {name: value for name, value in record_of(checkpoint).items() if name != "time"}
        journal.append(journal.ledger(workspace.worktree).id, Draft("checkpoint.made", body, time=checkpoint.time))


def _store_transcripts(workspace: Workspace, incoming: Incoming, run: str) -> list[str]:
    """Write transcripts into the store, where only the user reads them. A longer one of the same name stays."""
    kept = []
    for part in incoming.manifest.parts:
        if found := TRANSCRIPT.match(part.name):
            directory = workspace.here / CARRIED / ids.file_name(run)
            for place in (directory.parent, directory):
                files.make_private_directory(place)
            path = directory / found[1]
            if not path.exists() or path.stat().st_size < part.length:
                lines = b"".join(incoming.read(part.name)).split(b"\n")
                # safeguard: hide-imported-transcript
                files.write(path, b"".join(jsonl.changed(line, workspace.hide) for line in lines))
            kept.append(path_text(workspace.place / path.relative_to(workspace.here)))
    return kept
