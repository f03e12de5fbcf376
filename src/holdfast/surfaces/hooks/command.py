"""The program of hooks that are found through PATH: `holdfast-hook [--plugin] AGENT EVENT`.

It records the call, or answers it. It loads no more than that needs, leaves without the interpreter's own shutdown, and
always exits with 0.
"""

from __future__ import annotations

import os
import sys

from holdfast.agents.hook_command import PLUGIN
from holdfast.surfaces.hooks.record import client_of, hook

ANSWERED = ("start", "compacting", "end")  # moments at which a client waits for an answer; all others are recorded


def main() -> None:
    try:
        words = sys.argv[1:]
        by_plugin = words[:1] == [PLUGIN]
        agent, event = words[by_plugin:][:2]
        if by_plugin and _is_superseded(agent, event):
            return
        if client_of(agent, __import__).MOMENTS.get(event, "") in ("", *ANSWERED):  # no event: a status line
            from holdfast.surfaces.hooks.handle_call import main as answer

            answer([agent, event])
            sys.stdout.flush()
        else:
            hook(agent, event)
    finally:
        os._exit(0)


def _is_superseded(agent: str, event: str) -> bool:
    """True if a settings file makes the plugin's call too."""
    if not agent.isidentifier():
        return False
    try:
        __import__(f"holdfast.agents.{agent}.plugin_call")
    except ImportError:  # a client whose plugin knows nothing of settings
        return False
    return bool(sys.modules[f"holdfast.agents.{agent}.plugin_call"].is_superseded(event))
