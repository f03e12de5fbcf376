"""Import of an exported run, all of it or nothing; and of conversations from before a project was recorded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct, structs

from holdfast.agents import jsonl
from holdfast.agents.protocol import Agent, Head, setup_of
from holdfast.agents.registry import find_agent
from holdfast.core import ids
from holdfast.core.errors import HoldfastError, NotFound, Refused, WrongUsage
from holdfast.core.fold.run import record_of
from holdfast.core.model import Checkpoint, Draft
from holdfast.core.text import as_tuple, count, one_line, path_text
from holdfast.ingest.import_conversations import Importer, worktree_of
from holdfast.journal.journal import Journal
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.create import MEGABYTE, shadow_of
from holdfast.project.runs import tombstones
from holdfast.project.transfer import bundle, import_plan
from holdfast.project.transfer.bundle import Incoming
from holdfast.project.transfer.import_plan import Plan
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.git.repository import DIRECTORY, Entry, Repository
from holdfast.system.safe_paths import real_path
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.portable import parse_pack

BATCH = 1 << 25  # bytes of objects a pack
TRANSCRIPT = re.compile(r"transcripts/([A-Za-z0-9][A-Za-z0-9._-]{0,150}\.jsonl)\Z")
CARRIED = "carried"  # directory in the store for imported transcripts
MOST = 100  # conversations, without `--all`


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


class Skipped(Struct):
    """A transcript that was not imported."""

    file: str
    reason: str


class Imported(Struct):
    runs: list[str]  # new ones
    joined: list[str]  # existing ones that got new events
    conversations: int  # that were read
    prompts: int
    actions: int
    skipped: list[Skipped]
    left: int  # older conversations, left to `--all`
    reason: str | None = None  # why nothing was imported
    damaged: int = 0  # lines of transcripts that cannot be read and were not imported


@verb("import --claude")
def import_claude(
    workspace: Workspace,
    paths: Annotated[Sequence[str], argument(metavar="[FILE]…", kind=Kind.FILE)] = (),
    *,
    every: Annotated[bool, option("--all", help="Every conversation, not only the newest hundred.")] = False,
) -> Imported:
    """Import conversations of Claude Code from its transcripts, each as a run. With FILE, only those."""
    if workspace.exists:
        workspace.check_ours()
    adapter, named = find_agent("claude"), as_tuple(paths)
    result = Imported([], [], 0, 0, 0, [], 0)
    home, files = _files(workspace, adapter, named)
    found = _conversations(workspace, adapter, files, result, is_named=bool(named))
    chosen = found if every or named else found[-MOST:]
    result.left = len(found) - len(chosen)
    importer = Importer(workspace, adapter)
    for done, (heads, worktree) in enumerate(chosen):
        workspace.progress("importing conversations", done, len(chosen))
        _import_one(importer, heads, worktree, result)
    if not result.conversations:
        result.reason = _why_nothing(home, files, named)
    return result


def _why_nothing(home: Path, files: list[Path], named: tuple[str, ...]) -> str:
    if files:
        return f"no conversation of this project is in {count(len(files), 'transcript')}"
    place = ", ".join(named) or path_text(home)
    return f"there is no transcript of this project in {one_line(place, 200)}"


def _import_one(importer: Importer, heads: list[Head], worktree: str, result: Imported) -> None:
    try:
        taken = importer.take(heads, worktree)
    except HoldfastError as error:
        if heads[0].path.exists():
            raise
        _skip(result, heads[0].path, error.message)
        return
    if taken is None:
        _skip(result, heads[0].path, "it holds no prompt")
        return
    result.conversations += 1
    result.prompts += taken.prompts
    result.actions += taken.actions
    result.damaged += taken.damaged
    if taken.events and taken.run not in (*result.runs, *result.joined):
        (result.runs if taken.started else result.joined).append(taken.run)


def _files(workspace: Workspace, agent: Agent, named: tuple[str, ...]) -> tuple[Path, list[Path]]:
    """Return the agent's directory and the transcripts: those named, or those of this project."""
    roots = Repository(workspace.root).roots() if not named else ()
    home, found = agent.find_transcripts(setup_of(workspace), roots)
    for name in named:
        path = Path(name).absolute()
        if not path.exists():
            raise NotFound("There is no such file", [("path", path_text(path))], [f"`ls {path_text(home)}`"])
        found += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    return home, found


def _conversations(
    workspace: Workspace, agent: Agent, files: list[Path], result: Imported, *, is_named: bool
) -> list[tuple[list[Head], str]]:
    """Group transcripts by conversation, each conversation's own before its subagents', oldest conversation first."""
    heads: dict[str, list[Head]] = {}
    for done, path in enumerate(files):
        workspace.progress("reading transcripts", done, len(files))
        try:
            head = agent.read_head(path)
        except (HoldfastError, OSError) as error:
            _skip(result, path, error.message if isinstance(error, HoldfastError) else "it cannot be read")
            continue
        if head is None:
            _skip(result, path, "it holds no conversation")
        elif not is_named and tombstones.was_deleted(workspace.here, head.conversation):
            _skip(result, path, "its run was deleted; name the file to bring it back")
        else:
            heads.setdefault(head.conversation, []).append(head)
    found: list[tuple[list[Head], str]] = []
    for listed in heads.values():
        listed.sort(key=lambda head: (not head.is_main, head.changed))
        worktree = worktree_of(workspace, listed[0].directory, is_named=is_named)
        if worktree is None:
            _skip(result, listed[0].path, f"it belongs to another project: {one_line(listed[0].directory, 200)}")
        else:
            found.append((listed, worktree))
    return sorted(found, key=lambda each: max(head.changed for head in each[0]))


def _skip(result: Imported, path: Path, reason: str) -> None:
    result.skipped.append(Skipped(path_text(path), reason))
