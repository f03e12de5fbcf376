"""Reader of Claude Code's transcripts, in JSON Lines. Transcripts are untrusted input, and never modified.

The format is internal to the client and changes: unknown lines and fields are ignored.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from holdfast.agents.claude.installed import config_directory
from holdfast.agents.jsonl import CHUNK, ENDING, Line, parse, split
from holdfast.agents.protocol import Head, Setup, Usage
from holdfast.core.errors import HoldfastError, from_os_error
from holdfast.core.fold.activity import MOST_TOKENS, Spent
from holdfast.core.model import Body, Session, int_of, list_of, object_of, text_of
from holdfast.journal.codec import UNREADABLE
from holdfast.system import files
from holdfast.system.safe_paths import real_path

SUBAGENTS = "subagents"  # the directory of their transcripts, below one that is named after the conversation
ENCODED = 180  # characters of a directory's path in the name of its transcript folder, before the client truncates
FIRST_TAIL, LAST_TAIL = 64 * 1024, 16 * 1024 * 1024  # bytes from the end that are searched for the last answer
TALLIED = 64 * 1024 * 1024  # bytes of a transcript that are counted when its session ends; `import` counts any
TRIES = 1_000  # candidate lines that are parsed in this search
ANSWER = 1 << 20  # bytes; a line with the token usage of an answer is never longer
SYNTHETIC = "<synthetic>"  # the model of answers that the client itself generated
COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
BOUNDARY = "compact_boundary"
BEGINNING = re.compile(rb'(?<=.)\{"(?=(?:parentUuid|type|uuid|sessionId|isSidechain)")', re.DOTALL)
BEGINNINGS = 100  # positions in a damaged line at which parsing is tried
WANTED = (b'"user"', b'"assistant"', b'"system"', b'"cost-state"')  # types of lines we use; most bytes are in others

T = TypeVar("T")
_validate = msgspec.json.Decoder(msgspec.Raw).decode


def resume_command(conversation: str | None) -> list[str]:
    return ["claude", "--resume", conversation] if conversation else ["claude"]


def find_transcripts(setup: Setup, roots: Iterable[Path]) -> tuple[Path, list[Path]]:
    home = config_directory(setup.environ) / "projects"
    wanted = tuple(re.sub(r"[^A-Za-z0-9]", "-", str(root))[:ENCODED] for root in roots)
    folders = [folder for folder in files.listed(home) if folder.name.startswith(wanted)]
    main = [file for folder in folders for file in files.listed(folder)]
    beside = [file for folder in main for file in files.listed(folder / SUBAGENTS)]
    return home, sorted(file for file in [*main, *beside] if file.name.endswith(ENDING))


def read_head(path: Path) -> Head | None:
    """The head of a transcript, from the first line with conversation and directory."""
    for line in itertools.islice(read_lines(path), 1000):
        conversation, directory = line.get("sessionId"), line.get("cwd")
        if isinstance(conversation, str) and isinstance(directory, str) and conversation and directory:
            is_main = line.get("isSidechain") is not True
            return Head(path, conversation, directory, is_main, os.stat(path).st_mtime)
    return None


def transcripts_of(setup: Setup, session: Session) -> list[tuple[str, Path]]:
    if not session.transcript:
        return []
    path = Path(real_path(session.transcript))
    name = session.agent_session or path.stem
    beside = path.with_suffix("") / SUBAGENTS
    below = sorted(beside.glob(f"*{ENDING}")) if owns_transcript(setup, path) else []
    return [(name, Path(session.transcript)), *((f"{name}.{each.stem}", each) for each in below)]


def owns_transcript(setup: Setup, path: Path) -> bool:
    home = real_path(config_directory(setup.environ) / "projects")
    return str(path).startswith(home + os.sep) and path.suffix == ENDING


def read_usage(path: Path) -> Usage | None:
    """The context usage after the last answer of the main conversation; None if it cannot be determined."""
    return search_end(path, _last_usage)


def find_outcome(path: Path, subagent: str, tool_use: str) -> bool | None:
    """True if the client executed a tool call, False if it did not; None if the transcript has no result (yet)."""
    file = path.with_suffix("") / SUBAGENTS / f"agent-{subagent}{ENDING}" if subagent else path
    return search_end(file, partial(_outcome_of, tool_use))


def search_end(path: Path, look: Callable[[bytes, bool], tuple[T | None, bool]], most: int = LAST_TAIL) -> T | None:
    """Search a growing tail of a file, up to `most` bytes; None if nothing is found or the file cannot be read."""
    try:
        if not _is_one(path):
            return None
        with files.open_regular(path) as file:
            size, tail = os.fstat(file).st_size, FIRST_TAIL
            while True:
                found, is_found = look(os.pread(file, tail, max(0, size - tail)), tail >= size)
                if is_found or tail >= size or tail >= most:
                    return found
                tail *= 4
    except (HoldfastError, OSError, ValueError):  # missing, a pipe, not ours to read
        return None


def _is_one(path: Path) -> bool:
    """True if a path in a hook's payload can be a transcript."""
    return path.is_absolute() and path.suffix == ENDING


class Tally:
    """The token usage of the answers of a conversation, and their cost according to the client."""

    def __init__(self) -> None:
        self.read = self.written = 0
        self.cost: float | None = None
        self._messages: set[str] = set()

    def add(self, line: Line) -> None:
        """Add a line. An answer has one line for each of its parts, which all repeat the same usage."""
        if line.get("type") == "cost-state":
            self._add_cost(line.get("totalCostUSD"), is_total=True)
            return
        message = object_of(line.get("message"))
        id = text_of(message.get("id"))
        if line.get("type") != "assistant" or not message or id in self._messages:
            return
        if id:
            self._messages.add(id)
        usage = object_of(message.get("usage"))
        self.read += sum(int_of(usage.get(name)) or 0 for name in COUNTS[:3])
        self.written += int_of(usage.get(COUNTS[3])) or 0
        self._add_cost(line.get("costUSD"), is_total=False)

    @property
    def spent(self) -> Spent:
        return Spent(self.read, self.written, self.cost)

    def _add_cost(self, cost: Any, *, is_total: bool) -> None:
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost <= MOST_TOKENS:
            self.cost = float(cost) if is_total else (self.cost or 0.0) + cost


def read_spent(path: Path) -> Spent | None:
    """The usage of a whole conversation; None if it cannot be read, or is larger than TALLIED."""
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
    """The lines of a transcript that are part of the conversation. `lose` is called for each damaged line."""
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
    """The token usage in an answer of the main conversation; None for any other line."""
    message = object_of(line.get("message"))
    usage, model = object_of(message.get("usage")), message.get("model")
    if line.get("type") != "assistant" or line.get("isSidechain") is True or model == SYNTHETIC:
        return None
    tokens = sum(int_of(usage.get(name)) or 0 for name in COUNTS)
    return Usage(tokens, model if isinstance(model, str) else None) if tokens else None


def is_boundary(line: Line) -> bool:
    """True if the context was compacted here, so that nothing before this line is in it."""
    return line.get("type") == "system" and line.get("subtype") == BOUNDARY and line.get("isSidechain") is not True


def _last_usage(data: bytes, whole: bool) -> tuple[Usage | None, bool]:
    """The latest usage in the tail of a file, and True if the search is finished."""
    telling = (line for line in backwards(data, whole) if b'"usage"' in line or BOUNDARY.encode() in line)
    for line in itertools.islice(telling, TRIES):
        if len(line) > ANSWER:
            continue
        parsed = parse(line) or {}
        if found := usage_of(parsed):
            return found, True
        if is_boundary(parsed):
            left = int_of(object_of(parsed.get("compactMetadata")).get("postTokens"))
            return (Usage(left) if left is not None else None), True
    return None, False


def _outcome_of(tool_use: str, data: bytes, whole: bool) -> tuple[bool | None, bool]:
    """The outcome of a tool call in the tail of a file, by the client's flag for errors, and True if it was found."""
    key = tool_use.encode()
    for line in backwards(data, whole):
        if key in line and b'"tool_result"' in line:
            for block in blocks_of(parse(line) or {}, "tool_result"):
                if block.get("tool_use_id") == tool_use:
                    return block.get("is_error") is not True, True
    return None, False


def content_of(line: Line) -> Any:
    return object_of(line.get("message")).get("content")


def blocks_of(line: Line, kind: str) -> Iterator[Body]:
    """The blocks of this kind in the message of a line."""
    return (block for block in map(object_of, list_of(content_of(line))) if block.get("type") == kind)


def backwards(data: bytes, whole: bool) -> Iterator[bytes]:
    """The lines of the tail of a file in reverse order, without the first one if that is cut."""
    end = len(data)
    while (start := data.rfind(b"\n", 0, end)) >= 0:
        yield data[start + 1 : end]
        end = start
    if whole:
        yield data[:end]


def _second(line: bytes) -> Line | None:
    """The complete record after a truncated one in the same line, as a crash of the client leaves it."""
    left = len(line) + BEGINNINGS * CHUNK // 10
    for begin in itertools.islice(BEGINNING.finditer(line), BEGINNINGS):
        left -= len(line) - begin.start()
        if left < 0:  # bounds the time: tens of megabytes would be parsed a hundred times
            return None
        parsed = parse(line[begin.start() :])
        if parsed and isinstance(parsed.get("uuid"), str) and isinstance(parsed.get("sessionId"), str):
            return parsed
    return None


def _is_sound(line: bytes | None) -> bool:
    """True if a line is blank or valid JSON, so that skipping it loses nothing."""
    if line is None or not line.strip():
        return line is not None
    try:
        _validate(line)
    except UNREADABLE:
        return False
    return True
