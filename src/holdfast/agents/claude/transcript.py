"""Claude Code's own record of a conversation, a JSON object a line. It is only read, and nothing in it is believed.

The form is the client's own and changes: whatever is not what we know is passed over.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from holdfast.agents.jsonl import CHUNK, ENDING, Line, parse, split
from holdfast.agents.protocol import Usage
from holdfast.core.errors import HoldfastError, from_os_error
from holdfast.core.fold.usage import MOST, Spent, number
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files

SUBAGENTS = "subagents"  # the directory of their records, below one that is named like the conversation
FIRST_TAIL, LAST_TAIL = 64 * 1024, 16 * 1024 * 1024  # bytes from the end in which the last answer is looked for
TALLIED = 64 * 1024 * 1024  # bytes of a transcript that are counted when its session ends; `import` counts any
TRIES = 1_000  # lines that look as if they told it
ANSWER = 1 << 20  # bytes; a line that tells how many tokens an answer has used is never longer
SYNTHETIC = "<synthetic>"  # the model of answers that the client itself made up
COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
BOUNDARY = "compact_boundary"
BEGINNING = re.compile(rb'(?<=.)\{"(?=(?:parentUuid|type|uuid|sessionId|isSidechain)")', re.DOTALL)
BEGINNINGS = 100  # places in a damaged line that are tried
WANTED = (b'"user"', b'"assistant"', b'"system"', b'"cost-state"')  # kinds of line; most bytes are in others

T = TypeVar("T")
_validate = msgspec.json.Decoder(msgspec.Raw).decode


def read_usage(path: Path) -> Usage | None:
    """What the last answer of the conversation itself left in the context; None where that cannot be known."""
    return _search_end(path, _last_usage)


def path_of_subagent(path: Path, subagent: str) -> Path:
    """The record of a subagent of the conversation with this transcript."""
    return path.with_suffix("") / SUBAGENTS / f"agent-{subagent}{ENDING}"


def find_outcome(path: Path, tool_use: str) -> bool | None:
    """Whether the client carried a tool call out; None where its record does not say so, or does not yet."""
    return _search_end(path, partial(_outcome_of, tool_use))


def _search_end(path: Path, look: Callable[[bytes, bool], tuple[T | None, bool]]) -> T | None:
    """What is found in the end of a file, of which more and more is read; None where that cannot be known."""
    try:
        if not _is_one(path):
            return None
        with files.open_regular(path) as file:
            size, tail = os.fstat(file).st_size, FIRST_TAIL
            while True:
                found, is_found = look(os.pread(file, tail, max(0, size - tail)), tail >= size)
                if is_found or tail >= size or tail >= LAST_TAIL:
                    return found
                tail *= 4
    except (HoldfastError, OSError, ValueError):  # gone, a pipe, somebody else's: then it is not known
        return None


def _is_one(path: Path) -> bool:
    """Whether a path that a hook named can be a transcript."""
    return path.is_absolute() and path.suffix == ENDING


class Tally:
    """What the answers of a conversation have used, and what the client says that they cost."""

    def __init__(self) -> None:
        self.read = self.written = 0
        self.cost: float | None = None
        self._messages: set[str] = set()

    def add(self, line: Line) -> None:
        """An answer stands in several lines, one for each of its parts, and each says the same of its tokens."""
        if line.get("type") == "cost-state":
            self._add_cost(line.get("totalCostUSD"), is_total=True)
            return
        message = line.get("message")
        if line.get("type") != "assistant" or not isinstance(message, dict):
            return
        id = message.get("id")
        if isinstance(id, str) and id:
            if id in self._messages:
                return
            self._messages.add(id)
        usage = message.get("usage")
        if isinstance(usage, dict):
            self.read += sum(number(usage.get(name)) or 0 for name in COUNTS[:3])
            self.written += number(usage.get(COUNTS[3])) or 0
        self._add_cost(line.get("costUSD"), is_total=False)

    @property
    def spent(self) -> Spent:
        return Spent(self.read, self.written, self.cost)

    def _add_cost(self, cost: Any, *, is_total: bool) -> None:
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost <= MOST:
            self.cost = float(cost) if is_total else (self.cost or 0.0) + cost


def read_spent(path: Path) -> Spent | None:
    """The usage of a whole conversation; None where it cannot be read, or is too long to be read on the way."""
    tally = Tally()
    try:
        if not _is_one(path) or os.lstat(path).st_size > TALLIED:
            return None
        for line in read_lines(path):
            tally.add(line)
    except (HoldfastError, OSError, ValueError):
        return None
    return tally.spent


def read_lines(path: Path, lose: Callable[[], object] | None = None) -> Iterator[Line]:
    """The lines of a whole transcript that tell of the conversation. `lose` is called for each that is damaged."""
    with files.open_regular(path) as file:
        try:
            for line in split(file):
                parsed = None
                if line is not None and any(kind in line for kind in WANTED):
                    parsed = parse(line)
                    if found := parsed or _second(line):
                        yield found
                if parsed is None and lose is not None and not _is_sound(line):
                    lose()
        except OSError as error:
            error.filename = error.filename or str(path)
            raise from_os_error(error) from error


def usage_of(line: Line) -> Usage | None:
    """What an answer of the conversation itself says of its tokens; None for any other line."""
    message = line.get("message")
    if line.get("type") != "assistant" or line.get("isSidechain") is True or not isinstance(message, dict):
        return None
    usage, model = message.get("usage"), message.get("model")
    if not isinstance(usage, dict) or model == SYNTHETIC:
        return None
    tokens = sum(number(usage.get(name)) or 0 for name in COUNTS)
    return Usage(tokens, model if isinstance(model, str) else None) if tokens else None


def is_boundary(line: Line) -> bool:
    """Whether the context was compacted here: nothing before it is in the context any more."""
    return line.get("type") == "system" and line.get("subtype") == BOUNDARY and line.get("isSidechain") is not True


def _last_usage(data: bytes, whole: bool) -> tuple[Usage | None, bool]:
    """The newest usage in the end of a file, and whether it need not be looked for further up."""
    telling = (line for line in _backwards(data, whole) if b'"usage"' in line or BOUNDARY.encode() in line)
    for line in itertools.islice(telling, TRIES):
        if len(line) > ANSWER:
            continue
        parsed = parse(line) or {}
        if found := usage_of(parsed):
            return found, True
        if is_boundary(parsed):
            about = parsed.get("compactMetadata")
            left = number(about.get("postTokens")) if isinstance(about, dict) else None
            return (Usage(left) if left is not None else None), True
    return None, False


def _outcome_of(tool_use: str, data: bytes, whole: bool) -> tuple[bool | None, bool]:
    """The result of a tool call in the end of a file, by the mark that the client gives an error."""
    key = tool_use.encode()
    for line in _backwards(data, whole):
        if key in line and b'"tool_result"' in line:
            message = (parse(line) or {}).get("message")
            content = message.get("content") if isinstance(message, dict) else None
            for block in content if isinstance(content, list) else []:
                if isinstance(block, dict) and block.get("tool_use_id") == tool_use:
                    return block.get("is_error") is not True, True
    return None, False


def _backwards(data: bytes, whole: bool) -> Iterator[bytes]:
    """The lines of the end of a file, the last one first; not the first one, where that is cut."""
    end = len(data)
    while (start := data.rfind(b"\n", 0, end)) >= 0:
        yield data[start + 1 : end]
        end = start
    if whole:
        yield data[:end]


def _second(line: bytes) -> Line | None:
    """A whole record that follows where another one broke off: so it is after a crash of the client."""
    left = len(line) + BEGINNINGS * CHUNK // 10
    for begin in itertools.islice(BEGINNING.finditer(line), BEGINNINGS):
        left -= len(line) - begin.start()
        if left < 0:  # tens of megabytes a hundred times over: nobody waits for that
            return None
        parsed = parse(line[begin.start() :])
        if parsed and isinstance(parsed.get("uuid"), str) and isinstance(parsed.get("sessionId"), str):
            return parsed
    return None


def _is_sound(line: bytes | None) -> bool:
    """Whether a line is blank or JSON, so that nobody misses anything where it is passed over."""
    if line is None or not line.strip():
        return line is not None
    try:
        _validate(line)
    except UNREADABLE:
        return False
    return True
