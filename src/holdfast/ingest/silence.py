"""Warn of agents whose installed hooks do not run any more, so that silence is not mistaken for health."""

from __future__ import annotations

from holdfast.agents.registry import adapters
from holdfast.project.workspace import Workspace


def warn_if_silent(workspace: Workspace) -> None:
    """Name the agents that are not recorded any more, and the remedies, in a line each."""
    for agent in adapters() if not workspace.is_off else ():
        if silence := agent.find_silence(workspace):
            ways = ", or ".join(silence.hints)
            workspace.warn(f"{agent.LABEL} is not recorded here any more: {silence.about}; {ways}")
