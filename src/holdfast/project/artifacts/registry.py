"""The kinds of artifact, and the source that loads each."""

from __future__ import annotations

from holdfast.project.artifacts import command, directory, file, git_info
from holdfast.project.artifacts.protocol import Source

SOURCES: dict[str, Source] = {
    "json": file,
    "markdown": file,
    "directory": directory,
    "work_plugin": command,
    "skill": command,
    "git_info": git_info,
}


def find_source(kind: str) -> Source | None:
    """The source of a kind of artifact, or None where nobody knows it."""
    return SOURCES.get(kind)
