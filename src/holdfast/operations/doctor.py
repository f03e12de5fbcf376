"""Health checks: are hooks active, not only installed, and what keeps calls from arriving."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Iterator

from msgspec import Struct

from holdfast.agents.registry import adapters
from holdfast.core.errors import HoldfastError
from holdfast.core.model import BROKEN, OK, WARNING, Check
from holdfast.core.text import count, format_time, one_line, path_text
from holdfast.ingest.executable_files import allowed, find_waiting
from holdfast.layouts.registry import layouts
from holdfast.maintenance.repair.quarantine import quarantine_notice
from holdfast.operations.verb import Group, verb
from holdfast.project import inbox as intake, settings
from holdfast.project.quota import cap_of, measure_usage, warning_of
from holdfast.project.workspace import Workspace, rescan_notice
from holdfast.redaction.redactor import check_pattern, listed
from holdfast.system import files

MANY = 10_000  # waiting calls, though every command ingests them


class Examined(Struct):
    checks: list[Check]
    healthy: bool  # no check is `broken`


@verb(group=Group.SETUP, about="check that hooks are active, and what to do", common=True, changes=False, syncs=False)
def doctor(workspace: Workspace) -> Examined:
    """Check that hooks are active, or find what prevents it."""
    trusted = functools.partial(allowed, workspace)
    with files.os_errors():
        checks = [
            *_store(workspace),
            *_switch(workspace),
            *(check for agent in adapters() for check in agent.health(workspace, trusted)),
            *_commands(workspace),
            *_inbox(workspace),
            *(check for layout in layouts() for check in layout.health(workspace)),
            *_patterns(workspace),
        ]
    return Examined(checks, all(check.state != BROKEN for check in checks))


def _store(workspace: Workspace) -> Iterator[Check]:
    if told := workspace.find_earlier_hint():
        yield Check("earlier store", WARNING, told)
    if not workspace.exists:
        yield Check("store", BROKEN, "there is no store here, so hooks record nothing", ["`holdfast init`"])
        return
    try:
        with workspace.reading() as journal:
            problems = journal.view.problems()
    except HoldfastError as error:
        yield Check("store", BROKEN, error.message, error.hints)
        return
    if problems:
        yield Check("store", BROKEN, f"the database is damaged: {problems[0]}", ["`holdfast verify`"])
        return
    warning = warning_of(measure_usage(workspace), cap_of(workspace))
    if warning:
        yield Check("store", WARNING, f"{path_text(workspace.place)}: {warning}", ["`holdfast tidy`"])
    else:
        yield Check("store", OK, path_text(workspace.place))
    if told := quarantine_notice(workspace):
        hints = ["`holdfast tidy --dry-run`", "`holdfast config set aside.keep_days 0` keeps them"]
        yield Check("put aside", WARNING if warning else OK, told, hints)


def _switch(workspace: Workspace) -> Iterator[Check]:
    if workspace.is_off:
        hint = "`unset HOLDFAST`" if workspace.environ.get("HOLDFAST") == "0" else "`holdfast on`"
        yield Check("switches", BROKEN, "Holdfast is off here", [hint])


def _commands(workspace: Workspace) -> Iterator[Check]:
    """Check for commands of the project's workflows that were not allowed yet."""
    if waiting := find_waiting(workspace):
        about = f"commands that you have not allowed yet: {', '.join(waiting)}"
        yield Check("commands", WARNING, about, ["`holdfast trust` shows them and asks"])


def _patterns(workspace: Workspace) -> Iterator[Check]:
    """Check for invalid patterns in the settings, and for a journal written before our newest patterns."""
    if told := rescan_notice(workspace):
        yield Check("secrets", WARNING, told, ["`holdfast scan`"])
    for key in settings.PATTERNS:
        for source in listed(workspace.settings.text(key)):
            if why := check_pattern(source):
                about = f"{key}: the pattern {one_line(source, 60)} is ignored: {one_line(why, 100)}"
                yield Check("patterns", WARNING, about, [f"`holdfast config set {key} PATTERN`"])


def _inbox(workspace: Workspace) -> Iterator[Check]:
    try:
        waiting, aside = intake.waiting(workspace.inbox), intake.aside(workspace.inbox)
        unread = intake.unread(workspace.inbox)
        troubles = intake.troubles(workspace.here) if workspace.exists else []
    except HoldfastError:  # reported by the check of the store
        return
    state = WARNING if len(waiting) >= MANY else OK
    yield Check("inbox", state, f"{count(len(waiting), 'call')} waiting", ["`holdfast sweep`"] if waiting else [])
    if aside:
        hint = f"`ls {shlex.quote(path_text(workspace.place))}/inbox/aside`"
        yield Check("set aside", WARNING, f"{count(len(aside), 'call')} could not be read", [hint])
    if unread:
        about = f"{count(len(unread), 'call')} cannot be read at present"
        yield Check("not read", WARNING, about, [f"`ls -l {shlex.quote(path_text(workspace.place))}/inbox`", "`dmesg`"])
    if troubles:
        _, time, failure = intake.parse_failure(troubles[-1])
        last = f"{format_time(time)}: {failure}" if time else failure
        about = f"hooks failed {count(len(troubles), 'time')}; the last: {last}"
        yield Check("troubles", WARNING, about, ["`holdfast status`"])
