"""Files of the orchestrator that cannot be read or followed."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.core.errors import Refused
from holdfast.layouts.json_file import Unreadable
from holdfast.layouts.orchestrator.files import find_incompatible, read_session
from holdfast.layouts.orchestrator.rules import SESSION
from holdfast.layouts.protocol import Damage
from holdfast.project.workspace import Workspace


def damages(workspace: Workspace) -> Iterator[Damage]:
    try:
        read_session(workspace)
    except Unreadable as error:
        remedy = error.remedy("`holdfast repair` makes it anew, `holdfast continue` offers other ways")
        yield Damage(SESSION, error.why, remedy)


def find_obstacle(workspace: Workspace) -> Refused | None:
    """A session file of another version is left alone, so it cannot be gone on with."""
    incompatible = find_incompatible(workspace)
    if incompatible is None:
        return None
    aside = f"`mv {SESSION} {SESSION}.other` puts it aside; then `holdfast start` begins a new session"
    facts = [("file", SESSION), ("because", str(incompatible))]
    hints = ["go on with the program that wrote it", aside]
    return Refused("The session file is of another version and is left alone", facts, hints)
