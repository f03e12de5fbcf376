"""Scan for secrets: those hidden in the journal, those that an older version stored, and those in files or code."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import HoldfastError
from holdfast.core.model import Checkpoint
from holdfast.core.text import path_text
from holdfast.operations.parameters import argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.checkpoints.create import shadow_of
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace, note_rescanned
from holdfast.redaction.patterns import MARKS
from holdfast.redaction.regex import compiled
from holdfast.redaction.unmask import texts
from holdfast.system import files
from holdfast.worktree.capture import Shadow

MOST = 1_000  # secrets that are listed
MOST_FILES = 100_000
LARGEST = 16 << 20
BINARY = 8192  # bytes to search for the zero byte of a binary file
OTHERS = {".git", ".hg", ".svn", "node_modules", ".venv"}


class Secret(Struct):
    kind: str
    where: str  # run and event, or file and line
    length: int  # in characters; the secret itself is never shown
    run: str | None = None


class Scanned(Struct):
    target: str  # a run, a path, or "the journal"
    events: int  # that were scanned
    files: int
    skipped: int  # files that are binary, too large or unreadable
    hidden: dict[str, int]  # marks in the journal in place of secrets: kind -> how many
    secrets: list[Secret]  # in plain text
    more: int  # secrets beyond those that are listed
    checkpoints: int = 0  # with code
    code: int | None = None  # distinct files in them that were scanned; null without `--code`


@verb(group=Group.CARE, example="holdfast scan src", about="scan the journal, files or code for secrets", changes=False)
def scan(
    workspace: Workspace,
    target: Annotated[str | None, argument(metavar="[RUN|PATH]")] = None,
    *,
    code: Annotated[bool, option(help="Scan the code in checkpoints too.")] = False,
) -> Scanned:
    """Count hidden secrets in the journal and find those an older version stored; or find the secrets of a file.

    Of a secret only its kind, place and length are printed.
    """
    run = _find_run(workspace, target)
    if target is not None and run is None:
        return _scan_files(workspace, Path(target))
    result = _scan_events(workspace, run)
    with workspace.reading() as journal:
        checkpoints = list(journal.list_checkpoints(run=run))
    result.checkpoints = len(checkpoints)
    if code:
        _scan_code(workspace, checkpoints, result)
    if run is None:
        note_rescanned(workspace)
    return result


def _find_run(workspace: Workspace, target: str | None) -> str | None:
    """Return the run to scan; None for a path or for everything."""
    if target is None:
        return None
    if not workspace.exists and os.path.lexists(target):
        return None
    with workspace.reading() as journal:
        if (known := journal.find_run(target)) is not None:
            return known.id
        return None if os.path.lexists(target) else select.get_run(workspace, journal, target).id


def _scan_events(workspace: Workspace, run: str | None) -> Scanned:
    result = Scanned(run or "the journal", 0, 0, 0, {}, [], 0)
    hidden: Counter[str] = Counter()
    marks = compiled(MARKS)
    with workspace.reading() as journal:
        runs = [run] if run else sorted(journal.view.all_run_ids())
        total = sum(journal.get_run(name).seq for name in runs)
        for event in itertools.chain.from_iterable(map(journal.events, runs)):  # forgotten events too
            result.events += 1
            for place, text in texts(event.body):
                data = text.encode("utf-8", "surrogatepass")
                hidden.update(data[slice(*found.span())].decode()[10:-1] for found in marks.finditer(data))
                where = f"{event.run} event {event.seq}, at {'.'.join(map(str, filter(None, place)))}"
                _add(result, _secrets(workspace, place, text, where, event.run))
            if result.events % 1000 == 0 or result.events == total:
                workspace.progress("scanning events", result.events, total)
    result.hidden = dict(sorted(hidden.items()))
    return result


def _secrets(workspace: Workspace, place: tuple[str | int, ...], text: str, where: str, run: str) -> Iterator[Secret]:
    name = place[-1] if place and isinstance(place[-1], str) and place[-1] else None
    counts = workspace.redactor.clean({name: text} if name else text)[1]
    if not counts:
        return
    found = workspace.redactor.find(text)
    yield from (Secret(one.kind, where, one.length, run) for one in found)
    if not found:  # known by the name of the member, or inside JSON in the text
        yield from (Secret(kind, where, len(text), run) for kind in counts.elements())


def _add(result: Scanned, found: Iterator[Secret]) -> None:
    for secret in found:
        if len(result.secrets) < MOST:
            result.secrets.append(secret)
        else:
            result.more += 1


def _scan_files(workspace: Workspace, path: Path) -> Scanned:
    result = Scanned(path_text(path), 0, 0, 0, {}, [], 0)
    for number, file in zip(range(1, MOST_FILES + 1), _files(path), strict=False):
        result.files += _scan_text(workspace, _read(file), path_text(file), result)
        if number % 100 == 0:
            workspace.progress("scanning files", number, 0)
    return result


def _scan_code(workspace: Workspace, checkpoints: list[Checkpoint], result: Scanned) -> None:
    """Scan each distinct file of the checkpoints once: most are the same in many of them."""
    seen = set[str]()
    code = 0
    with shadow_of(workspace) as shadow:
        for number, checkpoint in enumerate(checkpoints, 1):
            for blob, path in _blobs(shadow, checkpoint.tree):
                if blob not in seen:
                    seen.add(blob)
                    where = f"checkpoint {checkpoint.id}, {path}"
                    code += _scan_text(workspace, shadow.reader.read(blob), where, result)
            workspace.progress("scanning checkpoints", number, len(checkpoints))
    result.code = code


def _scan_text(workspace: Workspace, data: bytes | None, where: str, result: Scanned) -> bool:
    """Scan a text file; anything else is counted as skipped."""
    if data is None or len(data) > LARGEST or b"\0" in data[:BINARY]:
        result.skipped += 1
        return False
    found = workspace.redactor.find(data.decode("utf-8", "replace"))
    _add(result, (Secret(one.kind, f"{where}:{one.line}", one.length) for one in found))
    return True


def _blobs(shadow: Shadow, tree: str) -> Iterator[tuple[str, str]]:
    """List the blobs of a tree, each with its path; none if the tree is lost."""
    try:
        listed = shadow.git.run("ls-tree", "-r", "-z", "--full-tree", tree)
    except HoldfastError:
        return
    for line in listed.split(b"\0"):
        about, _, path = line.partition(b"\t")
        if b" blob " in about:
            yield about.split()[2].decode(), path_text(os.fsdecode(path))


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir() or path.is_symlink():
        yield path
        return
    for directory, below, names in os.walk(path):
        below[:] = sorted(name for name in below if name not in OTHERS)
        yield from (Path(directory, name) for name in sorted(names))


def _read(path: Path) -> bytes | None:
    try:
        return files.read(path, LARGEST)
    except HoldfastError:  # unreadable or too large
        return None
