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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from holdfast.ingest import detach
from holdfast.project import inbox_writer
from holdfast.surfaces.hooks import record
from holdfast.system import locate

if TYPE_CHECKING:
    from holdfast.agents.protocol import Agent
    from holdfast.project.workspace import Workspace
    from holdfast.surfaces.hooks.brief_reply import Answer, Asking

DEADLINE, SHORTLY = 3.5, 0.6  # seconds after our begin for the answer, and then for a short one: less than 5 together
LEAST = 0.2  # seconds for the answer, however long it took to begin
WAITS = "3"  # seconds for the store, where somebody has typed a command

STATUS_LIMIT = 1024 * 1024  # bytes that are read for a status line

T = TypeVar("T")
_begun = time.monotonic()


def main(arguments: list[str]) -> int:
    """Answer, and exit with 0 whatever happens: a hook must never break the agent."""
    agent, event = [*arguments, "", ""][:2]
    try:
        if agent in ERRANDS:
            ERRANDS[agent](*arguments[1:])
        elif event and event == _adapter(agent).STATUS_LINE:
            _draw(agent)
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


def _adapter(agent: str) -> Agent:
    from holdfast.agents.registry import find_agent

    return find_agent(agent)


def _answer(agent: str, event: str) -> None:
    kept = record.hook(agent, event)
    adapter = _adapter(agent)
    moment = record.client_of(agent, __import__).MOMENTS.get(event)
    is_end = moment == "end" and _has_files()  # it has no answer; but another system's session is closed
    if kept is None or (moment not in adapter.ANSWERS and not is_end):
        return
    from holdfast.worktree import prefetch

    if not is_end:
        prefetch.begin()
    from holdfast.project import inbox
    from holdfast.surfaces.hooks.brief_reply import Asking, answer

    call = inbox.decode("", os.pread(kept, inbox.READ_LIMIT, 0))
    if not _tell(Asking(call, adapter.read_call(call), adapter), answer).in_time:
        detach.go_on_later()  # the work that is under way here ends with us, as it may at any moment
        os._exit(0)


class Told(NamedTuple):
    is_told: bool  # whether anything was printed
    in_time: bool


def _tell(asking: Asking, answer: Callable[[Workspace, Asking], Answer]) -> Told:
    """Print the answer, or a short one if the deadline is over."""
    from holdfast.ingest.open import open_workspace
    from holdfast.surfaces.hooks.brief_reply import answer_shortly

    def tell(teller: Callable[[Workspace, Asking], Answer]) -> Answer:
        with open_workspace(asking.call.directory) as workspace:
            return teller(workspace, asking)

    found, in_time = _within(_left(), lambda: tell(answer))
    if not in_time:
        found, _ = _within(SHORTLY, lambda: tell(answer_shortly))
    if found and found.text:
        sys.stdout.write(asking.agent.reply(asking.call.event, found.text, found.notice))
        sys.stdout.flush()
    return Told(bool(found and found.text), in_time)


def _has_files() -> bool:
    from holdfast.layouts.registry import has_sessions

    return has_sessions(os.fspath(locate.locate_store(os.getcwd())[0]))


def _left() -> float:
    return max(LEAST, _begun + DEADLINE - time.monotonic())


def _within(seconds: float, work: Callable[[], T]) -> tuple[T | None, bool]:
    """Return the result of a task, and whether it finished within its deadline."""
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


def _observe(*_: str) -> None:
    """Answer a chat command, or else give the brief that is due. The recorded call is our standard input."""
    from holdfast.agents.registry import identify
    from holdfast.ingest.open import open_workspace
    from holdfast.project import inbox
    from holdfast.surfaces.hooks import due_brief
    from holdfast.surfaces.hooks.brief_reply import Asking
    from holdfast.surfaces.hooks.chat_command import observe

    call = inbox.decode("", os.pread(0, inbox.READ_LIMIT, 0))
    identify(call)
    adapter = _adapter(call.agent)
    reading = adapter.read_call(call)
    with open_workspace(call.directory, environ={"HOLDFAST_STORE_DEADLINE": WAITS, **os.environ}) as workspace:
        text = observe(workspace, reading)
        is_due = text is None and due_brief.find(workspace, reading.conversation or "") is not None
    if text is not None:
        sys.stdout.write(adapter.refuse_prompt(text))
        sys.stdout.flush()
    elif is_due:
        _give_due(Asking(call, reading, adapter))


def _give_due(asking: Asking) -> None:
    """Give a prompt the brief that is due. Where nothing could be told in time, the next prompt gets it."""
    from holdfast.ingest.open import open_workspace
    from holdfast.surfaces.hooks import due_brief
    from holdfast.surfaces.hooks.brief_reply import answer_prompt

    told = _tell(asking, answer_prompt)
    if told.is_told or told.in_time:
        with open_workspace(asking.call.directory) as workspace:
            due_brief.clear(workspace, asking.reading.conversation or "")
    if not told.in_time:
        os._exit(0)


def _draw(agent: str) -> None:
    """Draw the status line for standard input, which may never be closed, while the store may be locked."""
    from holdfast.ingest.open import open_workspace

    adapter = _adapter(agent)
    payload, is_read = _within(_left(), _read_payload)
    text, in_time = _within(_left(), lambda: adapter.draw_status(payload or {}, open_workspace))
    sys.stdout.write((text or adapter.draw_without_store(payload or {})) + "\n")
    sys.stdout.flush()
    if not is_read or not in_time:
        os._exit(0)


def _read_payload() -> dict[str, Any]:
    from holdfast.project import inbox

    try:
        found = inbox.parse(sys.stdin.buffer.read(STATUS_LIMIT))
    except (inbox.NotACall, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def _go_on(directory: str = "", call: str = "") -> None:
    from holdfast.ingest.open import open_workspace
    from holdfast.maintenance.background import run_pending

    with open_workspace(directory or os.getcwd()) as workspace:
        run_pending(workspace, call)


ERRANDS: dict[str, Callable[..., None]] = {
    "later": _go_on,
    "observe": _observe,
}  # what is asked for by us, and not by an agent
