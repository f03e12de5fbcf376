"""Artifacts that the settings declare (`brief.artifacts`) and every brief carries, as far as there is room.

The list may come with the repository: its files are inside of it, and its commands run only where the user has allowed
them. What they say is quoted.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.core.model import Artifact
from holdfast.core.text import path_text
from holdfast.project import settings
from holdfast.project.artifacts.protocol import COMMANDS, KINDS, PATHS, SUMMARY, Unloadable, Wanted
from holdfast.project.trust.check import Executable, judge
from holdfast.project.trust.command_line import OWN
from holdfast.project.workspace import Workspace

LIMIT = 100_000  # bytes of one
KEY = "brief.artifacts"
FILE = "markdown"


def read_artifacts(workspace: Workspace, *, runs: bool) -> tuple[list[Artifact], list[str]]:
    """The artifacts that can be loaded, in the order given, and for each of the others why not."""
    from holdfast.project.artifacts.registry import SOURCES  # all of them are loaded, and `status` needs none

    found: list[Artifact] = []
    missing: list[str] = []
    for kind, text in parse(workspace.settings.words(KEY)):
        try:
            loaded = SOURCES[kind].load(_wanted(workspace, kind, text, runs))
        except Unloadable as error:
            missing.append(f"{text}: {error.why}")
            continue
        origin = "files of the project" if kind in PATHS else "from a command"
        found.append(Artifact(text, loaded.text, loaded.changed, "a file of the project" if kind == FILE else origin))
        missing += [f"{text}: {note}" for note in loaded.notes if loaded.ran]
    return found, missing


def parse(words: Iterable[str]) -> list[tuple[str, str]]:
    """The kind of each artifact, and its path or command: `docs/plan.md`, `directory:docs`, `git_info:git log -5`."""
    parts = ((word, *word.partition(":")) for word in dict.fromkeys(words))
    return [(kind, text.strip()) if kind in KINDS and text else (FILE, word) for word, kind, _, text in parts]


def executable(workspace: Workspace) -> Executable:
    """The project's settings, as a file that may name commands."""
    return Executable(workspace.root / settings.PROJECT_FILE, "settings", _read_commands)


def _read_commands(data: bytes) -> list[tuple[str, str]]:
    return [(KEY, text) for kind, text in parse(settings.words_in(data, KEY)) if kind in COMMANDS]


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
