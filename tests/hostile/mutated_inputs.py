"""Inputs made of good ones: values exchanged, pieces cut out, doubled, flipped and spliced in, and some plain noise.

All of it follows from one number, so that an input that broke something can be made again.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tests.hostile.words import ACTING, hostile_ids, possible_in_arguments

WORDS = [word for word in possible_in_arguments(hostile_ids("run-qqqqqqqqqq")) if len(word) < 5000] + ACTING
NUMBERS: list[Any] = [0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30, 10**400]
NUMBERS += [1.5, -0.0, 1e308, 1e-308, float("inf"), float("nan")]
PLAIN: list[Any] = [None, True, False, "", [], {}, [[]], {"": None}, "\ud800", "\udfff\ud800", "\0", "x" * 300]
TIMES = ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-02-30", "20260101T000000Z", "2026-W01-1"]
PIECES = [
    piece.encode("utf-8", "surrogatepass")
    for piece in [
        "{",
        "}",
        "[",
        "]",
        '"',
        "'",
        ",",
        ":",
        "\\",
        "/",
        "<",
        ">",
        "#",
        "*",
        "`",
        "(",
        ")",
        "!",
        "&",
        "|",
        "=",
        ".",
        "-",
        "$",
    ]
]
PIECES += [b"\0", b"\n", b"\r\n", b"\t", b" ", b"\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\\ud800"]
PIECES += [
    b"\\u0000",
    b"9" * 400,
    b"1e999",
    b"NaN",
    b"null",
    b"true",
    b"..",
    b"../",
    b"%s",
    b"\x1b[2J",
    b"0x",
    b"\x00" * 300,
    "\U0001f600".encode(),  # after it every character of a text takes four bytes
]
TIMES_REPEATED = (2, 2, 3, 10, 60, 300, 2000)
MOST = 60  # times that a piece is repeated in one of a few inputs, in thousands
LARGEST = 24 << 20  # bytes of what is repeated: lines of 20 MB are promised
FEW_LARGEST = 20  # lists of that size; further ones are rare, for each costs seconds and hardly differs from those
SMALL = [b"{}", b"[]", b'{"":0}', b"[0]", b'""', b"0"]  # values that take much more than their bytes
NESTS = [("[", "]"), ('{"a":', "}"), ("[{", "}]"), ("(", ")")]


class Mutator:
    """Endless inputs, made of these good ones."""

    def __init__(self, seeds: Sequence[bytes], seed: int, largest: int = LARGEST) -> None:
        self.seeds = seeds
        self.largest = largest
        self.chance = random.Random(seed)
        self._large = 0  # lists of the largest size so far
        self._values = [found for data in seeds for found in _values_in(data)]
        self._ways: list[Callable[[], bytes]] = [self._exchanged] * 5 + [self._bent] * 4 + [self._rare]

    def __iter__(self) -> Iterator[bytes]:
        yield from self.seeds
        yield b""
        while True:
            yield self.chance.choice(self._ways)()

    def _rare(self) -> bytes:
        return self.chance.choice(
            [self._noise, self._spliced, self._repeated, self._nested, self._words, self._dense]
        )()

    # Without a look at what it means

    def _bent(self) -> bytes:
        data = self.chance.choice(self.seeds)
        for _ in range(self.chance.choice((1, 1, 1, 2, 3, 8))):
            data = self._bent_once(data)
        return data

    def _bent_once(self, data: bytes) -> bytes:
        at = self.chance.randrange(len(data) + 1)
        way = self.chance.randrange(6)
        if way == 0 and at < len(data):
            return data[:at] + bytes([data[at] ^ 1 << self.chance.randrange(8)]) + data[at + 1 :]
        if way == 1:
            return data[:at]
        if way == 2:
            return data[:at] + data[at + self.chance.randrange(1, 40) :]
        if way == 3:
            piece = data[at : at + self.chance.randrange(1, 60)]
            return data[:at] + piece * self.chance.choice(TIMES_REPEATED[:4]) + data[at:]
        piece = self.chance.choice(PIECES) if way == 4 else self.chance.randbytes(self.chance.randrange(1, 9))
        return data[:at] + piece + data[at + self.chance.randrange(3) :]

    def _noise(self) -> bytes:
        return self.chance.randbytes(self.chance.randrange(60))

    def _spliced(self) -> bytes:
        one, other = self.chance.choice(self.seeds), self.chance.choice(self.seeds)
        return one[: self.chance.randrange(len(one) + 1)] + other[self.chance.randrange(len(other) + 1) :]

    def _repeated(self) -> bytes:
        data = self.chance.choice(self.seeds)
        at = self.chance.randrange(len(data) + 1)
        piece = self.chance.choice(PIECES) + self.chance.choice([b"", *PIECES])
        times = self.chance.choice(TIMES_REPEATED) if self.chance.randrange(20) else 1000 * self.chance.randrange(MOST)
        return data[:at] + piece * min(times, self.largest // len(piece)) + data[at:]

    def _nested(self) -> bytes:
        left, right = self.chance.choice(NESTS)
        depth = self.chance.choice((40, 41, 99, 100, 101, 900, 1200, 5000))
        whole = left * depth + "1" + right * self.chance.choice((depth, depth, 0, depth - 1))
        data = self.chance.choice(self.seeds)
        at = self.chance.choice((0, len(data), data.find(b":") + 1))
        return data[:at] + whole.encode() + (b"," + data[at:] if at < len(data) else b"")

    def _dense(self) -> bytes:
        """A list of many small values in the place of one."""
        data = self.chance.choice(self.seeds)
        small = self.chance.choice(SMALL) + b","
        times = self.chance.choice(TIMES_REPEATED)
        if not self.chance.randrange(100 if self._large < FEW_LARGEST else 2000):
            self._large += 1
            times = self.largest // len(small)
        at = data.find(b":", self.chance.randrange(len(data) + 1)) + 1
        return data[:at] + b"[" + small * times + b"0]" + (b"," if at else b"") + data[at:]

    def _words(self) -> bytes:
        words = self.chance.choices(WORDS, k=self.chance.randrange(1, 4))
        return b" ".join(word.encode("utf-8", "surrogatepass") for word in words)

    # With a look at what it means

    def _exchanged(self) -> bytes:
        """One line that is JSON, with a few of its values exchanged for others; the other lines stay."""
        if not self._values:
            return self._bent()
        before, value, behind = self.chance.choice(self._values)
        for _ in range(self.chance.choice((1, 1, 1, 2, 4))):
            value = self._exchange(value)
        return before + self._written(value) + behind

    def _exchange(self, value: Any) -> Any:
        if not isinstance(value, (dict, list)) or not value or not self.chance.randrange(5):
            return self._value()
        if isinstance(value, list):
            at = self.chance.randrange(len(value))
            return [*value[:at], self._exchange(value[at]), *value[at + 1 :]]
        key = self.chance.choice(list(value))
        way = self.chance.randrange(12)
        if way == 0:
            return {other: inner for other, inner in value.items() if other != key}
        if way == 1:
            return {**value, self.chance.choice([self._text(), key.upper(), key + "_"]): value[key]}
        return {**value, key: self._exchange(value[key])}

    def _value(self) -> Any:
        way = self.chance.randrange(10)
        if way < 3:
            return self.chance.choice(PLAIN)
        if way < 6:
            return self.chance.choice(NUMBERS)
        if way < 8:
            return self._text()
        if way < 9:
            return {self._text(): self.chance.choice(PLAIN + NUMBERS) for _ in range(self.chance.randrange(4))}
        return [self.chance.choice([*PLAIN, *NUMBERS, self._text()])] * self.chance.choice((1, 2, 150))

    def _text(self) -> str:
        return self.chance.choice([self.chance.choice(WORDS), self.chance.choice(TIMES), str(self.chance.random())])

    def _written(self, value: Any) -> bytes:
        """As some writer of JSON would write it; texts that no UTF-8 holds as it should not be done, too."""
        plain = bool(self.chance.randrange(3))
        between = self.chance.choice((None, None, (",\n ", ": ")))  # with an indentation, deep values take milliseconds
        text = json.dumps(value, ensure_ascii=plain, separators=between)
        if not self.chance.randrange(10):
            text = text.replace("}", ', "x": 1, "x": 2}', 1)
        return text.encode("utf-8", "surrogatepass" if self.chance.randrange(2) else "replace")


def _values_in(data: bytes) -> Iterator[tuple[bytes, Any, bytes]]:
    """The JSON in an input, whole or on lines of their own, each with what stands before and behind it."""
    whole = _parsed(data)
    if whole is not None:
        yield b"", whole, b""
        return
    at = 0
    for line in data.split(b"\n"):
        if line[:1] in (b"{", b"[") and (value := _parsed(line)) is not None:
            yield data[:at], value, data[at + len(line) :]
        at += len(line) + 1


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
