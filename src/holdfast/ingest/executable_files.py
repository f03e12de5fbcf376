"""Files of a repository that can name commands: settings of agents, and files of other systems."""

from __future__ import annotations

from pathlib import Path

from holdfast.agents.protocol import setup_of
from holdfast.agents.registry import adapters
from holdfast.layouts.registry import layouts
from holdfast.project import trust
from holdfast.project.artifacts import declared
from holdfast.project.trust import TRUSTED, Brought, Executable, look
from holdfast.project.workspace import Workspace


def find_brought(workspace: Workspace) -> list[Brought]:
    """The files of the project that name commands."""
    files = [declared.executable(workspace), *_workflows(workspace), *_settings(workspace)]
    found = (look(workspace, file) for file in files)
    return [brought for brought in found if brought is not None and brought.can_run]


def find_waiting(workspace: Workspace) -> list[str]:
    """The files whose commands for artifacts the user has not allowed in their present form."""
    found = (look(workspace, file) for file in [declared.executable(workspace), *_workflows(workspace)])
    return [brought.path for brought in found if brought and brought.can_run and brought.state != TRUSTED]


def allowed(workspace: Workspace, path: Path) -> list[str]:
    """The commands that the user has allowed in a file."""
    return trust.allowed(workspace, file_at(workspace, path))


def file_at(workspace: Workspace, path: Path) -> Executable:
    """A file by its path; outside of the project, it is a workflow."""
    known = [declared.executable(workspace), *_settings(workspace)]
    settings = next((file for file in known if file.path == path), None)
    found = (layout.find_executable(path) for layout in layouts())
    return settings or next(file for file in found if file is not None)


def find_outside(workspace: Workspace) -> list[Executable]:
    """Files outside of the project from which other systems read workflows."""
    found = [file for layout in layouts() for file in layout.executable_files(workspace, outside=True)]
    return [file for file in found if not trust.is_inside(workspace, file.path)]


def _workflows(workspace: Workspace) -> list[Executable]:
    return [file for layout in layouts() for file in layout.executable_files(workspace)]


def _settings(workspace: Workspace) -> list[Executable]:
    setup = setup_of(workspace)
    found = (agent.executable_files(setup) for agent in adapters())
    return [Executable(path, "hooks", read, is_program=True) for files in found for path, read in files.items()]
