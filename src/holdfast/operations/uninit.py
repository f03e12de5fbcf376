"""Take our calls out of an agent's settings again, and the store away, if that is wanted."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from holdfast.agents import install
from holdfast.agents.install import Changed
from holdfast.agents.protocol import Place, setup_of
from holdfast.agents.registry import adapters
from holdfast.core import ids
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import path_text
from holdfast.operations.init import SCOPES
from holdfast.operations.parameters import YES, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project import known_projects
from holdfast.project.workspace import Workspace
from holdfast.system import files
from holdfast.worktree.capture import Shadow
from holdfast.worktree.packs.prune import prune


class Uninstalled(Struct):
    files: list[Changed]  # settings files that held calls of ours
    purged: str | None = None  # the store that was deleted
    packs: int = 0  # of ours that stay in the repository as ordinary ones, because its history rests on them
    hints: list[str] = []


def _ask_whether(workspace: Workspace, given: Arguments, can_ask: bool) -> Choose | None:
    if given.get("yes") or not given.get("purge"):
        return None
    scope = f" --scope {given['scope']}" if "scope" in given else ""
    prompt = f"Delete {workspace.place} with all runs and checkpoints, for good?"
    return confirmation(prompt, f"holdfast uninit{scope} --purge")


@verb(group=Group.SETUP, example="holdfast uninit --scope local", syncs=False, asks=_ask_whether, options=(YES,))
def uninit(
    workspace: Workspace,
    *,
    scope: Annotated[
        str | None, option(choices=SCOPES, help="Only there; else wherever this project has our calls.")
    ] = None,
    purge: Annotated[bool, option(help="Delete the store too, with all runs and checkpoints.")] = False,
) -> Uninstalled:
    """Give the agent's settings back as they were."""
    if scope is not None and scope not in SCOPES:
        raise WrongUsage(f'There is no scope "{scope}"', [("scopes", ", ".join(SCOPES))])
    result = Uninstalled([])
    with files.os_errors():
        if purge:
            _check_store(workspace)
        changed = [install.uninstall(place) for place in _places(workspace, scope)]
        result.files = [done for done in changed if done.events]
        for name in _elsewhere(workspace) if scope is None else ():
            result.hints.append(f"`holdfast uninit --scope {name}` takes them out of your own settings too")
        if purge:
            _purge(workspace, result)
    return result


def _places(workspace: Workspace, scope: str | None) -> list[Place]:
    """The settings files of a scope, of every agent that has it; without a scope, those in the project."""
    found = [(name, place) for agent in adapters() for name, place in agent.places(setup_of(workspace)).items()]
    return [place for name, place in found if name == scope or (scope is None and _is_here(workspace, place))]


def _is_here(workspace: Workspace, place: Place) -> bool:
    return workspace.root in place.path.parents


def _elsewhere(workspace: Workspace) -> list[str]:
    """The scopes of the user's own settings that have our calls."""
    found = [(name, place) for agent in adapters() for name, place in agent.places(setup_of(workspace)).items()]
    return list(dict.fromkeys(name for name, place in found if not _is_here(workspace, place) and _calls_us(place)))


def _calls_us(place: Place) -> bool:
    try:
        return bool(place.format.found_in(install.read(place)))
    except Refused:  # what cannot be read does not call us either
        return False


def _check_store(workspace: Workspace) -> None:
    if not workspace.place.exists():
        way = "`holdfast uninit` takes Holdfast's calls out of an agent's settings"
        raise NotFound("There is no Holdfast store here", [("looked at", workspace.place)], [way])
    if workspace.exists:
        workspace.check_ours()


def _purge(workspace: Workspace, result: Uninstalled) -> None:
    """Delete the refs, the packs that only checkpoints needed, and the store, whose id goes last."""
    claim = workspace.user_directory("state") / "stores" / ids.file_name(known_projects.store_id(workspace.place))
    shadow = Shadow(workspace.place, workspace.root, workspace.worktree)
    workspace.close()
    if shadow.repository.common is not None and not shadow.never_kept_any():
        result.packs = _leave_repository(workspace, shadow, shadow.repository.common)
    for name in sorted(os.listdir(workspace.place), key=lambda name: name == "id"):
        _delete(workspace.place / name)
    os.rmdir(workspace.place)
    files.sync_directory(workspace.place.parent)
    files.remove(claim)
    result.purged = path_text(workspace.place)


def _leave_repository(workspace: Workspace, shadow: Shadow, common: Path) -> int:
    """Take our refs and packs out of the user's repository. What his history rests on becomes his own pack."""
    shadow.object_store.refuse_links()  # safeguard: linked-place-in-uninit
    shadow.git.prepare()
    for ref in shadow.git.run("for-each-ref", "--format=%(refname)", "refs/holdfast/", home=common).decode().split():
        shadow.git.run("update-ref", "--no-deref", "-d", ref, home=common)
    prune(shadow, workspace.place, workspace.progress)
    left = shadow.object_store.packs()
    for pack in left:
        files.remove(pack.with_suffix(".keep"))
    with contextlib.suppress(OSError):  # it is not there, or holds what is not ours
        os.rmdir(common / "refs" / "holdfast")
    return len(left)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        files.remove(path)
