"""Search for providers' tokens: one automaton finds the prefixes, and the tail is matched after each of them.

The counted repetitions of hundreds of formats in one automaton would exceed its memory limit, and the engine would
fall back to a search that is a thousand times slower.
"""

from __future__ import annotations

import bisect
import functools
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from holdfast.redaction.classifiers import DIGITS, HEX, LETTERS
from holdfast.redaction.regex import compiled
from holdfast.redaction.token_formats import CASED, CHANCY, EDGE, HOOKS, PREFIXED, SHAPES, SHORT, VARIED, Rows

ESCAPE = re.compile(rb"\\[abefnrtv]|\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\[[0-9;]*m")
ESCAPING = b"\\["
WORDLIKE, LIKE = LETTERS + DIGITS + b"_~+/=.%|:!-", r"[A-Za-z0-9_~+/=.%|:!-]"
IN_WORD = [byte in WORDLIKE for byte in range(256)]
SHORTEST = 24  # bytes of a token without a distinctive prefix
LONG_WORD = rf"[0-9]{LIKE}{{11,}}|{LIKE}{{12,}}[0-9]{LIKE}*"  # with a digit that half of SHORTEST precedes or follows
BEFORE = 8  # bytes of an escape sequence and of the character before it
WORD = LETTERS + DIGITS + b"_"
LONGEST = 4096  # bytes in which a tail is matched at first; a longer one is matched again without a limit
NEAR = 64  # bytes that hold the start of most words
ENOUGH = 256  # bytes of a tail from which its character classes are determined

Test = Callable[[bytes], bool]
Table = tuple[Rows, Test]


class Prefixes:
    """Token prefixes, the automaton that finds them, and the possible tails of each."""

    def __init__(self, *tables: Table, addresses: Rows = ()) -> None:
        self._tails: defaultdict[bytes, list[tuple[str, Test]]] = defaultdict(list)
        self._addresses = frozenset(prefix.encode() for prefixes, _ in addresses for prefix in prefixes.split())
        for rows, test in (*tables, (addresses, is_any)):
            for prefixes, tail in rows:
                for prefix in map(str.encode, prefixes.split()):
                    self._tails[prefix].append((tail, test))
        names = sorted(self._tails, key=lambda name: (-len(name), name))
        escaped = (r"\x" + name.hex(" ").replace(" ", r"\x") for name in names)
        self._regex = compiled(rf"{EDGE}(?:{'|'.join(escaped)})", captures=False)
        self._shorter: dict[bytes, tuple[bytes, ...]] = {}  # the result of `_names` for each prefix

    def find(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """Spans and kinds of tokens. A token inside another one is not reported separately."""
        runs, furthest = Runs(data), 0
        for start, behind in self._regex.places(data):
            begin, behind = _word(data, start, behind)
            end = -1
            for name in self._names(data[begin:behind]):
                end = max(end, self._end(data, begin + len(name), name, runs))
            if end > furthest:
                furthest = end
                yield (behind, end, "webhook") if data[begin:behind] in self._addresses else (begin, end, "token")

    def _end(self, data: bytes, behind: int, name: bytes, runs: Runs) -> int:
        """The end of the token that starts with a prefix; -1 if there is none."""
        for tail, test in self._tails[name]:
            end = runs.end(behind, tail)
            if end > 0 and test(data[behind : min(end, behind + ENOUGH)]):
                return end
        return -1

    def _names(self, name: bytes) -> tuple[bytes, ...]:
        """A prefix, followed by the shorter prefixes that it starts with."""
        if (found := self._shorter.get(name)) is None:
            found = tuple(name[:size] for size in range(len(name), 1, -1) if name[:size] in self._tails)
            self._shorter[name] = found
        return found


def _word(data: bytes, start: int, end: int) -> tuple[int, int]:
    """The span of a match without a leading escape sequence. A capture would take the engine a hundred times longer."""
    escape = ESCAPE.match(data, start, end) if data[start] in ESCAPING else None
    return (escape.end() if escape else start), end


class Piece(NamedTuple):
    """A character class with its repetition count."""

    kind: bytes
    least: int
    most: int | None  # None: unlimited


class Chain(NamedTuple):
    """A tail as a sequence of pieces, none of which can match a character of the next one."""

    pieces: tuple[Piece, ...]
    is_word: bool  # must end at a word boundary


class Runs:
    """Tail matching in a text. The end of a run of characters is cached: every prefix inside it needs it again."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._ends: dict[bytes, tuple[int, int]] = {}  # the last run of each character class

    def end(self, begin: int, source: str) -> int:
        """The end of a tail that starts here; -1 if none does."""
        chains = _chains(source)
        if chains is None:
            return self._matched(begin, source)
        return next((end for chain in chains if (end := self._chain_end(begin, chain)) > 0), -1)

    def _matched(self, begin: int, source: str) -> int:
        # with a group, the engine builds no automaton for a short text
        tail, limit = compiled(f"({source})"), min(len(self._data), begin + LONGEST)
        match = tail.match(self._data, begin, limit)
        if match is not None and match.span()[1] == limit:
            match = tail.match(self._data, begin, len(self._data))
        return -1 if match is None else match.span()[1]

    def _chain_end(self, begin: int, chain: Chain) -> int:
        data, at = self._data, begin
        for kind, least, most in chain.pieces:
            if most is None:
                number = self._run_end(at, kind) - at
            else:
                piece = data[at : at + most]
                number = len(piece) - len(piece.lstrip(kind))
            if number < least:
                return -1
            at += number
        after = data[at : at + 1]
        goes_on = after and (after in kind or (after in WORD and data[at - 1] in WORD))
        return -1 if chain.is_word and goes_on else at

    def _run_end(self, begin: int, kind: bytes) -> int:
        start, end = self._ends.get(kind, (0, 0))
        if start <= begin < end:
            return end
        at, size = begin, LONGEST
        while True:
            piece = self._data[at : at + size]
            rest = piece.lstrip(kind)
            at += len(piece) - len(rest)
            if rest or not piece:
                break
        self._ends[kind] = (begin, at)
        return at


CLASS = re.compile(r"\[((?:[^\[\]\\]|\\.)+)\]|\\([.$|])|([A-Za-z0-9_:/=-])")
COUNT = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}|([?*])")
RANGE = re.compile(r"([A-Za-z0-9])-([A-Za-z0-9])")


@functools.cache
def _chains(source: str) -> tuple[Chain, ...] | None:
    """The alternatives of a tail, each as a chain; None if one of them needs an automaton."""
    chains = tuple(map(_chain, source.split("|")))
    return None if None in chains else tuple(filter(None, chains))


def _chain(source: str) -> Chain | None:
    pieces, at, stop = [], 0, len(source.removesuffix(r"\b"))
    while at < stop:
        if (found := CLASS.match(source, at, stop)) is None:
            return None
        kind = (_letters(found[1]) if found[1] else found[2] or found[3]).encode()
        at = found.end()
        count = COUNT.match(source, at, stop)
        pieces.append(Piece(kind, *_counted(count)))
        at = count.end() if count else at
    is_clear = all(map(_is_clear, pieces, (pieces[number:] for number in range(1, len(pieces) + 1))))
    return Chain(tuple(pieces), stop < len(source)) if is_clear else None


def _counted(count: re.Match[str] | None) -> tuple[int, int | None]:
    """The minimum and maximum length of a piece."""
    if count is None:
        return 1, 1
    if count[4]:
        return 0, 1 if count[4] == "?" else None
    return int(count[1]), int(count[3] or count[1]) if count[3] or not count[2] else None


def _is_clear(piece: Piece, behind: Sequence[Piece]) -> bool:
    """True if a piece ends where its characters end: nothing that can follow starts with one of them."""
    if piece.least == piece.most:
        return True
    needed = next((number for number, other in enumerate(behind, 1) if other.least), len(behind))
    return not any(set(piece.kind) & set(other.kind) for other in behind[:needed])


def _letters(source: str) -> str:
    """The characters of a class, with ranges expanded."""
    return RANGE.sub(lambda ends: "".join(map(chr, range(ord(ends[1]), ord(ends[2]) + 1))), source).replace("\\", "")


@functools.cache
def _prefixed() -> Prefixes:
    return Prefixes((PREFIXED, is_any), (CHANCY, is_mixed), (CASED, is_cased), addresses=HOOKS)


@functools.cache
def _short() -> Prefixes:
    return Prefixes((SHORT, is_mixed), (VARIED, is_varied))


def find_tokens(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Spans of providers' tokens and webhook URLs, with their kind."""
    yield from _prefixed().find(data)
    words = LongWords(data)
    for start, end, kind in _short().find(words.joined):
        yield (*words.place(start, end), kind)
    for literals, source in SHAPES:
        if any(literal.encode() in words.joined for literal in literals.split()):
            for match in compiled(source, captures=False).finditer(words.joined):
                yield (*words.place(*_word(words.joined, *match.span())), "token")


class LongWords:
    """The words of a text that are long enough for a token and have a digit, joined: a small part of the text."""

    def __init__(self, data: bytes) -> None:
        self._starts: list[int] = []  # of each word in the text
        self._offsets: list[int] = []  # of each word in `joined`
        pieces, size = [], 0
        for start, end in _long_words(data):
            self._starts.append(start)
            self._offsets.append(size)
            pieces.append(data[start:end])
            size += end - start + 1
        self.joined = b"\n".join(pieces)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Translate a span of the joined words to the original text."""
        number = bisect.bisect_right(self._offsets, start) - 1
        shift = self._starts[number] - self._offsets[number]
        return start + shift, end + shift


def _long_words(data: bytes) -> Iterator[tuple[int, int]]:
    """Spans of words that are long enough for a token and have a digit, with the preceding sign or escape."""
    last = 0
    for start, end in compiled(LONG_WORD, captures=False).places(data):
        if start < last:
            continue
        if start > last and IN_WORD[data[start - 1]]:
            start = _word_start(data, start, last)
        last = end
        if end - start >= SHORTEST and data[start:end].strip(HEX):  # a word of hexadecimal digits is a hash
            yield max(0, start - BEFORE), min(len(data), end + 1)


def _word_start(data: bytes, start: int, least: int) -> int:
    """The start of the word that contains this position."""
    size = NEAR
    while start > least:
        before = data[max(least, start - size) : start]
        rest = before.rstrip(WORDLIKE)
        start -= len(before) - len(rest)
        if rest:
            break
        size = LONGEST
    return start


HAS_DIGIT, HAS_LETTER = re.compile(rb"[0-9]"), re.compile(rb"[A-Za-z]")


def is_any(word: bytes) -> bool:
    return True


def is_mixed(word: bytes) -> bool:
    """True if a word has both letters and digits, as random words do and names rarely."""
    return HAS_DIGIT.search(word) is not None and HAS_LETTER.search(word) is not None


def is_cased(word: bytes) -> bool:
    """True if a word has letters and digits, or letters of both cases."""
    return is_mixed(word) or _has_both_cases(word)


def is_varied(word: bytes) -> bool:
    """True if a word has a digit and letters of both cases."""
    return is_mixed(word) and _has_both_cases(word)


def _has_both_cases(word: bytes) -> bool:
    return all(len(word) - len(word.translate(None, kind)) > 1 for kind in (LETTERS[:26], LETTERS[26:]))
