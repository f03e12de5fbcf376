"""FABER's files that cannot be read, and its own hooks, to which loading and saving are left."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from holdfast.agents.protocol import Setup, setup_of
from holdfast.core.errors import Damaged
from holdfast.core.model import WARNING, Check
from holdfast.core.text import path_text
from holdfast.layouts.faber import schema
from holdfast.layouts.faber.client_hooks import find_client_hooks, told, ways_to_replace
from holdfast.layouts.faber.presence import is_present
from holdfast.layouts.faber.reconcile import journal_id
from holdfast.layouts.json_file import Unreadable, read_face
from holdfast.layouts.protocol import Damage
from holdfast.project.workspace import Workspace


def damages(workspace: Workspace) -> Iterator[Damage]:
    """State files that cannot be read. One whose run the journal does not know is not ours to judge."""
    for name, path in schema.list_states(workspace.root) if is_present(workspace) else ():
        try:
            with workspace.reading() as journal:
                is_known = journal.find_run(journal_id(name)) is not None
            if is_known:
                read_face(path, root=workspace.root)
        except Unreadable as error:
            remedy = error.remedy(f"`holdfast repair {shlex.quote(name)}` puts the best copy back")
            yield Damage(path_text(path.relative_to(workspace.root)), error.why, remedy)
        except Damaged:  # the run that has it is named by itself
            continue


def health(workspace: Workspace) -> Iterator[Check]:
    if found := find_client_hooks(setup_of(workspace)):
        yield Check("FABER's hooks", WARNING, told(found), ways_to_replace(found))


def find_notice(setup: Setup) -> str | None:
    found = find_client_hooks(setup)
    return "; ".join([told(found), *ways_to_replace(found)]) if found else None
