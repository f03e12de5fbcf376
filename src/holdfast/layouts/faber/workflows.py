"""FABER's workflow definitions: their places, and the critical artifacts of one with those that it extends.

A definition comes with a repository or a plugin, so nothing in it is trusted: malformed entries are skipped with a
warning. Nothing here writes or runs anything.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from holdfast.agents.claude.installed import config_directory
from holdfast.core.errors import WorkflowError
from holdfast.core.text import one_line, path_text, sound_text
from holdfast.layouts.faber.schema import check_run_id
from holdfast.layouts.json_file import Unreadable, object_of, parse_json, read_json
from holdfast.project.artifacts.protocol import COMMANDS
from holdfast.project.trust import FILE_LIMIT, Executable
from holdfast.project.workspace import Workspace
from holdfast.system.safe_paths import real_path

NAMESPACE = "fractary-faber"
CUSTOM = (".fractary/faber/workflows", ".fractary/plugins/faber/workflows")
BUILT_IN = ("config/workflows", ".fractary/faber/workflows")  # in the plugin
IN_ITS_OWN_REPOSITORY = "plugins/faber"
MARKETPLACE = "plugins/marketplaces/fractary-faber/plugins/faber"
ANCESTORS = 10
WIDTH = 80

LISTS = ("always_load", "conditional_load")
BY_PHASE = "phase_specific"
SUFFIX = ".json"

Place = tuple[str, str]  # a list of the block, and the phase where it is one of several
Entry = tuple[Place, dict[str, Any]]
Seen = tuple[Place, str]


class Workflow(NamedTuple):
    """The merged block of critical artifacts, or None; the paths that were tried; warnings."""

    artifacts: dict[str, Any] | None
    tried: list[str]
    warnings: list[str]
    files: tuple[Path, ...] = ()  # the definition and those that it extends


def plugin_root(environ: Mapping[str, str], setting: str) -> Path | None:
    """The directory of FABER's plugin: the setting, or Claude Code's default; None for a relative path."""
    home = environ.get("HOME") or os.path.expanduser("~")
    text = setting.strip()
    text = home + text[1:] if text == "~" or text.startswith("~/") else text
    path = Path(text) if text else config_directory(environ) / MARKETPLACE
    return path if path.is_absolute() else None


def plugin_of(workspace: Workspace) -> Path | None:
    return plugin_root(workspace.environ, workspace.settings.text("faber.plugin_root"))


def find_workflow(root: Path, plugin_root: Path | None, workflow_id: str) -> Workflow:
    """Find a workflow and merge its critical artifacts with those that it extends; its own replace equal ids."""
    search = _Search(root, plugin_root)
    chain = search.chain(workflow_id)
    files = tuple(path for path, _ in chain)
    blocks = [entries for path, definition in chain if (entries := search.block(path, definition)) is not None]
    if not blocks:
        return Workflow(None, search.tried, search.warnings, files)
    merged = blocks[-1]
    for child in reversed(blocks[:-1]):
        merged = merge(merged, child)
    return Workflow(_as_block(merged), search.tried, search.warnings, files)


def executable_files(workspace: Workspace, *, outside: bool = False) -> list[Executable]:
    """List the files in which a workflow of the project, or of FABER's plugin, may be defined."""
    search, found = _Search(workspace.root, plugin_of(workspace) if outside else None), list[Path]()
    for directory in search.custom + search.built_in:
        with contextlib.suppress(OSError):
            names = sorted(name for name in os.listdir(directory) if name.endswith(SUFFIX))
            found += [directory / name for name in names if search.is_at_home(directory, directory / name)]
    return [find_executable(path) for path in found]


def find_executable(path: Path) -> Executable:
    return Executable(path, "workflow", functools.partial(read_commands, path))


def read_commands(path: Path, data: bytes) -> list[tuple[str, str]]:
    """List the commands of a definition with the ids of their artifacts; none if it cannot be read."""
    try:
        definition = parse_json(path, data).value
    except Unreadable:
        return []
    entries = _Search(path.parent, None).block(path, definition) or []
    artifacts = [artifact for _, artifact in entries if artifact.get("type") in COMMANDS]
    commands = [(artifact["id"], artifact.get("command")) for artifact in artifacts]
    return [(id, sound_text(command)) for id, command in commands if isinstance(command, str) and command.strip()]


def merge(parent: list[Entry], child: list[Entry]) -> list[Entry]:
    """Merge by id: the child's entry takes the place of the parent's, or the end of another list."""
    own = {_key(entry): entry for entry in child}
    ids = {entry[1]["id"] for entry in child}
    kept = [own.get(_key(entry), entry) for entry in parent if _key(entry) in own or entry[1]["id"] not in ids]
    there = set(map(_key, kept))
    return kept + [entry for entry in child if _key(entry) not in there]


def _key(entry: Entry) -> Seen:
    return entry[0], entry[1]["id"]


def _as_block(entries: list[Entry]) -> dict[str, Any]:
    block: dict[str, Any] = {**{name: [] for name in LISTS}, BY_PHASE: {}}
    for (name, phase), artifact in entries:
        found = block[BY_PHASE].setdefault(phase, []) if name == BY_PHASE else block[name]
        found.append(artifact)
    return block


class _Search:
    """A search for definitions in every place, with the paths that were tried and the warnings."""

    def __init__(self, root: Path, plugin_root: Path | None) -> None:
        self.root = root
        self.tried: list[str] = []
        self.warnings: list[str] = []
        self.custom = [root / name for name in CUSTOM]
        plugins = [root / IN_ITS_OWN_REPOSITORY, *([plugin_root] if plugin_root else [])]
        self.built_in = [plugin / name for plugin in plugins for name in BUILT_IN]

    def chain(self, workflow_id: str) -> list[tuple[Path, dict[str, Any]]]:
        """The definition and those that it extends, in turn."""
        found: list[tuple[Path, dict[str, Any]]] = []
        wanted: object = workflow_id
        while wanted is not None and len(found) < ANCESTORS:
            name = one_line(str(wanted), WIDTH)
            definition = self.find(wanted) if isinstance(wanted, str) else None
            if definition is None:
                if found:
                    self._warn(found[-1][0], f"it extends {name}, which is not found")
                return found
            if definition[0] in [path for path, _ in found]:
                self._warn(found[-1][0], f"it extends {name}, which extends it in turn")
                return found
            found.append(definition)
            wanted = definition[1].get("extends")
        return found

    def find(self, workflow_id: str) -> tuple[Path, dict[str, Any]] | None:
        for directory, name in self._places(workflow_id):
            path = directory / f"{name}{SUFFIX}"
            if (text := path_text(path)) not in self.tried:
                self.tried.append(text)
            if (definition := self._read(directory, path)) is not None:
                return path, definition
        return None

    def _places(self, workflow_id: str) -> list[tuple[Path, str]]:
        """The directories and names to try; for a name in FABER's namespace, its built-in ones first."""
        try:
            wanted = check_run_id(workflow_id)
        except WorkflowError as error:
            self.warnings.append(
                f"The workflow {one_line(workflow_id, WIDTH)} is not looked for: {dict(error.facts)['Error']}"
            )
            return []
        namespace, colon, name = wanted.rpartition(":")
        if colon and namespace == NAMESPACE and name:
            return [(directory, name) for directory in self.built_in + self.custom]
        plain = [(directory, name if colon and name else wanted) for directory in self.custom + self.built_in]
        if not colon and wanted.startswith(NAMESPACE + "-"):
            short = wanted.removeprefix(NAMESPACE + "-")
            return plain + [(directory, short) for directory in self.built_in + self.custom if short]
        return plain

    def _read(self, directory: Path, path: Path) -> dict[str, Any] | None:
        try:
            file = read_json(path, FILE_LIMIT)
        except Unreadable as error:
            if not error.is_missing:
                self._warn(path, error.why)
            return None
        if not self.is_at_home(directory, path):  # safeguard: linked-workflow
            self._warn(path, "it lies outside the directory of workflows")
            return None
        return file.value

    def is_at_home(self, directory: Path, path: Path) -> bool:
        """Return whether a definition is in its directory, and a project's in the project, all links followed."""
        real, home = real_path(path), real_path(directory)
        project = real_path(self.root)
        is_ours = self.root in directory.parents
        return real.startswith(home + os.sep) and (not is_ours or home.startswith(project + os.sep))

    def block(self, path: Path, definition: dict[str, Any]) -> list[Entry] | None:
        """The artifacts of a definition, each with its place; None if it declares none."""
        block = definition.get("critical_artifacts")
        if block is None:
            return None
        if not isinstance(block, dict):
            self._warn(path, "critical_artifacts is no object")
            return None
        by_phase = block.get(BY_PHASE)
        if by_phase is not None and not isinstance(by_phase, dict):
            self._warn(path, f"{BY_PHASE} is no object")
        lists = [((name, ""), block.get(name)) for name in LISTS]
        lists += [((BY_PHASE, phase), listed) for phase, listed in object_of(by_phase).items()]
        seen: dict[Seen, Entry] = {}
        for place, listed in lists:
            for artifact in self._artifacts(path, place, listed):
                if (place, artifact["id"]) in seen:
                    self._warn(path, f"{_shown(artifact['id'])} stands twice in {_named(place)}; the first one counts")
                seen.setdefault((place, artifact["id"]), (place, artifact))
        return list(seen.values())

    def _artifacts(self, path: Path, place: Place, listed: object) -> list[dict[str, Any]]:
        if listed is None:
            return []
        if not isinstance(listed, list):
            self._warn(path, f"{_named(place)} is no array")
            return []
        fit = [item for item in listed if isinstance(item, dict) and isinstance(item.get("id"), str) and item["id"]]
        if len(fit) < len(listed):
            self._warn(path, f"{len(listed) - len(fit)} of {_named(place)} have no id and are passed over")
        return fit

    def _warn(self, path: Path, what: str) -> None:
        self.warnings.append(f"{path_text(path)}: {what}")


def _named(place: Place) -> str:
    return f"{place[0]}.{_shown(place[1])}" if place[1] else place[0]


def _shown(text: str) -> str:
    return one_line(text, WIDTH)
