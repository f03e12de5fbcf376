"""Damaged files of the Go Team's runs: they are not written before they are repaired."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from holdfast.core.errors import HoldfastError
from holdfast.core.model import WARNING, Check
from holdfast.core.text import path_text
from holdfast.layouts.goteam import files
from holdfast.layouts.protocol import Damage
from holdfast.project.workspace import Workspace


def damages(workspace: Workspace) -> Iterator[Damage]:
    for found in files.damages(workspace):
        way = f"holdfast repair {found.run}" if found.run else "holdfast repair"
        yield Damage(path_text(found.path.relative_to(workspace.root)), found.why, f"`{way}` makes it anew")


def health(workspace: Workspace) -> Iterator[Check]:
    try:
        found = list(files.damages(workspace)) if workspace.exists else []
    except HoldfastError:  # the check of the store says why
        return
    for damage in found:
        remedy = f"`holdfast repair {shlex.quote(damage.run)}`" if damage.run else "`holdfast repair`"
        name = path_text(damage.path.relative_to(workspace.root))
        yield Check("go-team files", WARNING, f"{name} cannot be read: {damage.why}", [remedy])
