"""Detect hooks of Claude Code that are installed and do not reach us, so that silence is not mistaken for health."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from holdfast.agents.claude import hooks, installed
from holdfast.agents.claude.transcript import IMPORTED
from holdfast.agents.registry import identify
from holdfast.core.errors import HoldfastError
from holdfast.core.model import Session
from holdfast.core.text import path_text
from holdfast.project import inbox
from holdfast.project.inbox import NotACall
from holdfast.project.workspace import Workspace
from holdfast.system import files, process

NEWEST = 100  # waiting calls that are searched for one of Claude Code


class Silence(Struct):
    """Why hooks that `init` installed do not run, and the remedies."""

    about: str
    hints: list[str]


def warn_if_silent(workspace: Workspace) -> None:
    """Say in one line that hooks which `init` installed do not run any more, and what to do."""
    for silence in (find_removal(workspace), find_off_switch(workspace)):
        if silence is not None and not workspace.is_off:
            told = ", or ".join(silence.hints)
            workspace.warn(f"Claude Code is not recorded here any more: {silence.about}; {told}")
            return


def find_removal(workspace: Workspace) -> Silence | None:
    """Hooks that were removed from the agent's settings without `uninit`."""
    lost = installed.find_lost(workspace.root, workspace.environ, workspace.user_directory("state"))
    if lost is None:
        return None
    scope, path = lost
    hints = [f"`holdfast init --scope {scope}` restores them", "`holdfast uninit` confirms the removal"]
    return Silence(f"the hooks were removed from {path_text(path)} (perhaps by `git clean -fdx`)", hints)


def find_off_switch(workspace: Workspace) -> Silence | None:
    """The setting that turns all hooks off, ours among them."""
    levels = installed.levels(workspace.root, workspace.environ, workspace.user_directory("state"))
    switch = next((level for level in levels if level.is_set(installed.OFF)), None)
    if switch is None or not installed.is_called(levels, workspace.environ):
        return None
    place = path_text(switch.path)
    return Silence(f"`{installed.OFF}` in {place} turns all hooks off", [f"remove `{installed.OFF}` from {place}"])


def last_call(workspace: Workspace) -> datetime | None:
    """The time of Claude Code's last call here: a waiting one, or one that was ingested."""
    try:
        waiting = inbox.waiting(workspace.inbox)[-NEWEST:]
        looks = [files.signature(workspace.inbox / name) for name in waiting if _is_claudes(workspace, name)]
        times = [datetime.fromtimestamp(look[1] / 1e9, UTC) for look in looks if look]  # others were ingested meanwhile
        if workspace.exists:
            with workspace.reading() as journal:
                sessions = journal.list_sessions(limit=50)
            times += [found.last_active or found.opened for found in sessions if _was_called(found)]
    except (HoldfastError, OSError):  # the check of the store says why
        return None
    return max(times, default=None)


def _is_claudes(workspace: Workspace, name: str) -> bool:
    try:
        call = inbox.read(workspace.inbox, name)
    except NotACall:
        return False
    if call is not None:
        identify(call)
    return call is not None and call.agent == hooks.AGENT


def _was_called(session: Session) -> bool:
    """Whether hooks on this machine opened a session; commands, transcripts and parcels open sessions too."""
    is_here = session.environment is not None and session.environment.host == process.here().host
    return session.agent == hooks.AGENT and bool(session.agent_session) and is_here and session.reason != IMPORTED
