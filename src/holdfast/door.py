"""The door of committed hooks: `holdfast-hook AGENT EVENT`, found through PATH. It keeps the call, or answers it.

It loads no more than that needs, and leaves without the interpreter's own farewell. It always exits with 0.
"""

from __future__ import annotations

import os
import sys

from holdfast.hooking import ANSWERED  # `from holdfast import …` would look for a public name first, and load more
from holdfast.spool import hook


def main() -> None:
    try:
        agent, event = sys.argv[1:3]
        if event in ANSWERED:
            from holdfast.answer import main as answer

            answer([agent, event])
            sys.stdout.flush()
        else:
            hook(agent, event)
    finally:
        os._exit(0)
