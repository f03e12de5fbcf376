"""Health checks of Claude Code's hooks: everything that can keep a call from arriving."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.agents import hook_command
from holdfast.agents.claude import hooks, installed, settings_file
from holdfast.agents.claude.client import NAME
from holdfast.agents.claude.installed import SCOPES, Level, Plugin, is_used
from holdfast.agents.program_checks import check_path, check_programs
from holdfast.agents.protocol import ENTRY, setup_of
from holdfast.agents.registry import identify
from holdfast.core.errors import HoldfastError
from holdfast.core.model import BROKEN, OK, WARNING, Beginning, Check, Session
from holdfast.core.text import path_text, sound_text
from holdfast.project import inbox
from holdfast.project.inbox import NotACall
from holdfast.project.workspace import Workspace
from holdfast.system import files, process
from holdfast.system.clock import shown
from holdfast.system.safe_paths import real_path

GRACE = timedelta(minutes=2)  # a transcript may be written this much later than the last call
NEWEST = 100  # waiting calls that are searched for one of Claude Code
Allowed = Callable[[Path], list[str]]


def health(workspace: Workspace, allowed: Allowed) -> Iterator[Check]:
    levels = installed.levels(setup_of(workspace))
    last = last_call(workspace)
    yield from _calls(workspace, levels, last, allowed)
    yield from _switches(workspace, levels)
    yield _trust(workspace)
    yield _version(workspace)
    yield _arrival(workspace, levels, last)


def last_call(workspace: Workspace) -> datetime | None:
    """The time of Claude Code's last call here: a waiting one, or one that was ingested."""
    try:
        waiting = inbox.waiting(workspace.inbox)[-NEWEST:]
        looks = [files.signature(workspace.inbox / name) for name in waiting if _is_ours(workspace, name)]
        times = [datetime.fromtimestamp(look[1] / 1e9, UTC) for look in looks if look]  # others were ingested meanwhile
        if workspace.exists:
            with workspace.reading() as journal:
                sessions = journal.list_sessions(limit=50)
            times += [found.last_active or found.opened for found in sessions if _was_called(found)]
    except (HoldfastError, OSError):  # reported by the check of the store
        return None
    return max(times, default=None)


def _is_ours(workspace: Workspace, name: str) -> bool:
    try:
        call = inbox.read(workspace.inbox, name)
    except NotACall:
        return False
    if call is not None:
        identify(call)
    return call is not None and call.agent == NAME


def _was_called(session: Session) -> bool:
    """True if hooks on this machine opened a session; commands, imports and bundles open sessions too."""
    is_here = session.environment is not None and session.environment.host == process.here().host
    return session.agent == NAME and bool(session.agent_session) and is_here and session.begun is not Beginning.IMPORTED


def _calls(workspace: Workspace, levels: list[Level], last: datetime | None, allowed: Allowed) -> Iterator[Check]:
    """Checks that our hooks are installed, of this version, and that the programs they run exist."""
    ours = [level.name for level in levels if settings_file.called(level.settings)]
    for level in levels:
        if level.trouble is not None:
            about = f"{path_text(level.path)}: {level.trouble.message}"
            yield Check(f"{level.name} settings", WARNING, about, level.trouble.hints)
        elif settings_file.called(level.settings) and level.name in SCOPES:
            yield from _block(level)
            yield from _programs(workspace, level, allowed)
    plugin = installed.find_plugin(levels, workspace.environ)
    if plugin is not None:
        yield from _plugin(workspace, plugin, ours)
    elif not ours:
        yield _no_hooks(workspace, last)
    scopes = list(dict.fromkeys(ours))  # the client runs the same command in two local files once
    if len(scopes) > 1:
        hints = [f"`holdfast uninit --scope {name}`" for name in scopes[1:]]
        yield Check("twice", WARNING, f"several settings files have Holdfast's hooks: {', '.join(scopes)}", hints)


def _init(level: Level) -> list[str]:
    return [f"`{installed.init_command(level)}`"]


def _no_hooks(workspace: Workspace, last: datetime | None) -> Check:
    if removed := installed.find_removal(workspace):
        return Check("hooks", BROKEN, removed.about, removed.hints)
    used = is_used(setup_of(workspace))
    about = "no settings file has Holdfast's hooks, and its plugin is not enabled"
    hints = ["`holdfast init --agent claude`", "`holdfast init --plugin` shows how to load the plugin"]
    if last is not None:  # `--plugin-dir` loads the plugin for a single session, which no settings record
        return Check("hooks", WARNING, f"{about}, but hooks have run: with `--plugin-dir`, or earlier", hints)
    return Check("hooks", BROKEN if used else WARNING, about, hints)


def _plugin(workspace: Workspace, plugin: Plugin, ours: list[str]) -> Iterator[Check]:
    """Checks that the enabled plugin exists and is this one; and if settings have our hooks too, which one records."""
    name, place = sound_text(plugin.name), path_text(plugin.level.path)
    remedy = [f"`{command}`" for command in hooks.plugin_commands(path_text(hooks.DIRECTORY))[1:]]
    if plugin.directory is None or not plugin.directory.is_dir():
        where = f"; {path_text(plugin.directory)} no longer exists" if plugin.directory else ""
        about = f"{place} enables {name}, which is not installed{where}"
        yield Check("plugin", WARNING if ours else BROKEN, about, remedy)
    elif real_path(plugin.directory) != real_path(hooks.DIRECTORY):
        about = f"{name} is another copy of the plugin, in {path_text(plugin.directory)}"
        yield Check("plugin", WARNING, about, remedy)
    elif ours:
        scopes = " and ".join(ours)
        about = f"{name} is enabled; {scopes} settings have the hooks too, so those record and the plugin is silent"
        yield Check("plugin", OK, about)
    else:
        yield Check("plugin", OK, f"{place} enables {name}")
    if not ours:
        yield check_path(workspace)


def _block(level: Level) -> Iterator[Check]:
    calls = settings_file.called(level.settings)
    wanted = hooks.block(level.name, sys.executable, str(ENTRY))
    missing = [event for event in wanted if event not in calls]
    other = [event for event in calls if event in wanted and calls[event] != [wanted[event]]]
    remedy = _init(level)
    name = f"{level.name} settings"
    if missing:
        yield Check(name, WARNING, f"{path_text(level.path)} lacks Holdfast's hooks for {', '.join(missing)}", remedy)
    elif any(hook_command.is_old(call) for found in calls.values() for call in found):
        about = f"{path_text(level.path)} has hooks in the old form with `args`, which Copilot CLI and Codex ignore"
        yield Check(name, WARNING, f"{about}: Copilot may then refuse its own tool calls", remedy)
    elif other or len(calls) > len(wanted):
        about = f"{path_text(level.path)} has the hooks of another version or installation of Holdfast"
        yield Check(name, WARNING, about, remedy)
    else:
        yield Check(name, OK, f"{path_text(level.path)} has Holdfast's hooks for all {len(wanted)} events")


def _switches(workspace: Workspace, levels: list[Level]) -> Iterator[Check]:
    """Checks for settings of any level that turn hooks off."""
    managed = [level for level in levels if level.name == "managed" and level.is_set("allowManagedHooksOnly")]
    switch = installed.find_switch(levels)
    if switch is not None:
        hint = f"remove `{installed.OFF}` from {path_text(switch.path)}"
        yield Check("switches", BROKEN, f"{path_text(switch.path)} turns all hooks off", [hint])
    for level in managed:
        about = f"{path_text(level.path)} allows only the hooks that an administrator has set"
        yield Check("switches", BROKEN, about, ["ask the administrator of this machine"])
    if not managed and switch is None and not workspace.is_off:
        yield Check("switches", OK, "nothing turns hooks off")


def _trust(workspace: Workspace) -> Check:
    if installed.is_trusted(workspace.root, workspace.environ):
        return Check("trust", OK, "Claude Code trusts this folder")
    about = "Claude Code does not trust this folder yet, so it runs no hooks here but with `-p`"
    return Check("trust", WARNING, about, ["start `claude` here once and answer its question"])


def _version(workspace: Workspace) -> Check:
    program, version = installed.find_version(workspace.root, workspace.environ)
    if program is None:
        return Check("client", WARNING, "there is no `claude` on PATH", ["install Claude Code"])
    if version is None:
        return Check("client", WARNING, f"{program} does not report its version", [f"`{program} --version`"])
    about = f"{program} is version {version}; Holdfast was tested with {hooks.TESTED}"
    there, tested = ([int(number) for number in text.split(".")] for text in (version, hooks.TESTED))
    if there < tested:
        return Check("client", WARNING, about, ["`claude update`"])
    return Check("client", OK, about)


def _arrival(workspace: Workspace, levels: list[Level], last: datetime | None) -> Check:
    """Check that calls arrive while the client works."""
    written = installed.last_written(workspace.root, workspace.environ)
    looks = [files.signature(level.path) for level in levels if settings_file.called(level.settings)]
    begun = [datetime.fromtimestamp(found[1] / 1e9, UTC) for found in looks if found]
    since = last or max(begun, default=None)
    if written and since and written - since > GRACE:
        about = f"a transcript was written at {shown(written)}, but no call has arrived since {shown(since)}"
        return Check("calls", BROKEN, about, ["restart Claude Code: it reads its hooks when it starts", "`/hooks`"])
    if last is None:
        return Check("calls", WARNING, "no call of Claude Code has arrived yet", ["start `claude` here"])
    return Check("calls", OK, f"the last call arrived at {shown(last)}")


def _programs(workspace: Workspace, level: Level, allowed: Allowed) -> Iterator[Check]:
    """Checks of the programs of our hooks. Settings may come from the repository: then only trusted ones are run."""
    calls = [call for found in settings_file.called(level.settings).values() for call in found]
    ways, trusted = [], None
    if level.name != "user":
        ways = [] if level.elsewhere else [f"`holdfast trust {shlex.quote(path_text(level.path))}`"]
        trusted = allowed(level.path) if ways else []  # programs by name, since the file may change meanwhile
    yield from check_programs(workspace, calls, _init(level), ways, trusted)
    if any(hook_command.PROGRAM in str(call.get("command")) for call in calls):
        yield check_path(workspace)
