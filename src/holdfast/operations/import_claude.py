"""Import of Claude Code's transcripts: conversations of this project from before it was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from holdfast.agents.protocol import Agent, Head, setup_of
from holdfast.agents.registry import find_agent
from holdfast.core.errors import HoldfastError, NotFound
from holdfast.core.text import as_tuple, count, one_line, path_text
from holdfast.ingest.import_conversations import Importer, worktree_of
from holdfast.operations.parameters import Kind, argument, option
from holdfast.operations.verb import verb
from holdfast.project.runs import tombstones
from holdfast.project.workspace import Workspace
from holdfast.system.git.repository import Repository

MOST = 100  # conversations, without `--all`


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
