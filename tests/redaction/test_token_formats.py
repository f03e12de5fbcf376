"""Tokens of providers: every format of the tables, in time that grows with the text alone."""

from __future__ import annotations

import gc
import random
import re
import time

import pytest

from holdfast.redaction import token_formats
from holdfast.redaction.redactor import Redactor
from holdfast.redaction.regex import compiled
from holdfast.redaction.tokens import Runs

pytestmark = pytest.mark.promise(26)

TABLES = (
    token_formats.PREFIXED,
    token_formats.CHANCY,
    token_formats.CASED,
    token_formats.SHORT,
    token_formats.VARIED,
)
ROWS = [row for table in TABLES for row in table]
SIGNS = "aB3-_.=/+:|$%~ "
PIECES = re.compile(r"(?:\[([^\]]+)\]|\\([.$])|([^\[\]{}\\()?*|]))(?:\{([0-9]+)(,?)[0-9]*\})?")
SLOWEST = 0.3  # seconds for 30 KB, of which a tenth is needed


def _seconds(redactor: Redactor, text: str) -> float:
    gc.disable()  # it would count the objects of all tests before
    try:
        begun = time.process_time()
        redactor.clean(text)
        return time.process_time() - begun
    finally:
        gc.enable()


@pytest.mark.defect("A text of 120 KB of nothing but `sk-` kept redaction busy for a minute", promise=26)
@pytest.mark.parametrize("between", ["-", ".", "-a1"])
def test_prefixes_in_a_row_take_time_that_grows_with_their_number(between: str) -> None:
    redactor = Redactor()
    redactor.clean("nothing")
    slow = []
    for prefixes, _ in ROWS:
        word = prefixes.split()[0] + between
        text = word * (30_000 // len(word))
        if _seconds(redactor, text) > SLOWEST and _seconds(redactor, text + " ") > SLOWEST:  # not by chance
            slow.append(word)
    assert slow == []


@pytest.mark.defect(
    "A line of 800 KB of nothing but passwords in addresses was searched to its end for each", promise=26
)
def test_passwords_in_one_line_take_time_that_grows_with_their_number() -> None:
    redactor = Redactor()
    redactor.clean("nothing")
    some, many = "x://a:b@" * 12_500, "x://a:b@" * 100_000
    assert redactor.text(some).count("[redacted password]") == 12_500
    limit = 16 * _seconds(redactor, some)  # eight times the text: 8 if linear, 64 if quadratic
    assert _seconds(redactor, many) < limit or _seconds(redactor, many) < limit  # once more: a machine may be busy


@pytest.mark.parametrize("tail", sorted({tail for _, tail in ROWS}))
def test_a_tail_ends_where_the_engine_says(tail: str) -> None:
    """Most tails are matched without the engine."""
    chance, bare = random.Random(7), tail.replace(r"\b", "")
    exact = compiled(f"({bare})")
    for _ in range(200):
        text = made(bare, chance).encode()
        match = exact.match(text, 0, len(text))
        assert Runs(text).end(0, bare) == (-1 if match is None else match.span()[1]), text


@pytest.mark.parametrize(("text", "end"), [("a" * 36, 36), ("a" * 36 + ".", 36), ("a" * 36 + "-b", 36), ("a" * 37, -1)])
def test_a_tail_with_an_edge_is_a_whole_word(text: str, end: int) -> None:
    assert Runs(text.encode()).end(0, r"[A-Za-z0-9]{36}\b") == end


def made(tail: str, chance: random.Random) -> str:
    """A text that a tail may match, or nearly: pieces of it, some of them torn or followed by another character."""
    text = ""
    for letters, escaped, plain, least, more in PIECES.findall(chance.choice(tail.split("|"))):
        alphabet = [sign for sign in map(chr, range(33, 127)) if re.match(f"[{letters}]", sign)] if letters else []
        number = int(least or 1) + chance.choice((0, 0, 0, 5 if more else 0, -1))
        text += "".join(chance.choices(alphabet or [escaped or plain], k=max(0, number)))
    return f"{text}{chance.choice(('', *SIGNS))}"
