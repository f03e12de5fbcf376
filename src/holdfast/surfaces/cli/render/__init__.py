"""Results as text: a renderer for each type of result, in a module for several modules of verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.operations.registry import Verb
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.runner import Said
from holdfast.surfaces.cli.terminal import Line

F = TypeVar("F", bound=Callable[..., Any])

MODULES = {  # of this package: the modules of operations whose results they render
    "checkpoints": "checkpoint checkpoints restore rewind",
    "details": "show status",
    "entries": "chat_command context entries step team",
    "maintenance": "export import_run maintenance scan_secrets",
    "resume": "resume results",  # of layouts
    "runs": "lifecycle run runs search start",
    "setup": "config doctor init trust",
}
HOMES = {name: module for module, names in MODULES.items() for name in names.split()}


class View(Struct, frozen=True):
    """The context of a renderer, beside the result."""

    workspace: Workspace
    verb: Verb
    given: dict[str, Any]  # the arguments


Renderer = Callable[[Any, View], Said]
Words = Sequence[Any]  # the data, a word or lines; then what is said about it

RENDERERS: dict[str, Renderer] = {}  # by the module and the name of the type, which is not loaded for that
PREVIEWS: dict[str, Callable[[Any], Iterable[Line]]] = {}


def renders(function: F) -> F:
    """Register a function as the renderer of the type that its first parameter is annotated with."""
    RENDERERS[function.__annotations__["found"]] = function
    return function


def previews(function: F) -> F:
    """Register a function that makes lines of a result before a question about it."""
    PREVIEWS[function.__annotations__["found"]] = function
    return function


def shows(function: F) -> F:
    """Register a function that makes the lines of standard output from the result, which are all there is to say."""
    RENDERERS[function.__annotations__["found"]] = lambda found, view: Said(found, list(function(found)))
    return function


def say(words: Mapping[str, Callable[[Any], Words]]) -> None:
    """Register renderers of results that are a word, or some lines, and a sentence or two."""
    for kind, words_of in words.items():
        RENDERERS[kind] = _renderer(words_of)


def _renderer(words_of: Callable[[Any], Words]) -> Renderer:
    def render_words(found: Any, view: View) -> Said:
        data, *talk = words_of(found)
        return Said(found, [data] if isinstance(data, str) else data, talk)

    return render_words


def listed(
    found: Any, columns: str, rows: Sequence[Sequence[str]], talk: Iterable[Line] = (), *, none: str | None = None
) -> Said:
    """A list as a table, or the sentence `none` if it is empty."""
    if none and not rows:
        return Said(found, talk=[*talk, none])
    return Said(found, lambda: terminal.table(columns.split(), rows), talk)


def render(found: Any, view: View) -> Said:
    import_module(f"{__name__}.{HOMES[view.verb.module]}")
    names = map(_name_of, type(found).__mro__)  # layouts extend results
    return next(RENDERERS[name] for name in names if name in RENDERERS)(found, view)


def preview_of(about: Any) -> Iterable[Line]:
    if isinstance(about, list | tuple):
        return about
    name = _name_of(type(about))
    import_module(f"{__name__}.{HOMES[name.partition('.')[0]]}")
    return PREVIEWS[name](about)


def _name_of(kind: type) -> str:
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"
