"""Health checks of Parrot's hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from holdfast.agents import install
from holdfast.agents.program_checks import check_programs
from holdfast.agents.protocol import setup_of
from holdfast.core.model import OK, WARNING, Check
from holdfast.core.text import path_text
from holdfast.project.workspace import Workspace

from . import settings_file
from .installed import places


def health(workspace: Workspace, allowed: Callable[[Path], list[str]]) -> Iterator[Check]:
    for scope, place in places(setup_of(workspace)).items():
        hooks = settings_file.hooks_in(install.read(place))
        if hooks:
            yield Check("parrot hooks", OK, f"{path_text(place.path)} has {len(hooks)} hooks")
            remedy = [f"`holdfast init --agent parrot --scope {scope}`"]
            yield from check_programs(workspace, [{"command": hook["run"]} for hook in hooks], remedy, [], None)
            return
    yield Check("parrot hooks", WARNING, "no file has our hooks", ["`holdfast init --agent parrot`"])
