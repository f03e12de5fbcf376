"""The condition language of artifacts. A condition is never evaluated by Python.

    either      = both ("||" both)*
    both        = comparison ("&&" comparison)*
    comparison  = value (("===" | "!==" | "==" | "!=" | ">=" | "<=" | ">" | "<") value)?
    value       = "!"* (text | number | "null" | "true" | "false" | path | "(" either ")")
    path        = name ("." name | "." digits | "[" digits "]")*

A path leads into the state, with or without the prefix `state.`. A missing value is null. A lone value counts as in
JavaScript: null, false, 0 and "" are false, everything else is true.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from holdfast.core.text import visible
from holdfast.layouts.faber.schema import value_at

LONGEST = 10_000  # characters
DEEPEST = 40  # nested parentheses
BEFORE, BEHIND = 60, 40  # characters of context in an error

TOKEN = re.compile(
    r"""\s*(?:
    (?P<end>\Z)
  | (?P<text>'(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*")
  | (?P<number>-?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w$.])
  | (?P<path>[^\W\d][\w$-]*(?:\.[\w$-]+|\[[0-9]+\])*|\$[\w$-]*(?:\.[\w$-]+|\[[0-9]+\])*)
  | (?P<sign>===|!==|==|!=|>=|<=|>|<|&&|\|\||!|\(|\))
    )""",
    re.VERBOSE | re.DOTALL,
)
STEP = re.compile(r"[\w$-]+")
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
NUMERIC = re.compile(r"\s*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\s*")
SPECIAL = {"n": "\n", "t": "\t", "r": "\r"}
ORDERS = {"<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}
COMPARISONS = ("===", "!==", "==", "!=", *ORDERS)
WORDS: dict[str, object] = {"null": None, "true": True, "false": False}
HALF = {"=": "a single = compares nothing: write == or ===", "&": "write && for and", "|": "write || for or"}


class NotACondition(ValueError):
    """A syntax error, at a character counted from 0."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"{why}, at character {at + 1}")
        self.at = at
        self.why = why


def holds(text: str, state: Mapping[str, object]) -> bool:
    """Evaluate a condition for a state, or raise NotACondition."""
    if len(text) > LONGEST:
        raise NotACondition(LONGEST, f"it is longer than {LONGEST:,} characters")
    reading = Reading(text, state)
    value = reading.either()
    if reading.token.kind != "end":
        reading.fail("an operator was expected here")
    return is_true(value)


def pointed(text: str, error: NotACondition) -> str:
    """The condition on one line, with a caret below the error."""
    first, last = max(0, error.at - BEFORE), error.at + BEHIND
    line = "".join(letter if letter.isprintable() and visible(letter) else " " for letter in text[first:last])
    before = "…" if first else ""
    after = "…" if last < len(text) else ""
    return f"{before}{line}{after}\n{' ' * (len(before) + error.at - first)}^"


class Token(NamedTuple):
    kind: str
    text: str
    at: int


class Reading:
    """A recursive descent parser that returns the value of each rule."""

    def __init__(self, text: str, state: Mapping[str, object]) -> None:
        self.text = text
        self.state = state
        self.depth = 0
        self.next = 0
        self.token = self._read()

    def either(self) -> object:
        value = self.both()
        while self._took("||"):
            other = self.both()
            value = value if is_true(value) else other
        return value

    def both(self) -> object:
        value = self.comparison()
        while self._took("&&"):
            other = self.comparison()
            value = other if is_true(value) else value
        return value

    def comparison(self) -> object:
        left = self.value()
        if not self._compares():
            return left
        sign = self.token.text
        self.token = self._read()
        result = compare(sign, left, self.value())
        if self._compares():
            self.fail("two comparisons in a row: join them with &&, or put one in parentheses")
        return result

    def value(self) -> object:
        turns = 0
        while self._took("!"):
            turns += 1
        found = self._plain()
        return found if not turns else is_true(found) == (turns % 2 == 0)

    def fail(self, why: str) -> None:
        raise NotACondition(self.token.at, why)

    def _plain(self) -> object:
        token = self.token
        if token.text == "(" and token.kind == "sign":
            return self._inside()
        if token.kind in ("end", "sign"):
            self.fail("a value was expected here")
        self.token = self._read()
        if token.kind == "text":
            return ESCAPED.sub(lambda found: SPECIAL.get(found[1], found[1]), token.text[1:-1])
        if token.kind == "number":
            return number_in(token.text)
        if token.text in WORDS:
            return WORDS[token.text]
        steps: list[str] = STEP.findall(token.text)
        return value_at(self.state, steps[1:] if steps[0] == "state" else steps)

    def _inside(self) -> object:
        opened = self.token
        self.depth += 1
        if self.depth > DEEPEST:
            self.fail(f"more than {DEEPEST} parentheses inside each other")
        self.token = self._read()
        value = self.either()
        if self.token.kind == "end":
            raise NotACondition(opened.at, "this parenthesis is never closed")
        if not self._took(")"):
            self.fail("an operator or ) was expected here")
        self.depth -= 1
        return value

    def _compares(self) -> bool:
        return self.token.kind == "sign" and self.token.text in COMPARISONS

    def _took(self, sign: str) -> bool:
        if self.token.kind != "sign" or self.token.text != sign:
            return False
        self.token = self._read()
        return True

    def _read(self) -> Token:
        found = TOKEN.match(self.text, self.next)
        if found is None:
            at = len(self.text) - len(self.text[self.next :].lstrip())
            raise NotACondition(at, _complaint(self.text[at]))
        self.next = found.end()
        kind = found.lastgroup or "end"
        return Token(kind, found[kind], found.start(kind))


def _complaint(letter: str) -> str:
    if letter in "'\"":
        return "this text is never closed"
    if letter.isdigit():
        return "this is not a number"
    return HALF.get(letter, "this character has no meaning in a condition")


def is_true(value: object) -> bool:
    if isinstance(value, (list, Mapping)):
        return True
    return bool(value) and value == value  # NaN is false


def number_in(value: object) -> float | int | None:
    """The number that a value is, or that a text spells; none for true and false."""
    if not isinstance(value, str):
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    if not NUMERIC.fullmatch(value):
        return None
    try:
        return int(value)
    except ValueError:  # a fraction, or more digits than Python allows
        return float(value)


def same(one: object, other: object) -> bool:
    """`===`: of one type and equal. A list or an object equals only itself."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    is_plain = any(isinstance(one, kind) and isinstance(other, kind) for kind in (str, (int, float)))
    return one == other if is_plain else one is other


def equal(one: object, other: object) -> bool:
    """`==`: the same, or equal as numbers, which a text may spell; true counts as 1, false as 0."""
    if isinstance(one, str) and isinstance(other, str):
        return one == other
    first, second = (int(value) if isinstance(value, bool) else number_in(value) for value in (one, other))
    return same(one, other) if first is None or second is None else first == second


def compare(sign: str, one: Any, other: Any) -> bool:
    """Compare texts as texts, and numbers, which a text may spell, as numbers. Other values have no order."""
    if sign in ("===", "!=="):
        return same(one, other) == (sign == "===")
    if sign in ("==", "!="):
        return equal(one, other) == (sign == "==")
    if not (isinstance(one, str) and isinstance(other, str)):
        one, other = number_in(one), number_in(other)
    return one is not None and other is not None and bool(ORDERS[sign](one, other))
