"""The kinds of artifact, and the source that loads each."""

from __future__ import annotations

from holdfast.sources import command, directory, document, repository
from holdfast.sources.protocol import Source

SOURCES: dict[str, Source] = {
    "json": document,
    "markdown": document,
    "directory": directory,
    "work_plugin": command,
    "skill": command,
    "git_info": repository,
}


def find_source(kind: str) -> Source | None:
    """The source of a kind of artifact, or None where nobody knows it."""
    return SOURCES.get(kind)
