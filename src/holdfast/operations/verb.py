"""Decorator of the verbs: what a user can ask for is registered once, and every surface reads the registry.

A verb syncs the journal before the call, so that it never works on stale state, and the layout files after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.core.question import Choose
from holdfast.core.text import count
from holdfast.ingest.catch_up import catch_up, sync_layouts
from holdfast.ingest.open import previewed
from holdfast.operations.parameters import YES, Parameter
from holdfast.operations.registry import (
    FAMILIES,
    VERBS,
    Arguments as Arguments,
    Asks,
    Family,
    Follows,
    Group as Group,
    Verb,
)
from holdfast.project.workspace import Workspace
from holdfast.system import files

Confirms = Callable[[Workspace, Arguments], Choose | None]
P = ParamSpec("P")
R = TypeVar("R")


def verb(
    command: str | None = "",
    *,
    group: Group | None = None,
    example: str = "",
    about: str | None = None,
    prints: str | None = None,
    aliases: tuple[str, ...] = (),
    common: bool = False,
    changes: bool | None = None,
    syncs: bool = True,
    previews: bool = False,
    asks: Asks | None = None,
    confirms: Confirms | None = None,
    follows: Follows | None = None,
    options: tuple[Parameter, ...] = (),
) -> Callable[[Callable[Concatenate[Workspace, P], R]], Callable[Concatenate[Workspace, P], R]]:
    """Register a function as a verb.

    `command`: as one types it; its own name if it is not given, None for Python only. `prints`: what standard output
    is, where it is short. `syncs`: whether the journal is brought up to date first. `previews`: it only reads, and
    works on another system's files without a store. `changes`: if not given, all but previews do.
    `confirms`: the question before something irreversible; it adds `--yes`, which answers it.
    """

    if confirms:
        asks, options = _unless_answered(confirms), (*options, YES)

    def register(function: Callable[Concatenate[Workspace, P], R]) -> Callable[Concatenate[Workspace, P], R]:
        act = synced(function) if syncs else function
        act = previewed(act) if previews else act
        name, module = function.__name__, function.__module__.rpartition(".")[2]
        typed = name if command == "" else command
        VERBS[name] = Verb(
            name, module, act, typed, group, example or f"holdfast {typed}", about, prints, aliases, common,
            not previews if changes is None else changes, asks, follows, options,
        )  # fmt: skip
        return act

    return register


def _unless_answered(confirms: Confirms) -> Asks:
    def ask(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
        return None if given.get("yes") or given.get("dry_run") else confirms(workspace, given)

    return ask


def family(word: str, group: Group, *, about: str, help: str, example: str, common: bool = False) -> None:
    """Register the word that several commands begin with."""
    FAMILIES[word] = Family(word, group, about, help, example, common)


def _tell_hidden(workspace: Workspace) -> None:
    """Warn that secrets in what was told were not stored."""
    if workspace.hidden:
        kinds = ", ".join(f"{number:,} of kind {kind}" for kind, number in sorted(workspace.hidden.items()))
        number = count(workspace.hidden.total(), "secret")
        way = "`holdfast config set redact.allow PATTERN` allows it"
        workspace.warn(f"{number} hidden before anything was stored ({kinds}); {way}")


def synced(function: Callable[Concatenate[Workspace, P], R]) -> Callable[Concatenate[Workspace, P], R]:
    @functools.wraps(function)
    def call(workspace: Workspace, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with files.os_errors():
            if not workspace.exists or workspace.is_off:
                return function(workspace, *args, **kwargs)
            catch_up(workspace)
            before = workspace.store.changes()
            workspace.hidden.clear()  # secrets of calls and files are not from this caller
            result = function(workspace, *args, **kwargs)
            _tell_hidden(workspace)  # safeguard: tell-hidden
            if workspace.store.changes() != before:
                sync_layouts(workspace)
            return result

    return call
