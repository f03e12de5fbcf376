"""Results as text: a renderer for each type of result, in a module for several modules of verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.operations.registry import Verb
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

F = TypeVar("F", bound=Callable[..., Any])

MODULES = {  # of this package: the modules of operations whose results they render
    "agents": "agent",
    "brief": "brief",
    "chat_command": "chat_command",
    "checkpoint": "checkpoint",
    "checkpoints": "checkpoints guard",
    "configuration": "config",
    "context": "budget",
    "details": "show",
    "entries": "entries",
    "history": "past_runs",
    "lists": "runs",
    "maintenance": "backup delete maintenance",
    "reports": "report",
    "restored": "restore rollback",
    "runs": "lifecycle start",
    "runs_everywhere": "runs_everywhere",
    "search": "search",
    "secrets": "scan_secrets",
    "session": "save",
    "setup": "doctor init",
    "sizes": "disk_usage",
    "status": "status",
    "steps": "step",
    "team": "team",
    "transfer": "export import_claude import_run",
    "trust": "trust",
}
HOMES = {name: module for module, names in MODULES.items() for name in names.split()}


class View(Struct, frozen=True):
    """What a renderer may need beside the result."""

    workspace: Workspace
    verb: Verb
    given: dict[str, Any]  # the arguments


Renderer = Callable[[Any, View], Said]

RENDERERS: dict[type, Renderer] = {}
PREVIEWS: dict[type, Callable[[Any], Iterable[Line]]] = {}


def renders(*types: type) -> Callable[[F], F]:
    """Register a function as the renderer of results of these types."""

    def register(function: F) -> F:
        RENDERERS.update(dict.fromkeys(types, function))
        return function

    return register


def previews(type: type) -> Callable[[F], F]:
    """Register the lines that show a result before a question about it."""

    def register(function: F) -> F:
        PREVIEWS[type] = function
        return function

    return register


def render(found: Any, view: View) -> Said:
    import_module(f"holdfast.surfaces.cli.render.{HOMES[view.verb.module]}")
    renderer = next(RENDERERS[kind] for kind in type(found).__mro__ if kind in RENDERERS)  # layouts extend results
    return renderer(found, view)


def preview_of(about: Any) -> Iterable[Line]:
    if isinstance(about, list | tuple):
        return about
    import_module("holdfast.surfaces.cli.render.restored")
    return PREVIEWS[type(about)](about)
