"""A board that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.layouts.json_file import Unreadable, read_face
from holdfast.layouts.protocol import Damage
from holdfast.project.workspace import Workspace

from .rules import BOARD


def damages(workspace: Workspace) -> Iterator[Damage]:
    try:
        read_face(workspace.root / BOARD, root=workspace.root)
    except Unreadable as error:
        if error.reason != "missing":
            yield Damage(BOARD, error.why, error.remedy("`holdfast repair` makes it anew"))
