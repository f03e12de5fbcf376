"""What is hidden stays hidden where characters are taken out of a text on its way to eyes and models."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, strategies as st

from holdfast.core import text
from holdfast.core.untrusted_text import tame
from holdfast.redaction import text_forms
from holdfast.redaction.redactor import Redactor
from holdfast.redaction.regex import compiled
from tests.redaction.test_redactor import TOKENS

KNOWN = "xq7Vn-kk2-plum"
TOKEN = TOKENS["github"]
EXITS: list[Callable[[str], str]] = [text.visible, text.one_line, tame]
hide = Redactor([KNOWN], ["acme-[0-9]{6}"]).text

pytestmark = pytest.mark.promise(26)

words = st.sampled_from([*TOKENS.values(), KNOWN, "acme-123456", "password=hunter2xyz9", '{"api_key": "hunter2xyz9"}'])
acting = st.sampled_from("\0\b\x1b\r\x7f\x9b\u00ad\u200b\u200d\u202e\u2060\ufe0f\ufeff\U000e0041\ud800")


@st.composite
def in_pieces(draw: st.DrawFn) -> str:
    """A few words, and a secret among them whose letters have others between them that nobody sees."""
    letters = list(draw(words))
    for place in draw(st.lists(st.integers(0, len(letters)), max_size=5)):
        letters.insert(place, draw(acting) * draw(st.integers(1, 3)))
    return draw(st.sampled_from(["", "so ", "a\r\n"])) + "".join(letters) + draw(st.sampled_from(["", " and", "\r\n"]))


@given(in_pieces())
@example("\0".join(TOKEN))
@example(f"{TOKEN[:12]}\u200b{TOKEN[12:]} and {KNOWN[:5]}\u200b{KNOWN[5:]}, {TOKEN}")
@example('{"pass\u200bword": "a b c9"}')
@example(f"{TOKEN[:1]}\u2060\ufe0f{TOKEN[1:]}")  # the second is shown behind an emoji; the first is none
def test_hiding_what_was_shown_changes_nothing(said: str) -> None:
    """A secret with a zero width space in it was no secret when it was stored, and whole where it was read."""
    stored = hide(said)
    for leave in EXITS:
        assert hide(leave(stored)) == leave(stored)


@pytest.mark.parametrize("secret", [*TOKENS.values(), KNOWN, "acme-123456"])
def test_a_secret_that_is_in_pieces_is_found_and_counted(secret: str) -> None:
    redactor = Redactor([KNOWN], ["acme-[0-9]{6}"])
    told = {"text": ["first", f"so \x1b[1m{secret[:7]}\u200b{secret[7:]}\x1b[0m"]}
    clean, counts = redactor.clean(told)
    assert counts.total() == 1
    assert secret not in text.visible(clean["text"][1])
    assert [found.line for found in redactor.find(f"one\r\n{secret[:7]}\u200b{secret[7:]} and {secret}")] == [2, 2]


@pytest.mark.parametrize(
    ("lines", "secret"),
    [
        (["the first\u200b line", f"so {TOKEN[:9]}\u00ad{TOKEN[9:]}"], TOKEN[9:]),
        (["password\u200b:", "", '  "hunter2xyz9"'], "hunter2xyz9"),
        (["password:", "", '  "hunter2\u200bxyz9"'], "xyz9"),
        (["first\u2060", "of many", "lines", "that are", "the value x9"], "of many"),
        (["first", "of many", "lines", "that are", "the value\u2060 x9"], "of many"),
        (["curl \\", *["  -s \\"] * 9, "  -u joe:hunter2\u200bxyz9 \\"], "xyz9"),
        (["-----BEGIN PRIVATE\u200b KEY-----", *["QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"] * 20], "QUJDREVG"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_secret_in_a_long_text_may_go_over_lines_that_lose_characters(
    lines: list[str], secret: str, end: str
) -> None:
    """Of a long text only the lines are looked at that lose characters, and those around them."""
    known = "\n".join(["first", "of many", "lines", "that are", "the value x9"])
    around = [f"x = line_{number}(of, {number})" for number in range(300)]
    said = end.join([*around, *lines, *around])
    stored = Redactor([known]).text(said)
    assert secret not in stored
    assert around[-1] in stored


def test_what_has_no_secret_keeps_every_character() -> None:
    said = {
        "text": "50 %\r60 %\r\n\x1b[32mgreen\x1b[0m \u200bno\0thing ☂\ufe0f \ud800",
        "\u200bkey": ["\ufeffa line\r\n"],
    }
    assert Redactor([KNOWN]).clean(said) == (said, {})


def test_all_that_is_ascii_loses_the_same_characters_as_any_other_text() -> None:
    said = "".join(f"a{chr(number)}b" for number in range(0x80)) + "c\r\nd"
    assert text.visible(said) == text.visible(said + "é")[:-1] == text.ACTING.sub("", said)


def test_every_character_that_is_taken_away_is_known_in_its_bytes() -> None:
    found = compiled(text_forms.ACTING, captures=False)
    for number in range(0x110000):
        is_taken = bool(text.ACTING.search(chr(number)))
        assert bool(found.search(chr(number).encode("utf-8", "surrogatepass"))) == is_taken, hex(number)
