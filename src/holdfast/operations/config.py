"""Look at settings and change them."""

from __future__ import annotations

from msgspec import Struct

from holdfast.core.errors import Refused, WrongUsage
from holdfast.core.text import one_line, path_text
from holdfast.project import settings as config
from holdfast.project.settings import Value
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.shared_files import Generations


class Configured(Struct):
    settings: list[Value]
    warnings: list[str]


class Set(Struct):
    key: str
    value: int | float | str
    file: str


def config_list(workspace: Workspace) -> Configured:
    """Every setting with its value and where it comes from."""
    return Configured([workspace.settings.values[key] for key in sorted(config.SETTINGS)], workspace.warnings)


def config_get(workspace: Workspace, key: str) -> Value:
    """One setting."""
    return workspace.settings.values[config.get_setting(key).key]


def _check_patterns(key: str, value: str) -> None:
    from holdfast.redaction.redactor import check_pattern, listed

    for source in listed(value):
        if why := check_pattern(source):
            facts = [("pattern", one_line(source, 100)), ("because", one_line(why, 200))]
            hints = [f"`holdfast config set {key} 'acme_[0-9a-f]{{32}}'`, for example; `\\s` stands for a space"]
            raise WrongUsage(f"The setting {key} takes patterns, and this is none", facts, hints)


def config_set(workspace: Workspace, key: str, value: str, *, for_project: bool = False) -> Set:
    """Set one setting in the user's file, or in the project's where it is harmless."""
    if for_project and not config.get_setting(key).by_project:
        raise Refused(f"The setting {key} is the user's alone", [], [f"`holdfast config set {key} {value}`"])
    if key in config.PATTERNS:
        _check_patterns(key, value)
    user_file = workspace.user_directory("config") / "config.toml"
    path = workspace.root / config.PROJECT_FILE if for_project else user_file
    files.make_private_directory(workspace.user_directory("state"))
    generations = Generations(workspace.user_directory("state") / "generations")
    return Set(key, config.write(path, key, value, generations), path_text(path))
