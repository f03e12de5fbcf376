"""Import of Claude Code's transcripts: converts their lines to the events that its hooks would have recorded.

The id of an event is derived from that of its line, which the client preserves when it copies lines into a forked
conversation. So the import is idempotent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from holdfast.agents.claude import events
from holdfast.agents.claude.client import NAME
from holdfast.agents.claude.transcript import (
    SYNTHETIC,
    Tally,
    backwards,
    blocks_of,
    content_of,
    is_boundary,
    read_lines,
    search_end,
    usage_of,
)
from holdfast.agents.generic_client import text_of
from holdfast.agents.jsonl import Line, parse
from holdfast.agents.protocol import Usage
from holdfast.core import ids
from holdfast.core.fold.activity import SAID, Spent
from holdfast.core.model import Body, Draft, list_of

# Prefixes of user messages that are no prompts: commands and their output, notices of the client.
NOT_PROMPTS = (
    "<command-", "<local-command-", "<bash-", "<system-reminder>", "<user-prompt-submit-hook>", "[Request interrupted",
    "Caveat: The messages below",
)  # fmt: skip
NOT_HIS = ("isSidechain", "isMeta", "isCompactSummary")  # flags of user messages that the client wrote
ENDS = "end_turn"  # the reason with which an answer ends a turn
WAITING = 10_000  # limit of tool calls without a result in memory
SUMMARY = "Summary:\n"
SPOKEN = (b'"user"', b'"assistant"')  # types of lines with a prompt or an answer
TURN = 4 * 1024 * 1024  # bytes from the end that are searched for the last prompt
MOST_SAID = 200  # texts of a turn
NEVER = datetime.max.replace(tzinfo=UTC)
Told = Iterator[tuple[str, Body]]


class Asked(Struct):
    """A tool call, and the line that contains it."""

    line: Line
    name: str
    given: Any


def retell(
    transcripts: Iterable[Path], clean: Callable[[Any], Any], lose: Callable[[], object], now: datetime
) -> Retelling:
    """The events of one conversation, from its own transcript and those of its subagents."""
    lines = itertools.chain.from_iterable(read_lines(path, lose) for path in transcripts)
    return Retelling(map(clean, lines), now)


class Retelling:
    """The events of the lines of one conversation, in order, and the totals after the last of them."""

    def __init__(self, lines: Iterable[Line], now: datetime) -> None:
        self.usage: Usage | None = None
        self.tally = Tally()
        self.last = ""  # the id of the last line
        self.begun: datetime | None = None
        self.time = self._now = now
        self._lines = lines
        self._asked: dict[str, Asked] = {}
        self._trigger = ""

    @property
    def spent(self) -> Spent:
        return self.tally.spent

    def drafts(self) -> Iterator[Draft]:
        for line in self._lines:
            self.tally.add(line)
            if line.get("type") == "cost-state":
                continue
            self.time = _time(line, self.time, self._now)
            self.begun = self.begun or self.time
            self.last = text_of(line, "uuid") or self.last
            self.usage = usage_of(line) or self.usage
            for at, (kind, body) in enumerate(self._told(line)):
                yield self._draft(line, at, kind, body)
        for key, asked in self._asked.items():  # tool calls without a result
            for kind, body in events.tell("PreToolUse", _call(asked, key)):
                yield self._draft(asked.line, f"begun {key}", kind, body)

    def _draft(self, line: Line, at: int | str, kind: str, body: Body) -> Draft:
        body = {**body, "imported": True}
        return Draft(kind, body, _event_id(line, at), _time(line, self.time, self._now), agent=NAME)

    def _told(self, line: Line) -> Told:
        if is_boundary(line):
            about = line.get("compactMetadata")
            self._trigger = text_of(about, "trigger")
        elif line.get("type") == "user" and line.get("isCompactSummary") is True:
            yield from self._compacted(line)
        elif line.get("type") == "user":
            yield from self._results(line)
            yield from self._prompt(line)
        elif line.get("type") == "assistant":
            yield from self._answer(line)

    def _compacted(self, line: Line) -> Told:
        text = "\n".join(_texts(line))
        summary = text.partition(SUMMARY)[2].partition("\n\nIf you need specific details")[0] or text
        yield from events.tell("PostCompact", {"trigger": self._trigger, "compact_summary": summary})

    def _prompt(self, line: Line) -> Told:
        if text := prompt_in(line):
            yield from events.tell("UserPromptSubmit", {"prompt": text, "prompt_id": text_of(line, "uuid")})

    def _answer(self, line: Line) -> Told:
        for block in blocks_of(line, "tool_use"):
            key = text_of(block, "id")
            if key and len(self._asked) < WAITING:
                self._asked[key] = Asked(line, text_of(block, "name"), block.get("input"))
        text = "\n".join(_texts(line))
        if text and text_of(line.get("message"), "stop_reason") == ENDS and line.get("isSidechain") is not True:
            yield from events.tell("Stop", {"last_assistant_message": text})
        elif said := _said_in(line):
            yield SAID, {"text": said[: events.ANSWER]}

    def _results(self, line: Line) -> Told:
        for block in blocks_of(line, "tool_result"):
            key = text_of(block, "tool_use_id")
            asked = self._asked.pop(key, None)
            if asked is None:
                continue
            content = block.get("content")
            texts = (text_of(part, "text") for part in list_of(content) if isinstance(part, dict))
            said = content if isinstance(content, str) else "\n".join(texts)
            is_error = block.get("is_error") is True
            answer = {"error": said or "failed"} if is_error else {"tool_response": said}
            yield from events.tell("PostToolUseFailure" if is_error else "PostToolUse", {**_call(asked, key), **answer})


def read_said(path: Path, until: datetime) -> list[Draft]:
    """Return the texts between the tool calls of the newest turn at this time, in order.

    The events have the ids that an import gives them, so they are recorded once.
    """
    return (search_end(path, partial(_said_since_prompt, until), TURN) or [])[::-1]


def _said_since_prompt(until: datetime, data: bytes, whole: bool) -> tuple[list[Draft], bool]:
    """The texts in the tail of a file back to the last prompt, newest first, and True if that prompt was found."""
    found: list[Draft] = []
    for data_line in backwards(data, whole):
        line = (parse(data_line) if any(kind in data_line for kind in SPOKEN) else None) or {}
        time = _time(line, NEVER, NEVER)
        if time > until:
            continue
        if prompt_in(line):
            return found, True
        if text := _said_in(line):
            found.append(Draft(SAID, {"text": text}, _event_id(line, 0), time, agent=NAME))
            if len(found) >= MOST_SAID:
                return found, True
    return found, whole


def _said_in(line: Line) -> str:
    """The text of the main conversation in this line, unless it ends a turn: a hook tells that one."""
    message = line.get("message")
    is_other = text_of(message, "model") == SYNTHETIC or text_of(message, "stop_reason") == ENDS
    if line.get("type") != "assistant" or line.get("isSidechain") is True or is_other:
        return ""
    return "\n".join(_texts(line)).strip()


def _event_id(line: Line, at: int | str) -> str:
    return ids.event_of_call(f"claude line {text_of(line, 'uuid') or repr(line)} {at}")


def prompt_in(line: Line) -> str | None:
    """The text of the user's prompt in this line; None if it is not a prompt."""
    if line.get("type") != "user" or any(line.get(mark) is True for mark in NOT_HIS):
        return None
    text = "\n".join(_texts(line)).strip()
    return None if not text or text.startswith(NOT_PROMPTS) else text


def goal_in(line: Line) -> str | None:
    """The goal of a run that starts with this line."""
    text = prompt_in(line)
    return events.goal_of({"prompt": text}) if text else None


def opening_of(transcripts: Iterable[Path], hide: Callable[[Any], Any]) -> tuple[str, str | None]:
    for path in transcripts:
        for line in read_lines(path):
            if goal_in(line) and (goal := goal_in(hide(line))):  # redacted before it is truncated
                return str(line.get("uuid") or ""), goal
    return "", None


def _call(asked: Asked, key: str) -> Body:
    return {
        "tool_name": asked.name,
        "tool_input": asked.given,
        "tool_use_id": key,
        "cwd": text_of(asked.line, "cwd"),
        "agent_id": text_of(asked.line, "agentId") if asked.line.get("isSidechain") is True else "",
    }


def _time(line: Line, before: datetime, now: datetime) -> datetime:
    """The timestamp of a line, at most now; that of the line before it, if the line has none."""
    try:
        found = datetime.fromisoformat(text_of(line, "timestamp"))
        return min(found.astimezone(UTC), now) if found.tzinfo else before
    except (ValueError, OverflowError):
        return before


def _texts(line: Line) -> list[str]:
    content = content_of(line)
    return [content] if isinstance(content, str) else [text_of(block, "text") for block in blocks_of(line, "text")]
