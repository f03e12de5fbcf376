"""Artifacts of a text file, and of the text files in a directory, not recursive: all, the newest, or a summary.

For a summary, a single file larger than the limit is truncated.
"""

from __future__ import annotations

import os
import stat
from datetime import UTC, datetime
from typing import NamedTuple

from holdfast.core.text import count, format_time, one_line, path_text
from holdfast.project.artifacts.protocol import (
    SUMMARY,
    Found,
    Loaded,
    Place,
    Unloadable,
    Wanted,
    locate,
    reason,
    said,
    too_large,
)
from holdfast.system import safe_paths

STRATEGIES = ("all", "latest_only", SUMMARY)


class File(NamedTuple):
    name: str
    full: str
    size: int
    date: int  # nanoseconds


def look(wanted: Wanted) -> Found:
    shown = said(wanted.path)
    try:
        shown = locate(wanted).shown
        return Found(True, load(wanted).size, shown)
    except Unloadable as error:
        return Found(error.size is not None, error.size, shown, error.why)


def load(wanted: Wanted) -> Loaded:
    if wanted.kind != "directory":
        return _load_file(wanted)
    place = locate(wanted)
    files, notes = _list(place)
    if wanted.strategy not in STRATEGIES:
        notes.append(f"{said(wanted.strategy)}: is not a load_strategy, so all files were loaded")
    if wanted.strategy == SUMMARY:
        text = _summary(files)
        return Loaded(text, len(text.encode()), place.shown, notes=notes)
    latest = wanted.strategy == "latest_only"
    texts, size = _read(_newest_first(files) if latest else files, wanted.limit, notes, 1 if latest else None)
    above = "" if place.shown == "." else f"{place.shown}/"
    parts = [f"--- {above}{name}\n{text}{'' if text.endswith(chr(10)) else chr(10)}" for name, text in texts]
    newest = safe_paths.changed(_newest_first(files)[0].full) if files else None
    return Loaded("\n".join(parts), size, place.shown, changed=newest, notes=notes)


def _load_file(wanted: Wanted) -> Loaded:
    place = locate(wanted)
    try:
        data, size = safe_paths.read(place.full, wanted.limit + 1)
        if len(data) > wanted.limit:
            if wanted.strategy != SUMMARY:
                raise too_large(size, wanted.limit)
            data = data[: wanted.limit]
        changed = safe_paths.changed(place.full)
        return Loaded(safe_paths.decode(data), size, place.shown, whole=len(data) == size, changed=changed)
    except (OSError, ValueError) as error:
        raise Unloadable(reason(error), missing=isinstance(error, FileNotFoundError)) from error


def _list(place: Place) -> tuple[list[File], list[str]]:
    """List the regular files of a directory, with notes on others. Subdirectories are skipped."""
    files: list[File] = []
    notes: list[str] = []
    try:
        names = sorted(os.listdir(place.full))
    except NotADirectoryError as error:
        raise Unloadable("is not a directory") from error
    except OSError as error:
        raise Unloadable(reason(error)) from error
    for name in names:
        try:
            full = safe_paths.resolve(place.root, os.path.join(place.path, name)).full
            status = os.stat(full)
        except (OSError, ValueError) as error:
            notes.append(f"{_shown(name)}: {reason(error)}")
            continue
        if stat.S_ISREG(status.st_mode):
            files.append(File(name, full, status.st_size, status.st_mtime_ns))
        elif not stat.S_ISDIR(status.st_mode):
            notes.append(f"{_shown(name)}: is not a regular file")
    return files, notes


def _read(files: list[File], limit: int, notes: list[str], most: int | None) -> tuple[list[tuple[str, str]], int]:
    """Read files, with their total size; unreadable ones are noted."""
    texts: list[tuple[str, str]] = []
    size = 0
    for file in files:
        try:
            data, _ = safe_paths.read(file.full, limit - size + 1)
            text = safe_paths.decode(data)
        except (OSError, ValueError) as error:
            notes.append(f"{_shown(file.name)}: {reason(error)}")
            continue
        size += len(data)
        if size > limit:
            raise too_large(file.size if most == 1 else sum(file.size for file in files), limit)
        texts.append((_shown(file.name), text))
        if len(texts) == most:
            break
    return texts, size


def _newest_first(files: list[File]) -> list[File]:
    return sorted(files, key=lambda file: (file.date, file.name), reverse=True)


def _summary(files: list[File]) -> str:
    total = f"{count(len(files), 'file')}, {count(sum(file.size for file in files), 'byte')}\n"
    newest = _newest_first(files)[:1]
    for file in newest:
        try:
            date = format_time(datetime.fromtimestamp(file.date // 10**9, UTC), seconds=True)
        except (OverflowError, ValueError, OSError):  # an mtime can be outside of the calendar
            date = "at an unknown time"
        total += f"newest: {_shown(file.name)}, {date}\n"
    return total


def _shown(name: str) -> str:
    return one_line(path_text(name))
