"""Go back: checkpoint, checkpoints, diff, restore, undo, redo, guard, bisect."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from holdfast.cli import words
from holdfast.cli.command import Said, confirm, run_option, verb, yes_option
from holdfast.cli.words import Line, ago
from holdfast.errors import WrongUsage
from holdfast.operations import (
    checkpoint as making,
    checkpoints as looking,
    configure,
    guard as guarding,
    restore as restoring,
)
from holdfast.returning import Restored
from holdfast.text import count, one_line
from holdfast.workspace import Workspace

COMMAND = click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND…")
SHOWN = 20
FILTERED = "checkpoint.filtered"


@verb('holdfast checkpoint before-refactoring -m "all tests pass"')
@click.argument("name", required=False)
@click.option("-m", "--message", metavar="TEXT", help="What is worth remembering about it.")
@run_option
def checkpoint(workspace: Workspace, name: str | None, message: str | None, run: str | None) -> Said:
    """Keep the exact worktree and the run's state. Prints the checkpoint's id; works without a run too."""
    found = making.checkpoint(workspace, name, message=message, run=run)
    if found.filtered and _asked_to_keep(workspace, found.filtered):
        found = making.checkpoint(workspace, name, message=message, run=run)
    made = found.checkpoint
    talk: list[Line] = [f"Kept {count(made.changes, 'changed file')} since the last checkpoint"]
    talk += [("warn", f"Not kept: {one_line(path)}") for path in made.skipped[:SHOWN]]
    if found.filtered:
        talk.append(
            f"{len(found.filtered)} of them are behind a filter: `holdfast config set {FILTERED} keep` keeps them"
        )
    return Said(found, [made.id], talk)


def _asked_to_keep(workspace: Workspace, paths: list[str]) -> bool:
    """Ask once whether what LFS or git-crypt hides from git may be kept as it stands in the worktree."""
    if workspace.settings.values[FILTERED].value != "ask" or not sys.stdin.isatty():
        return False
    words.emit(
        [f"{count(len(paths), 'file')} pass through a git filter (LFS, git-crypt), such as {paths[0]}."], sys.stderr
    )
    keep = click.confirm("Keep their real content in checkpoints, inside this repository's .git?", err=True)
    configure.config_set(workspace, FILTERED, "keep" if keep else "skip")
    del workspace.settings
    return keep


@verb("holdfast checkpoints --touching src/client.py")
@click.option("--touching", metavar="PATH", help="Only those in which this file or directory changed.")
@run_option
@click.option("--limit", type=click.IntRange(1, 100_000), metavar="N", help="At most N rows.")
def checkpoints(workspace: Workspace, touching: str | None, run: str | None, limit: int | None) -> Said:
    """Checkpoints of this worktree, newest first."""
    found = looking.checkpoints(workspace, touching=touching, run=run, limit=limit)
    if not found.checkpoints:
        return Said(found, talk=["No checkpoint yet."])
    rows = [
        [str(number), made.id, made.kind, ago(made.time), str(made.changes), made.name or made.message or ""]
        for number, made in enumerate(found.checkpoints, 1)
    ]
    return Said(found, lambda: words.table(["#", "checkpoint", "kind", "made", "files", "what"], rows))


@verb("holdfast diff cp-4x9k2m7pq3 src/client.py")
@click.argument("a")
@click.argument("rest", nargs=-1, metavar="[B] [PATH…]")
def diff(workspace: Workspace, a: str, rest: tuple[str, ...]) -> Said:
    """What differs between two checkpoints, or between one and the worktree: the code, and what the run learned."""
    b = rest[0] if rest and rest[0].startswith("cp-") else None
    found = looking.diff(workspace, a, b, rest[1:] if b else rest)
    return Said(found, found.code.splitlines(), [f"run: {line}" for line in found.state])


@verb("holdfast restore cp-4x9k2m7pq3 src/client.py")
@click.argument("checkpoint", required=False)
@click.argument("paths", nargs=-1, metavar="[PATH…]")
@click.option("--code", "what", flag_value="code", default="code", help="The worktree (the default).")
@click.option("--state", "what", flag_value="state", help="What the run knows.")
@click.option("--both", "what", flag_value="both", help="Both.")
@click.option("--index", is_flag=True, help="Also what was staged in git then.")
@click.option("--dry-run", is_flag=True, help="Only say what would change.")
@click.option("--force", is_flag=True, help="Also over what another living session has changed.")
@click.option("--continue", "go_on", is_flag=True, help="Finish a restore that was killed.")
@click.option("--undo", "take_back", is_flag=True, help="Take back a restore that was killed.")
@yes_option
def restore(
    workspace: Workspace,
    checkpoint: str | None,
    paths: tuple[str, ...],
    what: str,
    index: bool,
    dry_run: bool,
    force: bool,
    go_on: bool,
    take_back: bool,
    yes: bool,
) -> Said:
    """Make the worktree equal to a checkpoint. What is there now is kept first, so `holdfast undo` takes it back."""
    if go_on or take_back:
        act = restoring.continue_restore if go_on else restoring.undo_restore
        return _said(act(workspace))
    if checkpoint is None:
        raise WrongUsage("Which checkpoint?", [], ["`holdfast checkpoints` lists them"])
    options = {"code": what != "state", "state": what != "code", "index": index, "force": force}
    if not dry_run and not yes and sys.stdin.isatty():
        planned = restoring.restore(workspace, checkpoint, paths, **options, dry_run=True)
        words.emit(_changes(planned), sys.stderr)
        confirm("Go back?", yes, f"holdfast restore {checkpoint}")
    return _said(restoring.restore(workspace, checkpoint, paths, **options, dry_run=dry_run))


@verb("holdfast undo")
def undo(workspace: Workspace) -> Said:
    """Take back the last restore: every byte and every mode."""
    return _said(restoring.undo(workspace))


@verb("holdfast redo")
def redo(workspace: Workspace) -> Said:
    """Do again what `holdfast undo` took back."""
    return _said(restoring.redo(workspace))


@verb("holdfast guard --auto -- pytest -q", context_settings={"ignore_unknown_options": True})
@click.option("--auto", is_flag=True, help="Where it fails, go back without asking.")
@COMMAND
def guard(workspace: Workspace, auto: bool, command: tuple[str, ...]) -> Said:
    """Run a command. Where it passes, keep that state; where it fails, offer the way back to it. Exits as it does."""
    found = guarding.guard(workspace, command, auto=auto)
    if found.code == 0 and found.passed:
        return Said(found, [found.passed.id], ["It passes; this state is kept."])
    if found.restored:
        return Said(
            found, talk=[f"It fails; back at {found.restored.to}. `holdfast undo` takes that back."], code=found.code
        )
    if found.passed is None:
        return Said(found, talk=["It fails, and no checkpoint is known at which it passed."], code=found.code)
    way = f"holdfast restore {found.passed.id}"
    if sys.stdin.isatty() and click.confirm(f"It fails. Go back to {found.passed.id}, where it passed?", err=True):
        found.restored = restoring.restore(workspace, found.passed.id)
        return Said(found, talk=["Back. `holdfast undo` takes that back."], code=found.code)
    return Said(
        found, talk=[f"It fails. It passed at {found.passed.id}, {ago(found.passed.time)}: `{way}`"], code=found.code
    )


@verb("holdfast bisect -- pytest -q tests/test_client.py", context_settings={"ignore_unknown_options": True})
@click.option("--good", metavar="CHECKPOINT", help="Where it passed; else the oldest.")
@click.option("--bad", metavar="CHECKPOINT", help="Where it failed; else the newest.")
@COMMAND
def bisect(workspace: Workspace, good: str | None, bad: str | None, command: tuple[str, ...]) -> Said:
    """Find the first checkpoint at which a command fails. The worktree is put back as it was."""
    found = guarding.bisect(workspace, command, good=good, bad=bad)
    bad_one = found.first_bad
    talk = [f"First bad of {found.tried} tried: {one_line(bad_one.name or bad_one.message or bad_one.kind, 80)}"]
    return Said(found, [bad_one.id], [*talk, f"See what it changed: `holdfast diff {found.last_good.id} {bad_one.id}`"])


def _said(found: Restored) -> Said:
    data: list[Line] = [found.to] if not found.dry_run else []
    return Said(found, data, list(_changes(found)))


def _changes(found: Restored) -> Iterator[Line]:
    if found.dry_run:
        yield f"Would change {count(len(found.paths), 'file')}:"
        for path in found.paths[:SHOWN]:
            yield f"  {one_line(path)}"
        if len(found.paths) > SHOWN:
            yield f"  and {len(found.paths) - SHOWN} more"
        return
    yield f"Back at {found.to}: {found.written} written, {found.removed} removed; `holdfast undo` takes it back"
    for path in found.moved_aside:
        yield ("warn", f"Was in the way and is kept in the store's aside/: {one_line(path)}")
