"""Whether a way back brings everything back: one kind of change at a time, and every path is looked at afterwards."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from bench.ground import command
from bench.peers import Peer
from bench.report import Measure, Report
from bench.repositories import copies, git, make_repository, name, take_up
from bench.timing import Failed, process

FILES = 50
FILE, PRIVATE, LINK, EMPTY = name(0), name(1), "link", "empty"


def _instead(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


CASES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a deleted file": (FILE, Path.unlink),
    "the executable bit": (FILE, lambda path: path.chmod(0o755)),
    "other permission bits": (PRIVATE, lambda path: path.chmod(0o644)),
    "a file that became a directory": (FILE, lambda path: _instead(path, Path.mkdir)),
    "a symbolic link": (LINK, lambda path: _instead(path, lambda new: new.symlink_to("elsewhere"))),
    "an empty directory": (EMPTY, Path.rmdir),
    "a created file": ("created.txt", lambda path: path.write_text("created")),
    "a created file whose name is not ASCII": ("créé.txt", lambda path: path.write_text("created")),
}


def measure(report: Report, directory: Path, peers: list[Peer]) -> None:
    """How many of the kinds of change each does not take back; which ones is said below the table."""
    first = make_repository(directory / "first", FILES)
    _furnish(first)
    names = ["holdfast", *(peer.name for peer in peers)]
    lost: dict[str, list[str]] = {label: [] for label in names}
    for number, kind in enumerate(CASES):
        places = copies(first, [f"{label}-{number}" for label in names])
        ours, theirs = places.pop(f"holdfast-{number}"), list(places.values())
        lost["holdfast"] += _lost(ours, kind, command("restore", take_up(ours), "--yes", "-q"))
        for peer, place in zip(peers, theirs, strict=True):
            _in(place, peer.checkpoint)
            lost[peer.name] += _lost(place, kind, peer.restore)
    for label, kinds in lost.items():
        beginning = (
            f"kinds of change, of {len(CASES)}, that `holdfast restore`" if label == "holdfast" else f"… {label}"
        )
        report.measures.append(
            Measure(f"{beginning} does not take back", len(kinds), 0 if label == "holdfast" else None)
        )
        if kinds:
            report.figures.append(f"{label} does not bring back: {', '.join(kinds)}")


def _furnish(project: Path) -> None:
    """What only a careful checkpoint keeps."""
    (project / PRIVATE).chmod(0o600)
    (project / LINK).symlink_to(FILE)
    (project / EMPTY).mkdir()
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "furnished")


def _lost(project: Path, kind: str, way: list[str]) -> list[str]:
    """The kind, where something in the project is not as it was before the change."""
    path, change = CASES[kind]
    before = _everything(project)
    change(project / path)
    try:
        _in(project, way)
    except Failed:
        return [f"{kind} (it fails)"]
    return [] if _everything(project) == before else [kind]


def _in(project: Path, arguments: list[str]) -> None:
    with contextlib.chdir(project):
        process(arguments)


def _everything(project: Path) -> dict[str, tuple[int, bytes]]:
    """Every path outside the git directory with its mode and content."""
    found: dict[str, tuple[int, bytes]] = {}
    for place, directories, names in os.walk(project):
        if Path(place) == project:
            directories.remove(".git")
        for path in (Path(place, each) for each in [*directories, *names]):
            found[str(path)] = path.lstat().st_mode, _content(path)
    return found


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return os.fsencode(os.readlink(path))
    return b"" if path.is_dir() else path.read_bytes()
