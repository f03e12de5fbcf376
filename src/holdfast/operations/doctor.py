"""Prove that hooks are active, not only installed: everything that can keep a call from arriving, looked at."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from holdfast import __version__
from holdfast.agents.claude import hooks, install, installed as client, plugin_commands, settings_file
from holdfast.agents.claude.health import find_removal, last_call
from holdfast.agents.claude.installed import Level
from holdfast.agents.protocol import ENTRY
from holdfast.core.errors import HoldfastError
from holdfast.core.text import count, one_line, path_text, sound_text
from holdfast.layouts.faber import client_hooks
from holdfast.layouts.goteam.files import damages
from holdfast.maintenance.prune.quota_warning import cap_of, look_at_room, warning_of
from holdfast.maintenance.repair.quarantine import told_of_originals
from holdfast.maintenance.rescan import told_of_scan
from holdfast.project import inbox as intake, settings
from holdfast.project.trust.check import allowed, find_waiting
from holdfast.project.workspace import Workspace
from holdfast.redaction.redactor import check_pattern, listed
from holdfast.system import files, process
from holdfast.system.clock import shown
from holdfast.system.git.command import find_program
from holdfast.system.safe_paths import real_path

OK, WARNING, BROKEN = "ok", "warning", "broken"
GRACE = timedelta(minutes=2)  # a transcript may be written so much later than the last call
DEADLINE = 20.0
MANY = 10_000  # calls that wait, though every command takes them in


class Check(Struct):
    name: str
    state: str  # ok, warning, broken
    about: str
    hints: list[str] = []


class Examined(Struct):
    checks: list[Check]
    healthy: bool  # nothing is broken


def doctor(workspace: Workspace) -> Examined:
    """Look at everything that recording depends on. It changes nothing, and takes nothing in."""
    with files.os_errors():
        levels = client.levels(workspace.root, workspace.environ, workspace.user_directory("state"))
        last = last_call(workspace)
        checks = [
            *_store(workspace),
            *_calls(workspace, levels, last),
            *_switches(workspace, levels),
            _trust(workspace),
            *_commands(workspace),
            _version(workspace),
            _arrival(workspace, levels, last),
            *_inbox(workspace),
            *_faber(workspace),
            *_team(workspace),
            *_patterns(workspace),
        ]
    return Examined(checks, all(check.state != BROKEN for check in checks))


def _store(workspace: Workspace) -> Iterator[Check]:
    if told := workspace.told_of_earlier():
        yield Check("earlier store", WARNING, told)
    if not workspace.exists:
        yield Check("store", BROKEN, "there is no store here, so hooks keep nothing", ["`holdfast init`"])
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
    warning = warning_of(look_at_room(workspace), cap_of(workspace))
    if warning:
        yield Check("store", WARNING, f"{path_text(workspace.place)}: {warning}", ["`holdfast tidy`"])
    else:
        yield Check("store", OK, path_text(workspace.place))
    if told := told_of_originals(workspace):
        hints = ["`holdfast tidy --dry-run`", "`holdfast config set aside.keep_days 0` keeps them for good"]
        yield Check("put aside", WARNING if warning else OK, told, hints)


def _faber(workspace: Workspace) -> Iterator[Check]:
    found = client_hooks.find_hooks(workspace.root, workspace.environ, workspace.user_directory("state"))
    if found:
        yield Check("FABER's hooks", WARNING, client_hooks.told(found), client_hooks.ways_to_replace(found))


def _team(workspace: Workspace) -> Iterator[Check]:
    """Files of the Go Team's runs that are damaged: they are not written before somebody repairs them."""
    try:
        found = list(damages(workspace)) if workspace.exists else []
    except HoldfastError:  # the check of the store says why
        return
    for damage in found:
        remedy = f"`holdfast repair {shlex.quote(damage.run)}`" if damage.run else "`holdfast repair`"
        name = path_text(damage.path.relative_to(workspace.root))
        yield Check("go-team files", WARNING, f"{name} cannot be read: {damage.why}", [remedy])


def _calls(workspace: Workspace, levels: list[Level], last: datetime | None) -> Iterator[Check]:
    """Where our calls stand, whether they are all of this version, and whether what they run is there."""
    ours = [level.name for level in levels if settings_file.called(level.settings)]
    for level in levels:
        if level.trouble is not None:
            yield Check(
                f"{level.name} settings",
                WARNING,
                f"{path_text(level.path)}: {level.trouble.message}",
                level.trouble.hints,
            )
        elif settings_file.called(level.settings) and level.name in hooks.SCOPES:
            yield from _block(level)
            yield from _programs(workspace, level)
    plugin = client.find_plugin(levels, workspace.environ)
    if plugin is not None:
        yield from _plugin(workspace, plugin, ours)
    elif not ours:
        yield _nobody(workspace, last)
    scopes = list(dict.fromkeys(ours))  # the same call in two local files is made once
    if len(scopes) > 1:
        hints = [f"`holdfast uninit --scope {name}`" for name in scopes[1:]]
        yield Check("twice", WARNING, f"several settings files call us: {', '.join(scopes)}", hints)


def _init(level: Level) -> list[str]:
    """What puts our calls into the settings of a level, as they should be."""
    there = f"cd {shlex.quote(path_text(level.elsewhere))} && " if level.elsewhere else ""
    return [f"`{there}holdfast init --scope {level.name}`"]


def _nobody(workspace: Workspace, last: datetime | None) -> Check:
    if removed := find_removal(workspace):
        return Check("hooks", BROKEN, removed.about, removed.hints)
    is_used = install.is_used(workspace.root, workspace.environ)
    about = "no settings file has our calls, and no plugin of ours is enabled"
    hints = ["`holdfast init --agent claude`", "`holdfast init --plugin` says how the plugin is loaded"]
    if last is not None:  # the plugin may be named anew for each session, and nothing of that is written down
        return Check("hooks", WARNING, f"{about}, but calls came: with `--plugin-dir`, or before", hints)
    return Check("hooks", BROKEN if is_used else WARNING, about, hints)


def _plugin(workspace: Workspace, plugin: client.Plugin, ours: list[str]) -> Iterator[Check]:
    """Whether the plugin that is enabled is there, and this one; and who records where settings call us too."""
    name, place = sound_text(plugin.name), path_text(plugin.level.path)
    remedy = [f"`{command}`" for command in plugin_commands.commands(path_text(plugin_commands.DIRECTORY))[1:]]
    if plugin.directory is None or not plugin.directory.is_dir():
        where = f"; {path_text(plugin.directory)} is not there any more" if plugin.directory else ""
        about = f"{place} enables {name}, which is not installed{where}"
        yield Check("plugin", WARNING if ours else BROKEN, about, remedy)
    elif real_path(plugin.directory) != real_path(plugin_commands.DIRECTORY):
        about = f"{name} is another one: it lies in {path_text(plugin.directory)}"
        yield Check("plugin", WARNING, about, remedy)
    elif ours:
        about = f"{name} is enabled; {' and '.join(ours)} settings call us too, so they record and the plugin is silent"
        yield Check("plugin", OK, about)
    else:
        yield Check("plugin", OK, f"{place} enables {name}")
    if not ours:
        yield _found_through_path(workspace)


def _block(level: Level) -> Iterator[Check]:
    inbox = str(ENTRY)
    calls = settings_file.called(level.settings)
    wanted = hooks.block(level.name, sys.executable, inbox)
    missing = [event for event in wanted if event not in calls]
    other = [event for event in calls if event in wanted and calls[event] != [wanted[event]]]
    remedy = _init(level)
    name = f"{level.name} settings"
    if missing:
        yield Check(name, WARNING, f"{path_text(level.path)} lacks our calls for {', '.join(missing)}", remedy)
    elif any(hooks.is_old(call) for found in calls.values() for call in found):
        about = f"{path_text(level.path)} has our calls in the old form with `args`, which Copilot CLI and Codex ignore"
        yield Check(name, WARNING, f"{about}: Copilot may then refuse its own tool calls", remedy)
    elif other or len(calls) > len(wanted):
        yield Check(
            name, WARNING, f"{path_text(level.path)} has our calls in the form of another version or place", remedy
        )
    else:
        yield Check(name, OK, f"{path_text(level.path)} has our calls for all {len(wanted)} events")


def _programs(workspace: Workspace, level: Level) -> Iterator[Check]:
    """What our calls run. A repository may bring such settings: what they name is tried only if that was allowed."""
    calls = [call for found in settings_file.called(level.settings).values() for call in found]
    exact = [found for call in calls if (found := hooks.named_by(call))]
    remedy = _init(level)
    allow = [] if level.elsewhere else [f"`holdfast trust {shlex.quote(path_text(level.path))}`"]
    good = allowed(workspace, level.path) if allow else []  # by name: these settings may be others by now
    for python in sorted({sound_text(python) for python, _ in exact}):
        if python == sys.executable:
            yield Check("interpreter", OK, python)
        elif not os.path.isabs(python) or not os.path.isfile(python) or not os.access(python, os.X_OK):
            yield Check("interpreter", BROKEN, f"{python} is not there any more", remedy)
        elif level.name != "user" and python not in good:  # what was not there a moment ago may be there by now
            about = f"{python} is named by settings in the worktree and is not this one, so it was not tried"
            yield Check("interpreter", WARNING, about, [*allow, *remedy])
        else:
            yield _interpreter(workspace, python, remedy)
    for script in sorted({sound_text(script) for _, scripts in exact for script in scripts}):
        if not os.path.isfile(script):
            yield Check("hook program", BROKEN, f"{script} is not there", remedy)
        elif script.endswith(hooks.SCRIPTS[1]) and os.path.samefile(os.path.dirname(script), ENTRY.parents[2]):
            yield Check("hook program", WARNING, f"{script} is the one of an earlier version", remedy)
        elif not os.path.samefile(script, ENTRY):
            yield Check("hook program", WARNING, f"{script} belongs to another Holdfast", remedy)
        else:
            yield Check("hook program", OK, script)
    if any(hooks.DOOR in str(call.get("command")) for call in calls):
        yield _found_through_path(workspace)


def _interpreter(workspace: Workspace, python: str, remedy: list[str]) -> Check:
    """Whether a program runs this Holdfast. The file that was looked at is started, wherever its name leads by then."""
    name, program = "interpreter", real_path(python)
    root = f"{real_path(workspace.root)}{os.sep}"
    if any(place.startswith(root) for place in (python, program, f"{real_path(os.path.dirname(python))}{os.sep}")):
        return Check(name, WARNING, f"{python} lies in the worktree and is not this one, so it was not tried", remedy)
    said = process.ask([python, "-I", "-m", "holdfast", "--version"], {"PATH": os.defpath}, DEADLINE, program)
    if said is None:
        return Check(name, BROKEN, f"{python} does not run Holdfast", remedy)
    if said.strip() != f"holdfast {__version__}":
        return Check(name, WARNING, f"{python} runs another Holdfast", remedy)
    return Check(name, OK, f"{python} runs this version of Holdfast")


def _found_through_path(workspace: Workspace) -> Check:
    program = find_program("holdfast-hook", workspace.environ.get("PATH", os.defpath), "/nonexistent")
    if program is None:
        about = "these calls look for holdfast-hook on PATH, and it is not there"
        return Check("hook program", BROKEN, about, ["install Holdfast where PATH finds it", "`holdfast init`"])
    if os.path.dirname(program) != os.path.dirname(sys.executable):
        return Check("hook program", WARNING, f"{program} may belong to another Holdfast", [f"`ls -l {program}`"])
    return Check("hook program", OK, program)


def _switches(workspace: Workspace, levels: list[Level]) -> Iterator[Check]:
    """What turns hooks off, wherever it stands."""
    found = []
    if workspace.is_off:
        way = "`unset HOLDFAST`" if workspace.environ.get("HOLDFAST") == "0" else "`holdfast on`"
        found.append(Check("switches", BROKEN, "Holdfast is off here", [way]))
    for level in levels:
        if level.is_set(client.OFF):
            hint = f"remove `{client.OFF}` from {path_text(level.path)}"
            found.append(Check("switches", BROKEN, f"{path_text(level.path)} turns all hooks off", [hint]))
        if level.name == "managed" and level.is_set("allowManagedHooksOnly"):
            about = f"{path_text(level.path)} allows only the hooks that an administrator has set"
            found.append(Check("switches", BROKEN, about, ["ask whoever manages this machine"]))
    yield from found or [Check("switches", OK, "nothing turns hooks off")]


def _trust(workspace: Workspace) -> Check:
    trusted = client.is_trusted(workspace.root, workspace.environ)
    if trusted:
        return Check("trust", OK, "Claude Code trusts this folder")
    about = "Claude Code does not trust this folder yet, so it runs no hooks here but with `-p`"
    return Check("trust", WARNING, about, ["start `claude` here once and answer its question"])


def _commands(workspace: Workspace) -> Iterator[Check]:
    """Commands that a workflow of the project names."""
    if waiting := find_waiting(workspace):
        about = f"commands wait until you have allowed them: {', '.join(waiting)}"
        yield Check("commands", WARNING, about, ["`holdfast trust` shows them and asks"])


def _patterns(workspace: Workspace) -> Iterator[Check]:
    """Patterns of the user's that cannot be used, and a journal that was written with fewer patterns of our own."""
    if told := told_of_scan(workspace):
        yield Check("secrets", WARNING, told, ["`holdfast scan`"])
    for key in settings.PATTERNS:
        for source in listed(str(workspace.settings.values[key].value)):
            if why := check_pattern(source):
                about = f"{key}: the pattern {one_line(source, 60)} is passed over: {one_line(why, 100)}"
                yield Check("patterns", WARNING, about, [f"`holdfast config set {key} PATTERN`"])


def _version(workspace: Workspace) -> Check:
    program, version = client.find_version(workspace.root, workspace.environ)
    if program is None:
        return Check("client", WARNING, "there is no `claude` on PATH", ["install Claude Code"])
    if version is None:
        return Check("client", WARNING, f"{program} does not say its version", [f"`{program} --version`"])
    about = f"{program} is version {version}; Holdfast was tested with {hooks.TESTED}"
    if _numbers(version) < _numbers(hooks.TESTED):
        return Check("client", WARNING, about, ["`claude update`"])
    return Check("client", OK, about)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]


def _arrival(workspace: Workspace, levels: list[Level], last: datetime | None) -> Check:
    """Whether calls come while the client works."""
    written = client.last_written(workspace.root, workspace.environ)
    installed = [files.signature(level.path) for level in levels if settings_file.called(level.settings)]
    begun = [datetime.fromtimestamp(found[1] / 1e9, UTC) for found in installed if found]
    since = last or max(begun, default=None)
    if written and since and written - since > GRACE:
        about = f"a transcript was written at {shown(written)}, and no call came since {shown(since)}"
        return Check("calls", BROKEN, about, ["restart Claude Code: it reads its hooks when it starts", "`/hooks`"])
    if last is None:
        return Check("calls", WARNING, "no call of Claude Code has arrived yet", ["start `claude` here"])
    return Check("calls", OK, f"the last call arrived at {shown(last)}")


def _inbox(workspace: Workspace) -> Iterator[Check]:
    try:
        waiting, aside = intake.waiting(workspace.inbox), intake.aside(workspace.inbox)
        unread = intake.unread(workspace.inbox)
        troubles = intake.troubles(workspace.here) if workspace.exists else []
    except HoldfastError:  # the check of the store says why
        return
    state = WARNING if len(waiting) >= MANY else OK
    yield Check("inbox", state, f"{count(len(waiting), 'call')} wait", ["`holdfast sweep`"] if waiting else [])
    if aside:
        yield Check(
            "set aside",
            WARNING,
            f"{count(len(aside), 'call')} could not be read",
            [f"`ls {shlex.quote(path_text(workspace.place))}/inbox/aside`"],
        )
    if unread:
        about = f"{count(len(unread), 'call')} cannot be read for the moment"
        yield Check("not read", WARNING, about, [f"`ls -l {shlex.quote(path_text(workspace.place))}/inbox`", "`dmesg`"])
    if troubles:
        about = f"hooks failed {count(len(troubles), 'time')}; the last: {troubles[-1]}"
        yield Check("troubles", WARNING, about, ["`holdfast status`"])
