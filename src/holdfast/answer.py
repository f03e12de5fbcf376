"""The hook that answers: `holdfast hook AGENT EVENT`. It keeps the call first, never fails, and prints one answer.

A process that is called with `later` goes on where nobody waits: it takes in what was kept, and makes a checkpoint of
what a turn has changed.
"""

from __future__ import annotations

import os
import sys

from holdfast import spool

PLAIN = ("PreCompact",)  # what is printed here joins the instructions for the summary as it is


def main(arguments: list[str]) -> int:
    """Answer, and exit with 0 whatever happens: a hook must never break the agent."""
    agent, event = [*arguments, "", ""][:2]
    try:
        if agent == "later":
            _go_on()
        else:
            _answer(agent, event)
    except BaseException as error:
        store = spool.locate(os.getcwd())[1]
        spool.note_trouble(store, agent, event, error)
    return 0


def _answer(agent: str, event: str) -> None:
    kept = spool.hook(agent, event)
    if kept is None or event not in ("SessionStart", "PreCompact"):
        return
    from holdfast import intake
    from holdfast.answering import answer
    from holdfast.workspace import open_workspace

    call = intake.decode("", os.pread(kept, intake.READ_LIMIT, 0))
    with open_workspace(os.getcwd()) as workspace:
        text = answer(workspace, call, event)
    if text:
        sys.stdout.write(text if event in PLAIN else _as_json(event, text))
        sys.stdout.flush()


def _as_json(event: str, text: str) -> str:
    import json

    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}) + "\n"


def _go_on() -> None:
    from holdfast.later import go_on
    from holdfast.workspace import open_workspace

    with open_workspace(os.getcwd()) as workspace:
        go_on(workspace)
