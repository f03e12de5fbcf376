"""Settings: list, get and set."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import Refused, WrongUsage
from holdfast.core.text import one_line, path_text
from holdfast.operations.parameters import argument, flag, option
from holdfast.operations.verb import Group, family, verb
from holdfast.project import settings as config
from holdfast.project.settings import Value
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.shared_files import Generations

family(
    "config",
    Group.SETUP,
    about="show and change settings",
    help="Show and change settings.",
    example="holdfast config list --origin",
    common=True,
)


class Configured(Struct):
    settings: list[Value]
    warnings: list[str]


class Set(Struct):
    key: str
    value: int | float | str
    file: str


@verb(
    "config list",
    example="holdfast config list --origin",
    changes=False,
    syncs=False,
    options=(flag("--origin", help="Show the origin of each value."),),
)
def config_list(workspace: Workspace) -> Configured:
    """List every setting with its value."""
    return Configured([workspace.settings.values[key] for key in sorted(config.SETTINGS)], workspace.warnings)


@verb("config get", example="holdfast config get brief.budget", changes=False, syncs=False)
def config_get(workspace: Workspace, key: Annotated[str, argument()]) -> Value:
    """Print the value of a setting."""
    return workspace.settings.values[config.get_setting(key).key]


def _check_patterns(key: str, value: str) -> None:
    from holdfast.redaction.redactor import check_pattern, listed

    for source in listed(value):
        if why := check_pattern(source):
            facts = [("pattern", one_line(source, 100)), ("because", one_line(why, 200))]
            hints = [f"`holdfast config set {key} 'acme_[0-9a-f]{{32}}'`, for example; `\\s` stands for a space"]
            raise WrongUsage(f"The setting {key} takes patterns, and this is not one", facts, hints)


@verb("config set", example="holdfast config set brief.budget 20000", syncs=False)
def config_set(
    workspace: Workspace,
    key: Annotated[str, argument()],
    value: Annotated[str, argument()],
    *,
    for_project: Annotated[bool, option("--project", help="In the project's .holdfast.toml, if it may be.")] = False,
) -> Set:
    """Change a setting. Comments in the file stay."""
    if for_project and not config.get_setting(key).by_project:
        raise Refused(
            f"The setting {key} can only be set by the user, not by a project",
            [],
            [f"`holdfast config set {key} {value}`"],
        )
    if key in config.PATTERNS:
        _check_patterns(key, value)
    user_file = workspace.user_directory("config") / "config.toml"
    path = workspace.root / config.PROJECT_FILE if for_project else user_file
    files.make_private_directory(workspace.user_directory("state"))
    generations = Generations(workspace.user_directory("state") / "generations")
    return Set(key, config.write(path, key, value, generations), path_text(path))
