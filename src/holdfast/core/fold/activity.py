"""The agent's reported work folded into a run: prompts, actions, turns, subagents, compactions, tokens.

An agent may report something twice and in any order. Everything with an id of the agent's is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from holdfast.core.model import (
    Action,
    Beginning,
    Body,
    Draft,
    Event,
    Mishap,
    Prompt,
    Run,
    Session,
    Underway,
    int_of,
    text_of,
    texts_of,
)
from holdfast.core.text import one_line

P = TypeVar("P", Prompt, Action)

SAID = "text.said"  # by the agent between its tool calls
KEPT_PROMPTS, KEPT_ACTIONS, KEPT_FILES, KEPT_ERRORS = 50, 50, 500, 50
REPORTED = frozenset({  # during a turn; only a prompt begins one
    "action.begun", "turn.ended", SAID, "error.met", "subagent.started", "subagent.ended", "subagent.told",
    "context.compacting", "context.compacted",
})  # fmt: skip
KEPT_TALK = 300  # events with a prompt or an answer, by number: the texts are read when they are told
PROMPT = 4_000  # characters of a prompt or an answer in the state; the event has all


def is_reported(event: Event) -> bool:
    """Return True if a client reports the event of its turn; an action recorded by a program has no key."""
    return event.kind in REPORTED or (event.kind == "action.taken" and bool(event.body.get("key")))


def touch(run: Run, event: Event, files: list[str]) -> None:
    for file in files:
        run.files.pop(file, None)  # so that the newest is last
        run.files[file] = event.time
    if event.body.get("imported") is True and any(time > event.time for time in run.files.values()):
        run.files = dict(sorted(run.files.items(), key=lambda found: found[1]))
    while len(run.files) > KEPT_FILES:
        del run.files[next(iter(run.files))]


def _in_order(entries: list[P], body: Body) -> list[P]:
    """Sort imported entries by time: they may be older than known ones. All others arrive in order."""
    return sorted(entries, key=lambda entry: entry.time) if body.get("imported") is True else entries


def _prompted(run: Run, event: Event, body: Body) -> None:
    """Add a prompt once. A prompt given while the agent works has the key of the running one."""
    key, text = text_of(body.get("key")) or None, text_of(body.get("text"))[:PROMPT]
    if key is None or all((prompt.key, prompt.text) != (key, text) for prompt in run.prompts):
        run.prompts = _in_order([*run.prompts, Prompt(text, event.time, key)], body)[-KEPT_PROMPTS:]
        _note_talk(run, event)


def _note_talk(run: Run, event: Event) -> None:
    run.talk = [*run.talk, event.seq][-KEPT_TALK:]


def _said(run: Run, event: Event, body: Body) -> None:
    _note_talk(run, event)


def _begun(run: Run, event: Event, body: Body) -> None:
    """Note an action that was begun; its end may never be reported."""
    key = text_of(body.get("key"))
    if key and all(action.key != key for action in run.actions):
        run.doing[key] = Underway(text_of(body.get("text")), event.time, event.session)


def _acted(run: Run, event: Event, body: Body) -> None:
    files, key = texts_of(body.get("files")), text_of(body.get("key")) or None
    error = text_of(body.get("error")) or None
    earlier = _find_action(run, key)
    if earlier is None:
        action = Action(text_of(body.get("text")), event.time, files, key, error, body.get("reads") is True)
        run.actions = _in_order([*run.actions, action], body)[-KEPT_ACTIONS:]
        if body.get("refused") is not True:
            _stand(run, body, files)
    elif error and not earlier.error:
        earlier.error = error
    run.doing.pop(key or "", None)
    touch(run, event, files)
    if error and (earlier is None or earlier.error == error):
        fail(run, event, f"{text_of(body.get('text'))}: {error}")


def _find_action(run: Run, key: str | None) -> Action | None:
    return next((action for action in run.actions if key and action.key == key), None)


def is_repeated(run: Run, draft: Draft) -> bool:
    """Return True if the run knows the action: clients report a failed one alone and again with its batch."""
    earlier = _find_action(run, text_of(draft.body.get("key"))) if draft.kind == "action.taken" else None
    return earlier is not None and (earlier.error is not None or not draft.body.get("error"))


def _stand(run: Run, body: Body, files: list[str]) -> None:
    """Count an action, or the number it stands for, and note its last file and line."""
    actions = int_of(body.get("actions"))
    run.standing.actions += 1 if actions is None else actions
    run.standing.trigger = "action"
    if files:
        run.standing.file = files[-1]
        run.standing.line = int_of(body.get("line"), 1)


def fail(run: Run, event: Event, text: str, agent: str | None = None) -> None:
    """Record an error once."""
    if all((met.text, met.agent) != (text, agent) for met in run.errors):
        run.errors = [*run.errors, Mishap(text, event.time, agent)][-KEPT_ERRORS:]


def _turned(run: Run, event: Event, body: Body) -> None:
    """End the turn of a session: its own actions are over, and those that it inherited."""
    if text := text_of(body.get("text")):
        run.reply = text[:PROMPT]
        _note_talk(run, event)
    ended = event.session
    over = [key for key, action in run.doing.items() if ended == action.session or (ended and ended == action.heir)]
    run.doing = {key: action for key, action in run.doing.items() if key not in over}


def _is_broken_off(run: Run, action: Underway) -> bool:
    """Return True if the action's session has ended without its end."""
    return action.session is not None and action.session not in run.open_sessions


def pass_on(run: Run, session: str) -> None:
    """Make the new session the heir of unfinished actions of ended sessions."""
    for action in run.doing.values():
        if _is_broken_off(run, action) and action.heir not in run.open_sessions:
            action.heir = session


def told_underway(run: Run, length: int) -> list[tuple[str, datetime]]:
    """Return unfinished actions with their start, as in progress or interrupted.

    The session is named if there are several. A run that has ended has none.
    """
    several = len({action.session for action in run.doing.values()}.union(run.open_sessions)) > 1
    told = []
    for action in run.doing.values() if run.status.is_open else ():
        words = "interrupted in" if _is_broken_off(run, action) else "in the middle of"
        whose = f" ({action.session})" if several and action.session else ""
        told.append((f"{words}: {one_line(action.text, length)}{whose}", action.time))
    return told


def _subagent(run: Run, event: Event, body: Body) -> None:
    if event.kind == "subagent.started":
        run.subagents[text_of(body.get("key"))] = text_of(body.get("type"))
    else:
        run.subagents.pop(text_of(body.get("key")), None)
        text = ": ".join(filter(None, [text_of(body.get("type")) or "subagent", text_of(body.get("text"))]))
        run.actions = [*run.actions, Action(text, event.time)][-KEPT_ACTIONS:]


def _compacted(run: Run, event: Event, body: Body) -> None:
    run.compacted = event.time
    if event.kind == "context.compacting":
        return
    run.compactions += 1
    run.context_tokens = None  # unknown until the next reply
    run.summary = text_of(body.get("summary")) or run.summary


HANDLERS: dict[str, Callable[[Run, Event, Body], None]] = {
    "prompt.given": _prompted,
    "action.begun": _begun,
    "action.taken": _acted,
    "turn.ended": _turned,
    SAID: _said,
    "error.met": lambda run, event, body: fail(run, event, text_of(body.get("text")), text_of(body.get("by")) or None),
    "subagent.started": _subagent,
    "subagent.ended": _subagent,
    "subagent.told": _subagent,
    "context.compacting": _compacted,
    "context.compacted": _compacted,
}


# Tokens and cost

MEASURED, COUNTED = "context.measured", "usage.counted"
SILENT = frozenset({MEASURED, COUNTED})  # measurements are no activity of the agent
COMPACTED = "context.compacted"
USUAL, LARGE, UNTOLD = 200_000, 1_000_000, 128_000  # tokens of a window: Claude's, its large one, any other's
LARGE_MARK = "[1m]"  # in the name of a model with the large window
LEVELS = (("compact", 78), ("warn", 55), ("filling", 50), ("healthy", 0))  # from so many per cent
GOING_ON = (Beginning.RESUME, Beginning.COMPACT, Beginning.FORK)  # the context of the earlier session goes on
MOST_TOKENS = 10**9  # tokens; a larger number is no measurement
ADVICE = {
    "healthy": "there is room",
    "filling": "there is room, but not for everything: keep answers short",
    "warn": "save what matters soon: `holdfast save`, `holdfast decide`, `holdfast note`",
    "compact": "save now (`holdfast save`), then compact the conversation",
}


class Fill(Struct):
    """The fill level of a context."""

    tokens: int
    window: int
    percent: int
    state: str  # `healthy`, `filling`, `warn` or `compact`
    advice: str


def fill_of(tokens: int | None, window: int | None) -> Fill | None:
    """Return the fill for a measured number of tokens; None if nothing was measured."""
    if tokens is None or not window:
        return None
    percent = round(100 * tokens / window)
    state = next(name for name, least in LEVELS if percent >= least)
    return Fill(tokens, window, percent, state, ADVICE[state])


def format_fill(fill: Fill) -> str:
    """Return `43 % (86,000 of 200,000 tokens)`."""
    return f"{fill.percent} % ({fill.tokens:,} of {fill.window:,} tokens)"


def window_of(tokens: int, model: str | None, known: int | None, earlier: int | None) -> int:
    """Return the capacity of a context: as reported, or else by the model's name and the tokens seen in it."""
    if known:
        return known
    is_large = LARGE_MARK in (model or "") or tokens > USUAL
    return max(earlier or 0, LARGE if is_large else USUAL)


def measured(run: Run, event: Event, body: Body) -> None:
    """Update the run's context, unless the measurement is of a session that another one has followed."""
    is_past = run.last_session is not None and event.session not in (None, run.last_session, *run.open_sessions)
    if not is_past and (tokens := int_of(body.get("tokens"))) is not None:
        run.context_tokens = tokens
        run.context_window = int_of(body.get("window")) or run.context_window


def reset_context(run: Run, body: Body) -> None:
    """Forget the context size, unless the session continues an earlier context."""
    if body.get("begun") not in GOING_ON:
        run.context_tokens = None


def measure_session(session: Session, event: Event) -> None:
    """Apply a measurement to a session; other events change nothing."""
    body = event.body
    if event.kind == COMPACTED:
        session.context_tokens = None  # unknown until the next reply
    elif event.kind == MEASURED and (tokens := int_of(body.get("tokens"))) is not None:
        session.context_tokens = tokens
        session.context_window = int_of(body.get("window")) or session.context_window
        session.model = text_of(body.get("model")) or session.model
    elif event.kind == COUNTED:
        session.tokens_read = int_of(body.get("read")) or 0
        session.tokens_written = int_of(body.get("written")) or 0
        session.cost = _cost(body.get("cost"))


def _cost(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= MOST_TOKENS else None


class Spent(Struct):
    """Tokens and cost, summed over the sessions that reported them."""

    tokens_read: int = 0
    tokens_written: int = 0
    cost: float | None = None  # in US dollars; null: not reported
    told: int = 0  # sessions with usage
    untold: int = 0  # sessions without


def total_usage(sessions: Iterable[Session]) -> Spent:
    """Sum the usage of sessions, counting those without any, so that a part is not taken for the whole."""
    counted = list(sessions)
    costs = [session.cost for session in counted if session.cost is not None]
    told = sum(map(has_usage, counted))
    return Spent(
        sum(session.tokens_read for session in counted),
        sum(session.tokens_written for session in counted),
        sum(costs) if costs else None,
        told,
        len(counted) - told,
    )


def remaining_usage(total: Spent, others: Iterable[Session]) -> Spent:
    """Subtract what other sessions of the same conversation have reported already."""
    known = total_usage(others)
    cost = max(0.0, total.cost - (known.cost or 0.0)) if total.cost is not None else None
    read, written = total.tokens_read - known.tokens_read, total.tokens_written - known.tokens_written
    return Spent(max(0, read), max(0, written), cost)


def has_usage(session: Session) -> bool:
    return bool(session.tokens_read or session.tokens_written or session.cost is not None)


def format_usage(total: Spent) -> str | None:
    """Return `12,000 tokens read, 3,400 written, 1.20 US dollars (2 of 3 sessions told it)`; None if unknown."""
    if not total.told:
        return None
    parts = []
    if total.tokens_read or total.tokens_written:
        parts = [f"{total.tokens_read:,} tokens read", f"{total.tokens_written:,} written"]
    if total.cost is not None:
        parts.append(f"{total.cost:,.2f} US dollars")
    some = f" ({total.told} of {total.told + total.untold} sessions told it)" if total.untold else ""
    return ", ".join(parts) + some
