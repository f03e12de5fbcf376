"""Where a text may hold a secret, and by which pattern: most texts hold no sign of one, and most lines none of most.

One automaton finds the signs, each of which a pattern cannot do without. In the lines that hold one, a set of simple
patterns says which of the exact ones to run.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator

from holdfast.redaction.contexts import SIGNS
from holdfast.redaction.patterns import KEY_SIGNS, PATTERNS, Found, Pattern
from holdfast.redaction.public_values import is_public
from holdfast.redaction.regex import Match, Regex, Set, compiled
from holdfast.redaction.secret_names import NAMED
from holdfast.redaction.tokens import find_tokens

MEMORY = 32 << 20  # bytes for what is run over all that is said
LONGEST = 1 << 16
FOLLOWING = 2  # lines behind one with a sign: the value of a name may stand there
SIGN = rf"(?i){NAMED}|{SIGNS}|authorization|bearer[ \t]|cookie|machine\s|identified\s|[?&](?:x-[a-z]+-)?sig|[_\"']auth"
# Names of what everybody may know, and of what says in charts where a secret lies.
PUBLIC = re.compile(rb"(?i)publi(?:c|shable)[A-Za-z]*[_-]?(?:api[_-]?)?(?:key|token)|existing[_-]?secret")
WORD = re.compile(rb"[a-z0-9_]+")
LINES: defaultdict[str, list[Pattern]] = defaultdict(list)
COMMANDS: defaultdict[bytes, list[Pattern]] = defaultdict(list)
for _pattern in PATTERNS:
    if not _pattern.gate and not _pattern.words:
        LINES[_pattern.hint].append(_pattern)
    for _word in _pattern.words.split():
        COMMANDS[_word.encode()].append(_pattern)
HINTED = [patterns for hint, patterns in LINES.items() if hint]
TEXTS = {
    gate: [pattern for pattern in PATTERNS if pattern.gate == gate]
    for gate in dict.fromkeys(pattern.gate for pattern in PATTERNS if pattern.gate)
}


def find(data: bytes) -> Iterator[Found]:
    """Every secret that a pattern or a token's format tells."""
    for gate, patterns in TEXTS.items():
        for start, end in _passages(data, gate):
            for pattern in patterns:
                yield from _found(pattern, data, start, end)
    yield from (Found(start, end, "token") for start, end in find_tokens(data))
    for start, end in _windows(data):
        for pattern in list(_patterns(data[start:end])):  # the copy of the lines is gone then
            yield from _found(pattern, data, start, end)


def matches(pattern: Pattern, data: bytes) -> Iterator[Match]:
    """What a pattern matches where it is looked for."""
    places = _passages(data, pattern.gate) if pattern.gate else _windows(data)
    for start, end in places:
        if pattern.gate or pattern in _patterns(data[start:end]):
            yield from _regex(pattern.source).finditer(data, start, end)


def _patterns(window: bytes) -> Iterator[Pattern]:
    """Those that may find something in these lines."""
    if _long().search(window):
        yield from LINES[""]
    for number in _hints().match(window):
        yield from HINTED[number]
    lower = window.lower() if len(window) < LONGEST else window  # another copy of a long line would take memory
    named = {match[0] for match in WORD.finditer(lower) if match[0] in COMMANDS}
    yield from dict.fromkeys(pattern for word in sorted(named) for pattern in COMMANDS[word])


def _found(pattern: Pattern, data: bytes, start: int, end: int) -> Iterator[Found]:
    for match in _regex(pattern.source).finditer(data, start, end):
        if pattern.is_one(data, match):
            found = pattern.find(data, match)
            is_open = PUBLIC.search(data, match.span()[0], found.start) or is_public(data, found.start, found.end)
            if not is_open:
                yield found


def _passages(data: bytes, gate: tuple[bytes, ...]) -> Iterator[tuple[int, int]]:
    """Lines with one of these signs, and those to which they go on; of a private key, all up to its end."""
    end = 0
    while (at := min((place for sign in gate if (place := data.find(sign, end)) >= 0), default=-1)) >= 0:
        start = max(end, data.rfind(b"\n", 0, at) + 1)
        end = _key_end(data, at) if gate is KEY_SIGNS else _line_end(data, at)
        while data[end - 1 : end] == b"\\" and end < len(data):
            end = _line_end(data, end + 1)
        yield start, end


def _key_end(data: bytes, at: int) -> int:
    """Where the line ends that ends a private key; the end of the text where none does."""
    ends = [end for sign in (b"-END ", b"- END ") if (end := data.find(sign, at)) >= 0]
    return _line_end(data, min(ends)) if ends else len(data)


def _windows(data: bytes) -> Iterator[tuple[int, int]]:
    """Lines with a sign and those behind them."""
    signs, at, start, end = _signs(), 0, -1, -1
    while at < len(data) and (match := signs.search(data, at)) is not None:
        begin = data.rfind(b"\n", 0, match.span()[0]) + 1
        if start >= 0 and begin > end:
            yield start, end
            start = -1
        start = begin if start < 0 else start
        end = at = _line_end(data, match.span()[1])
        for _ in range(FOLLOWING):
            end = _line_end(data, end + 1)
        at += 1
    if start >= 0:
        yield start, end


def _line_end(data: bytes, at: int) -> int:
    end = data.find(b"\n", at)
    return end if end >= 0 else len(data)


@functools.cache
def _signs() -> Regex:
    return compiled(SIGN, captures=False, memory=MEMORY)


@functools.cache
def _long() -> Regex:
    return compiled(r"[A-Za-z0-9+/_=-]{24}", captures=False)  # of those without a hint: random text


@functools.cache
def _hints() -> Set:
    return Set(filter(None, LINES), MEMORY)


@functools.cache
def _regex(source: str) -> Regex:
    return compiled(source)
