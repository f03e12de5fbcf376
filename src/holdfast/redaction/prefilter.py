"""Prefilter for the patterns: finds the lines that may contain a secret, and the patterns that may match there.

One automaton finds the signs, one of which every match contains; most texts have none. For the lines with a sign, a set
of simple patterns selects the exact ones to run.
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator

from holdfast.redaction.classifiers import HEADERS, NAMED, is_public
from holdfast.redaction.contexts import NAMELY, QUOTE, SIGNS
from holdfast.redaction.patterns import ADDRESS_SIGNS, ASSIGNED, KEY_SIGNS, PATTERNS, Found, Pattern
from holdfast.redaction.regex import Match, Regex, Set, compiled
from holdfast.redaction.tokens import find_tokens

MEMORY = 32 << 20  # bytes for an automaton that scans every text
LONG = r"[A-Za-z0-9+/_=-]{24}"  # precondition of the pattern without a hint, for random text
FOLLOWING = 2  # lines after one with a sign: the value of a name may be there
SIGN = (
    rf"(?i){NAMED}|{HEADERS}|{SIGNS}|authorization|bearer[ \t]|cookie|machine\s|identified\s|[?&](?:x-[a-z]+-)?sig"
    r"|[_\"']auth"
)
# Names of public values, and of references to a secret in Helm charts.
PUBLIC = re.compile(rb"(?i)publi(?:c|shable)[A-Za-z]*[_-]?(?:api[_-]?)?(?:key|token)|existing[_-]?secret")
LINES: defaultdict[str, list[Pattern]] = defaultdict(list)
COMMANDS: defaultdict[bytes, list[Pattern]] = defaultdict(list)
for _pattern in PATTERNS:
    if not _pattern.gate and not _pattern.words and not _pattern.behind:
        LINES[_pattern.hint].append(_pattern)
    for _word in _pattern.words.split():
        COMMANDS[_word.encode()].append(_pattern)
HEADED = [pattern for pattern in PATTERNS if pattern.behind]
BARE = [pattern for pattern in HEADED if pattern.behind.startswith("(")]
# Patterns to run, by the first character after the head; for other characters than these, BARE.
BEHIND = {
    b"\\": HEADED,
    b"'": [pattern for pattern in HEADED if pattern.behind.startswith((QUOTE, "'"))],
    b'"': [pattern for pattern in HEADED if pattern.behind.startswith((QUOTE, '"'))],
}
# Hints with a name and hints without: combined in one automaton, their states would multiply.
HINTS = [[hint for hint in LINES if hint and (NAMELY in hint) is is_named] for is_named in (True, False)]
TEXTS = {
    gate: [pattern for pattern in PATTERNS if pattern.gate == gate]
    for gate in dict.fromkeys(pattern.gate for pattern in PATTERNS if pattern.gate)
}
Matches = Iterator[tuple[Pattern, Match]]


def find(data: bytes) -> Iterator[Found]:
    """Every secret that a pattern or a token format recognises."""
    yield from _judged(data, gated(data))
    yield from (Found(*found) for found in find_tokens(data))  # safeguard: provider-tokens
    yield from _judged(data, hinted(data))


def gated(data: bytes) -> Matches:
    """The matches of patterns that can span many lines, in the passages with their signs."""
    for gate, patterns in TEXTS.items():
        for start, end in _passages(data, gate):
            for pattern in patterns:
                yield from ((pattern, match) for match in compiled(pattern.source).finditer(data, start, end))


def hinted(data: bytes) -> Matches:
    """The matches of all other patterns, in the lines with a sign."""
    for start, end in _windows(data):
        yield from _assigned(data, start, end)
        for pattern in list(_patterns(data[start:end])):  # a list, so that the copy of the lines is freed
            yield from ((pattern, match) for match in compiled(pattern.source).finditer(data, start, end))


def _patterns(window: bytes) -> Iterator[Pattern]:
    """The patterns that may match in these lines."""
    if compiled(LONG, captures=False).search(window):
        yield from LINES[""]
    for hints, found in zip(HINTS, _hints(), strict=True):
        for number in found.match(window):
            yield from LINES[hints[number]]
    named = {window[slice(*match.span())].lower() for match in _commands().finditer(window)}
    yield from dict.fromkeys(pattern for word in sorted(named) for pattern in COMMANDS[word])


def _assigned(data: bytes, start: int, end: int) -> Matches:
    """Matches of the patterns that start with a head. As with `finditer`, matches of one pattern do not overlap."""
    ends = dict.fromkeys(HEADED, 0)
    for head in compiled(ASSIGNED).finditer(data, start, end):
        begin, behind = head.span()
        for pattern in BEHIND.get(data[behind : behind + 1], BARE):
            if begin < ends[pattern] or (match := compiled(pattern.behind).match(data, behind, end)) is None:
                continue
            value, last = match.span(1), match.span()[1]
            ends[pattern] = last
            yield pattern, Match([(begin, last), (begin, value[0]), value])


def _judged(data: bytes, matches: Matches) -> Iterator[Found]:
    for pattern, match in matches:
        if pattern.is_one(data, match):
            found = pattern.find(data, match)
            is_open = PUBLIC.search(data, match.span()[0], found.start) or is_public(data, found.start, found.end)
            if not is_open:
                yield found


def _passages(data: bytes, gate: tuple[bytes, ...]) -> Iterator[tuple[int, int]]:
    """Spans of lines with one of these signs and their continuation lines; for a private key, up to its end."""
    if gate is ADDRESS_SIGNS:
        yield 0, len(data)
        return
    end, nexts = 0, [data.find(sign) for sign in gate]
    while (at := min((place for place in nexts if place >= 0), default=-1)) >= 0:
        start = max(end, data.rfind(b"\n", 0, at) + 1)
        end = _key_end(data, at) if gate is KEY_SIGNS else _line_end(data, at)
        while data[end - 1 : end] == b"\\" and end < len(data):
            end = _line_end(data, end + 1)
        yield start, end
        nexts = [data.find(sign, end) if 0 <= place < end else place for sign, place in zip(gate, nexts, strict=True)]


def _key_end(data: bytes, at: int) -> int:
    """The end of the last line of a private key; the end of the text if its footer is missing."""
    ends = [end for sign in (b"-END ", b"- END ") if (end := data.find(sign, at)) >= 0]
    return _line_end(data, min(ends)) if ends else len(data)


def _windows(data: bytes) -> Iterator[tuple[int, int]]:
    """Spans of lines with a sign and the lines after them."""
    signs, at, start, end = compiled(SIGN, captures=False, memory=MEMORY), 0, -1, -1
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
def _commands() -> Regex:
    words = "|".join(re.escape(word.decode()) for word in COMMANDS)
    return compiled(rf"(?i)\b(?:{words})\b", captures=False)


@functools.cache
def _hints() -> list[Set]:
    return [Set(hints, MEMORY) for hints in HINTS]
