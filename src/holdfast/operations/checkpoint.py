"""Creation of a checkpoint: the exact worktree, with the run's position in the journal."""

from __future__ import annotations

import os
import stat
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import Ambiguous, NotFound, Refused, WrongUsage
from holdfast.core.fold.run import interrupted
from holdfast.core.model import Checkpoint, Run
from holdfast.core.question import Choose
from holdfast.core.text import checked, count, path_text, visible
from holdfast.ingest.catch_up import establish
from holdfast.operations.parameters import RunName, argument, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.checkpoints.create import MEGABYTE, make_checkpoint, shadow_of
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace
from holdfast.worktree.capture import Shadow
from holdfast.worktree.scan import Scan, find_filtered

SHOWN = 20
FILTERED = "checkpoint.filtered"
ACTS = ("list", "show", "diff", "delete", "validate", "export")  # of `holdfast checkpoints`
KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFBLK: "a device", stat.S_IFCHR: "a device"}


class Made(Struct):
    checkpoint: Checkpoint
    filtered: list[str] = []  # files left out because a git filter would change them, until the user allows them
    left_out: dict[str, str] = {}  # path -> why it was left out
    files: int | None = None  # total; only for the first checkpoint of a worktree


def _ask_about_filters(workspace: Workspace, given: Arguments, found: Made) -> Choose | None:
    """Ask once whether checkpoints may hold the decrypted or fetched content of git-crypt and LFS files."""
    if not found.filtered or "filtered" in given or workspace.settings.text(FILTERED) != "ask":
        return None

    def act(answer: str) -> Made:
        from holdfast.operations.config import config_set

        config_set(workspace, FILTERED, answer)
        del workspace.settings
        names = {name: value for name, value in given.items() if name in ("name", "message", "run")}
        return checkpoint(workspace, **names) if answer == "keep" else found

    files = count(len(found.filtered), "file")
    return Choose(
        parameter="filtered",
        prompt="Keep their real content in checkpoints, inside this repository's .git?",
        yes="keep",
        no="skip",
        required=False,
        about=[f"{files} pass through a git filter (LFS, git-crypt), such as {found.filtered[0]}."],
        act=act,
    )


@verb(
    group=Group.BACK,
    example='holdfast checkpoint before-refactoring -m "all tests pass"',
    common=True,
    follows=_ask_about_filters,
)
def checkpoint(
    workspace: Workspace,
    name: Annotated[str | None, argument()] = None,
    *,
    message: Annotated[str | None, option("-m", "--message", metavar="TEXT", help="A description.")] = None,
    run: RunName = None,
    files: tuple[str, ...] | None = None,
) -> Made:
    """Save the exact worktree and the run's state. Prints the checkpoint's id; works without a run too."""
    for text, noun in ((name, "name"), (message, "message")):
        if text is not None:
            checked(text, noun, 200 if noun == "name" else 20_000)
    _refuse_misleading(name or "x")
    establish(workspace)
    if workspace.is_off:
        raise Refused("Holdfast is off here, so nothing is recorded", [("store", workspace.place)], ["`holdfast on`"])
    found = _run(workspace, run)
    named = [_file(workspace, file) for file in files] if files is not None else None
    with shadow_of(workspace) as shadow:
        made, scan = make_checkpoint(workspace, shadow, run=found, name=name, message=message, named=named)
        filtered = find_filtered(shadow.git, shadow.directory, scan.beside.skipped) if scan.beside.skipped else set()
        reasons = _why_skipped(workspace, scan, filtered) | _special_files(shadow, scan)
        return Made(
            made,
            sorted(path_text(os.fsdecode(path)) for path in filtered),
            {path_text(os.fsdecode(path)): why for path, why in sorted(reasons.items())},
            _count_files(shadow, made) if made.number == 1 else None,
        )


def _refuse_misleading(name: str) -> None:
    """Refuse a name that other commands would read as an id, a row, an option or a subcommand."""
    if name in ACTS:
        message = f"`{name}` is a command of `holdfast checkpoints`, not a name for a checkpoint"
        raise WrongUsage(message, [], [f"`holdfast checkpoints {name}`", "`holdfast checkpoint before-refactoring`"])
    reason = None
    if name.startswith(("cp-", "run-", "ses-")):
        reason = "looks like an id"
    elif name.isdecimal():
        reason = "is a number, which means a row of the last list"
    elif name.startswith("-"):
        reason = "looks like an option"
    elif visible(name) != name or "\n" in name or "\t" in name:
        reason = "contains invisible characters"
    if reason:
        facts = [("name", name)]
        raise WrongUsage(f"This name {reason}", facts, ["`holdfast checkpoint before-refactoring`", "leave it out"])


def _why_skipped(workspace: Workspace, scan: Scan, filtered: set[bytes]) -> dict[bytes, str]:
    limit = workspace.settings.whole("checkpoint.file_limit")
    total = workspace.settings.whole("checkpoint.total_limit")
    reasons = {}
    for path, size in scan.beside.skipped.items():
        if path in filtered:
            reasons[path] = "a git filter would change it (`checkpoint.filtered`)"
        elif size > limit * MEGABYTE:
            reasons[path] = f"{size:,} bytes, the limit is {limit:,} MB a file (`checkpoint.file_limit`)"
        elif not os.access(os.path.join(os.fsencode(workspace.root), path), os.R_OK):
            reasons[path] = "it cannot be read"
        else:
            reasons[path] = f"{size:,} bytes, the limit is {total:,} MB in all (`checkpoint.total_limit`)"
    return reasons


def _special_files(shadow: Shadow, scan: Scan) -> dict[bytes, str]:
    """Return the pipes, sockets and devices that are not ignored."""
    watch = scan.memory.watch
    reasons = {}
    for path in sorted(watch.odd if watch else ())[:SHOWN]:
        try:
            kind = KINDS.get(stat.S_IFMT(os.lstat(os.path.join(os.fsencode(shadow.root), path)).st_mode))
        except OSError:
            continue
        if kind and not shadow.ignores(path):
            reasons[path] = f"it is {kind}"
    return reasons


def _count_files(shadow: Shadow, made: Checkpoint) -> int:
    return shadow.git.run("ls-tree", "-r", "-z", "--name-only", made.tree).count(b"\0")


def _run(workspace: Workspace, name: str | None) -> Run | None:
    with workspace.reading() as journal:
        ledger = journal.ledger_of(workspace.worktree)
        if ledger is not None and ledger.unfinished:
            workspace.warnings.append(interrupted(ledger.unfinished))
        try:
            return select.get_run(workspace, journal, name)
        except (NotFound, Ambiguous):
            if name is not None:
                raise
            return None


def _file(workspace: Workspace, file: str) -> bytes:
    """Return the path of a file below the worktree, as git names it."""
    found = select.inside(workspace, file)
    if not found:
        raise WrongUsage("This is the worktree itself, not a file in it", [("file", file)], ["omit it for all files"])
    return found
