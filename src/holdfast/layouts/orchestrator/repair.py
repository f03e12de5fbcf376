"""Damage of the orchestrator's session file: detection, repair from the journal, and the ways out that users choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from holdfast.core.errors import Refused, WrongUsage
from holdfast.core.formats.json_salvage import salvage
from holdfast.core.model import Run
from holdfast.core.text import one_line
from holdfast.layouts.json_file import Unreadable
from holdfast.layouts.memory import relative
from holdfast.layouts.orchestrator import SESSION
from holdfast.layouts.orchestrator.files import current_run, find_incompatible, put_aside, read_session, told
from holdfast.layouts.orchestrator.reconcile import synchronize, take_salvaged
from holdfast.layouts.orchestrator.schema import INNER, MEMBERS
from holdfast.layouts.results import COPY, FRESH, HISTORY, JOURNAL, MANUAL, Damage, FilesRepaired, Recovery
from holdfast.project.workspace import Workspace
from holdfast.system import files


def repair(workspace: Workspace, name: str | None, known: Run | None, *, keep: bool) -> FilesRepaired:
    """Rebuild an unreadable session file from the journal; the damaged one is renamed."""
    current = current_run(workspace)
    if known is None or current is None or current.id != known.id:
        return FilesRepaired(known.id if known else name, None, changed=False)
    try:
        read_session(workspace)
        return FilesRepaired(known.id, SESSION, changed=False)
    except Unreadable:
        aside = put_aside(workspace)
    synchronize(workspace)
    return FilesRepaired(known.id, SESSION, True, JOURNAL, relative(workspace, aside))


def damages(workspace: Workspace) -> Iterator[Damage]:
    try:
        read_session(workspace)
    except Unreadable as error:
        remedy = error.remedy("`holdfast repair` makes it anew, `holdfast continue` offers other ways")
        yield Damage(SESSION, error.why, remedy)


def find_obstacle(workspace: Workspace) -> Refused | None:
    """Refuse to resume a session file of another version, which is never written."""
    incompatible = find_incompatible(workspace)
    if incompatible is None:
        return None
    aside = f"`mv {SESSION} {SESSION}.other` puts it aside; then `holdfast start` begins a new session"
    facts = [("file", SESSION), ("because", str(incompatible))]
    hints = ["go on with the program that wrote it", aside]
    return Refused("The session file is of another version and is left alone", facts, hints)


def recover(workspace: Workspace, choose: str | None, establish: Callable[[Workspace], None]) -> Recovery:
    try:
        read_session(workspace)
        return Recovery(SESSION, None)
    except Unreadable as error:
        damage = error
    workspace.retract(told(damage))
    text = (files.read(workspace.root / SESSION, root=workspace.root) or b"").decode("utf-8", "replace")
    found = Recovery(SESSION, damage.why, _choices(workspace, text))
    if choose is None:
        return found
    if choose.isdecimal() and len(choose) < 3 and 0 < int(choose) <= len(found.choices):  # a row of the list
        choose = list(found.choices)[int(choose) - 1]
    if choose not in found.choices:
        hints = [f"`--choose {name}`: {about}" for name, about in found.choices.items()]
        raise WrongUsage(f'There is no way out called "{one_line(choose, 40)}"', [("file", SESSION)], hints)
    found.chosen = choose
    if not workspace.exists:
        establish(workspace)
        workspace.retract(told(damage))
    if choose == HISTORY:
        return found
    found.aside = relative(workspace, put_aside(workspace))
    if choose == MANUAL:
        members = salvage(text, MEMBERS, INNER)
        found.found = list(members)
        take_salvaged(workspace, members)
    elif choose == FRESH:
        synchronize(workspace, fresh=True)
    if choose != FRESH:
        synchronize(workspace)
        found.run = current.id if (current := current_run(workspace)) else None
    return found


def _choices(workspace: Workspace, text: str) -> dict[str, str]:
    current = current_run(workspace) if workspace.exists else None
    copy = {COPY: f"put back what the journal knows of {current.id}: nothing is lost"} if current else {}
    left = salvage(text, MEMBERS, INNER)
    return copy | {
        FRESH: "begin a new session; the damaged file is kept aside",
        HISTORY: "check archived sessions",
        MANUAL: f"extract what can still be read: {', '.join(left) or 'nothing'}",
    }
