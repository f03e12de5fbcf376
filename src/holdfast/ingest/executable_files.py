"""Files of a repository that could run something: settings of agents, and files of other systems."""

from __future__ import annotations

from pathlib import Path

from holdfast.agents.protocol import setup_of
from holdfast.agents.registry import adapters
from holdfast.layouts.registry import layouts
from holdfast.project import trust
from holdfast.project.artifacts import declared
from holdfast.project.trust import TRUSTED, Brought, Executable, look
from holdfast.project.workspace import Workspace


def find_files(workspace: Workspace) -> list[Executable]:
    """Every file of the project that may name something to be run."""
    return [declared.executable(workspace), *_workflows(workspace), *_settings(workspace)]


def find_brought(workspace: Workspace) -> list[Brought]:
    """Those that do."""
    found = (look(workspace, file) for file in find_files(workspace))
    return [brought for brought in found if brought is not None and brought.can_run]


def find_waiting(workspace: Workspace) -> list[str]:
    """The files that name a command for an artifact which the user has not allowed as it is now."""
    found = (look(workspace, file) for file in [declared.executable(workspace), *_workflows(workspace)])
    return [brought.path for brought in found if brought and brought.can_run and brought.state != TRUSTED]


def allowed(workspace: Workspace, path: Path) -> list[str]:
    """The commands of a file that the user has allowed."""
    return trust.allowed(workspace, file_at(workspace, path))


def file_at(workspace: Workspace, path: Path) -> Executable:
    """A file by its path, also outside of the project: then it is a workflow."""
    known = [declared.executable(workspace), *_settings(workspace)]
    settings = next((file for file in known if file.path == path), None)
    found = (layout.find_executable(path) for layout in layouts())
    return settings or next(file for file in found if file is not None)


def find_outside(workspace: Workspace) -> list[Executable]:
    """Files outside of the project that other systems' workflows may come from."""
    found = [file for layout in layouts() for file in layout.executable_files(workspace, outside=True)]
    return [file for file in found if not trust.is_inside(workspace, file.path)]


def _workflows(workspace: Workspace) -> list[Executable]:
    return [file for layout in layouts() for file in layout.executable_files(workspace)]


def _settings(workspace: Workspace) -> list[Executable]:
    setup = setup_of(workspace)
    found = (agent.executable_files(setup) for agent in adapters())
    return [Executable(path, "hooks", read, is_program=True) for files in found for path, read in files.items()]
