"""Artifacts in every brief, as the setting `brief.artifacts` declares them.

The list can come with the repository, so its files must be inside the project, and its commands must be trusted.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.model import Artifact
from holdfast.core.text import path_text
from holdfast.project import settings
from holdfast.project.artifacts.protocol import COMMANDS, PATHS, SOURCES, SUMMARY, Unloadable, Wanted, find_source
from holdfast.project.trust import OWN, Executable, judge
from holdfast.project.workspace import Workspace

LIMIT = 100_000  # bytes of one
KEY = "brief.artifacts"
FILE = "markdown"


def read_artifacts(workspace: Workspace, *, runs: bool) -> tuple[list[Artifact], list[str]]:
    """Load the artifacts in the given order; also return the errors of those that cannot be loaded."""
    found: list[Artifact] = []
    missing: list[str] = []
    for kind, text in parse(workspace.settings.words(KEY)):
        source = find_source(kind)
        assert source is not None
        try:
            loaded = source.load(_wanted(workspace, kind, text, runs))
        except Unloadable as error:
            missing.append(f"{text}: {error.why}")
            continue
        origin = "files of the project" if kind in PATHS else "from a command"
        found.append(Artifact(text, loaded.text, loaded.changed, "a file of the project" if kind == FILE else origin))
        missing += [f"{text}: {note}" for note in loaded.notes if loaded.ran]
    return found, missing


def parse(words: Iterable[str]) -> list[tuple[str, str]]:
    """Parse each artifact into kind and path or command: `docs/plan.md`, `directory:docs`, `git_info:git log -5`."""
    parts = ((word, *word.partition(":")) for word in dict.fromkeys(words))
    return [(kind, text.strip()) if kind in SOURCES and text else (FILE, word) for word, kind, _, text in parts]


def executable(workspace: Workspace) -> Executable:
    """Return the project's settings as a file that can name commands."""

    def read(data: bytes) -> list[tuple[str, str]]:
        return [(KEY, text) for kind, text in parse(settings.words_in(data, KEY)) if kind in COMMANDS]

    return Executable(workspace.root / settings.PROJECT_FILE, "settings", read)


def _wanted(workspace: Workspace, kind: str, text: str, runs: bool) -> Wanted:
    wanted = Wanted(KEY, kind, workspace.root, limit=LIMIT)
    if kind in PATHS:
        wanted.path, wanted.strategy = text, "all" if kind == "directory" else SUMMARY
    else:
        wanted.command = text
    if kind in COMMANDS:
        from holdfast.project.artifacts.command import permit

        verdict = judge(workspace, [executable(workspace)], text, {OWN: path_text(workspace.root)})
        permit(wanted, verdict, workspace, runs=runs, how="`holdfast brief` runs it")
    return wanted
