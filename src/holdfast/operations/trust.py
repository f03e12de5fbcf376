"""Trust: what a repository brings is allowed by somebody who has seen it, and taken back at any time.

Looking changes nothing. Allowing needs the digest of what was seen, so that nothing else is ever allowed; who may give
it is the business of the surface that has shown it, and only a terminal does.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import NotFound, Refused
from holdfast.core.question import Choose
from holdfast.core.text import path_text
from holdfast.ingest.executable_files import file_at, find_brought, find_outside
from holdfast.operations.parameters import argument, flag
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.trust import TRUSTED, Brought as Brought, Grant, grants_of, holds, key, look
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.system.safe_paths import real_path


class Trusted(Struct):
    files: list[Brought]  # that bring something which could run
    allowed: list[str]  # those that were allowed just now


class Untrusted(Struct):
    paths: list[str]  # from which trust was taken


class Held(Struct):
    """A grant, and whether it still holds."""

    root: str
    path: str
    state: str  # `trusted`, `changed` since then, or `gone`
    commands: list[str]


class TrustListed(Struct):
    directory: str  # where grants are kept
    grants: list[Held]


def _ask_to_allow(workspace: Workspace, given: Arguments, found: Trusted) -> Choose | None:
    """Ask about each file, once it was shown. `--yes` is no answer."""
    path = given.get("path")
    waiting = [brought for brought in found.files if brought.state != TRUSTED and brought.digest not in given]
    if not waiting:
        return None
    brought = waiting[0]

    def act(answer: bool) -> Trusted:
        if not answer:
            return found
        files = trust(workspace, path, seen=brought.digest).files
        return Trusted(files, [*found.allowed, brought.path])

    facts = [(each.state, each.path) for each in waiting]
    return Choose(
        parameter=brought.digest,
        prompt="Allow this, as long as nothing of it changes?",
        no=False,
        about=brought,
        act=act,
        unseen=Refused("What a project brings is allowed at a terminal only", facts, ["`holdfast trust`"]),
    )


@verb(
    group=Group.SETUP,
    about="see what a project brings that could run, and allow it",
    syncs=False,
    options=(flag("--yes", help="Is no answer here: who allows something has to see it, at a terminal."),),
    follows=_ask_to_allow,
)
def trust(workspace: Workspace, path: Annotated[str | None, argument()] = None, *, seen: str | None = None) -> Trusted:
    """Show what this project brings that could run, word for word, and allow it.

    PATH is one file of it, or a directory. What changes afterwards is not allowed any more.
    """
    with files.os_errors():
        found = _meant(workspace, path)
        if seen is None:
            return Trusted(found, [])
        chosen = [brought for brought in found if brought.digest == seen]  # safeguard: changed-while-shown
        if not chosen:
            raise Refused("It has changed since it was shown", [], ["`holdfast trust` shows it again"])
        for brought in chosen:
            _allow(workspace, brought)
        return Trusted(_meant(workspace, path), [brought.path for brought in chosen])


@verb(group=Group.SETUP, about="allow it no more", syncs=False)
def untrust(workspace: Workspace, path: Annotated[str | None, argument()] = None) -> Untrusted:
    """Take trust back, from everything of this project or from one file or directory of it."""
    with files.os_errors():
        grants = grants_of(workspace)
        root = path_text(real_path(workspace.root))
        place = None if path is None else path_text(real_path(path))
        found = [grant for grant in grants.every() if grant.root == root and _is_below(grant.path, place)]
        for grant in found:
            grants.remove(grant)
        return Untrusted([grant.path for grant in found])


@verb("trust --list", changes=False, syncs=False)
def list_trusted(workspace: Workspace) -> TrustListed:
    """Only list what you have allowed, in all projects."""
    with files.os_errors():
        grants = grants_of(workspace)
        kept = [Held(grant.root, grant.path, _state(workspace, grant), grant.commands) for grant in grants.every()]
        return TrustListed(path_text(grants.directory), kept)


def _meant(workspace: Workspace, path: str | None) -> list[Brought]:
    found = find_brought(workspace)
    if path is None:
        return found
    real = path_text(real_path(path))
    chosen = [brought for brought in found if _is_below(path_text(real_path(brought.path)), real)]
    return chosen or [_outside(workspace, Path(path))]


def _outside(workspace: Workspace, path: Path) -> Brought:
    """A workflow of FABER's plugin, which lies outside of the project and is allowed for this project alone."""
    found = next((file for file in find_outside(workspace) if real_path(file.path) == real_path(path)), None)
    brought = look(workspace, found) if found else None
    if brought is None or not brought.can_run:
        raise NotFound(
            "Nothing there could run", [("path", path_text(path))], ["`holdfast trust` shows what the project brings"]
        )
    return brought


def _allow(workspace: Workspace, brought: Brought) -> None:
    root, path = key(workspace, Path(brought.path))
    commands = [order.command for order in brought.orders if order.why_not is None]
    grants_of(workspace).put(Grant(root, path, brought.digest, workspace.clock.now(), commands))


def _is_below(path: str, place: str | None) -> bool:
    return place is None or path == place or path.startswith(place.rstrip(os.sep) + os.sep)


def _state(workspace: Workspace, grant: Grant) -> str:
    if not os.path.exists(grant.path):
        return "gone"
    other = Workspace(Path(grant.root), workspace.place, environ=workspace.environ, rules_of=workspace.rules_of)
    found = look(other, file_at(other, Path(grant.path)))
    return TRUSTED if found is not None and holds(grant, found.digest, found.orders) else "changed"
