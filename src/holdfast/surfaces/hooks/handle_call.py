"""The hook that answers: `holdfast hook AGENT EVENT`. It keeps the call first, never fails, and prints one answer.

An agent waits for it, so it has a deadline: then a short answer goes out, and the rest is done where nobody waits. A
process that is called with `later` is that place: it takes in what was kept, and makes a checkpoint of what changed.
One that is called with `observe` answers a command that somebody typed into the client.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from holdfast.agents.claude.hooks import STATUS_LINE
from holdfast.ingest import detach
from holdfast.project import inbox_writer
from holdfast.surfaces.hooks import record
from holdfast.system import locate

PLAIN = ("PreCompact",)  # what is printed here joins the instructions for the summary as it is
ANSWERED = ("SessionStart", "PreCompact")
ENDING = "SessionEnd"  # has no answer; where another system keeps runs in files, theirs are closed
DEADLINE, SHORTLY = 3.5, 0.6  # seconds after our begin for the answer, and then for a short one: less than 5 together
LEAST = 0.2  # seconds for the answer, however long it took to begin
WAITS = "3"  # seconds for the store, where somebody has typed a command

T = TypeVar("T")
_begun = time.monotonic()


def main(arguments: list[str]) -> int:
    """Answer, and exit with 0 whatever happens: a hook must never break the agent."""
    agent, event = [*arguments, "", ""][:2]
    try:
        if agent in ERRANDS:
            ERRANDS[agent](*arguments[1:])
        elif event == STATUS_LINE:
            _draw()
        else:
            _answer(agent, event)
    except BaseException as error:
        _note_trouble(agent, event, error)
    return 0


def _note_trouble(agent: str, event: str, error: BaseException) -> None:
    try:
        inbox_writer.note_trouble(locate.locate_store(os.getcwd())[1], agent, event, error)
    except BaseException:  # the directory that we stand in may be gone, as after `git worktree remove`
        pass


def _answer(agent: str, event: str) -> None:
    kept = record.hook(agent, event)
    if kept is None or (event not in ANSWERED and not (event == ENDING and _has_files())):
        return
    from holdfast.worktree import prefetch

    if event != ENDING:
        prefetch.begin()
    from holdfast.project import inbox
    from holdfast.project.workspace import open_workspace
    from holdfast.surfaces.hooks.replies import Answer, answer, answer_shortly

    call = inbox.decode("", os.pread(kept, inbox.READ_LIMIT, 0))

    def tell(teller: Callable[..., Answer]) -> Answer:
        with open_workspace(os.getcwd()) as workspace:
            return teller(workspace, call, event)

    found, in_time = _within(_left(), lambda: tell(answer))
    if not in_time:
        found, _ = _within(SHORTLY, lambda: tell(answer_shortly))
    if found and found.text:
        sys.stdout.write(found.text if event in PLAIN else _as_json(event, found.text, found.notice))
        sys.stdout.flush()
    if not in_time:  # what is still at work here ends with us, as it may at any moment
        detach.go_on_later()
        os._exit(0)


def _has_files() -> bool:
    return os.path.isdir(os.path.join(locate.locate_store(os.getcwd())[0], ".fractary"))


def _left() -> float:
    return max(LEAST, _begun + DEADLINE - time.monotonic())


def _within(seconds: float, work: Callable[[], T]) -> tuple[T | None, bool]:
    """What a piece of work answers, and whether it came to an end in time."""
    import threading

    answers: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    return (answers[0], True) if answers else (None, False)


def _as_json(event: str, text: str, notice: str | None) -> str:
    import json

    shown = {"systemMessage": notice} if notice else {}
    return json.dumps({**shown, "hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}) + "\n"


def _observe(*_: str) -> None:
    """Answer what was typed into the client, if it was meant for us. The kept call is our standard input."""
    import json

    from holdfast.project import inbox
    from holdfast.project.workspace import open_workspace
    from holdfast.surfaces.hooks.chat_command import observe

    call = inbox.decode("", os.pread(0, inbox.READ_LIMIT, 0))
    with open_workspace(call.directory, environ={"HOLDFAST_STORE_DEADLINE": WAITS, **os.environ}) as workspace:
        text = observe(workspace, call)
    if text is not None:
        sys.stdout.write(json.dumps({"decision": "block", "reason": text}) + "\n")
        sys.stdout.flush()


def _draw() -> None:
    """Draw the line for what stands on standard input. Somebody may never close that, or hold the store for himself."""
    from holdfast.agents.claude import status_line

    payload, is_read = _within(_left(), status_line.read)
    text, in_time = _within(_left(), lambda: status_line.drawn(payload or {}))
    sys.stdout.write((text or status_line.without_store(payload or {})) + "\n")
    sys.stdout.flush()
    if not is_read or not in_time:
        os._exit(0)


def _go_on(directory: str = "", call: str = "") -> None:
    from holdfast.ingest.background import go_on
    from holdfast.project.workspace import open_workspace

    with open_workspace(directory or os.getcwd()) as workspace:
        go_on(workspace, call)


ERRANDS: dict[str, Callable[..., None]] = {
    "later": _go_on,
    "observe": _observe,
}  # what is asked for by us, and not by an agent
