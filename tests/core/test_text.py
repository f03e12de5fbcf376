"""Text for eyes and models: what could act instead of being read is taken out, and nothing else."""

from __future__ import annotations

import json
import os
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.core.text import count, escape_path, one_line, path_text, sound, sound_text, unescape_path, visible
from tests.strategies import JSON, WILD_TEXT, examples, many_examples

# Unicode's controls and its Default_Ignorable_Code_Point list; emoji are made with U+FE0E and U+FE0F, which stay there.
TAKEN_OUT = {
    "C0": (0x00, 0x08), "C0 after newline": (0x0B, 0x1F), "DEL and C1": (0x7F, 0x9F), "soft hyphen": (0xAD, 0xAD),
    "grapheme joiner": (0x34F, 0x34F), "Arabic letter mark": (0x61C, 0x61C), "Hangul fillers": (0x115F, 0x1160),
    "Khmer inherent vowels": (0x17B4, 0x17B5), "Mongolian selectors": (0x180B, 0x180F),
    "zero-width and marks": (0x200B, 0x200F), "separators": (0x2028, 0x2029), "bidi embeddings": (0x202A, 0x202E),
    "joiners, operators, isolates": (0x2060, 0x206F), "Hangul filler": (0x3164, 0x3164),
    "variation selectors": (0xFE00, 0xFE0F),
    "byte order mark": (0xFEFF, 0xFEFF), "halfwidth filler": (0xFFA0, 0xFFA0), "annotations": (0xFFF0, 0xFFFB),
    "hieroglyph controls": (0x13430, 0x1343F),
    "shorthand controls": (0x1BCA0, 0x1BCA3), "musical controls": (0x1D173, 0x1D17A), "tags": (0xE0000, 0xE0FFF),
    "half characters": (0xD800, 0xDFFF),
}  # fmt: skip
HARMLESS = [
    "",
    "plain",
    "Ärger",
    "日本語",
    "עברית",
    "العربية",
    "😀",
    "👩🏽",
    "❤\ufe0f",
    "⚠\ufe0f ☎\ufe0e",
    "a\tb\nc",
    "½ ∑ → “q”",
    "\xa0",
    "\u3000",
]
ATTACKS = [
    "\x1b[2J", "\x1b]52;c;aGk=\x07", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x9b31m", "\x90q", "a\rb", "a\bb",
    "\u202egpj.exe", "\u2066x\u2069", "pass\u200bword", "\u2028new line", "\U000e0041\U000e0042", "x\x00y", "\x7f",
]  # fmt: skip


def acts(character: str) -> bool:
    code = ord(character)
    return any(first <= code <= last for first, last in TAKEN_OUT.values())


def read(text: str) -> str:
    """What is left of a text, one character after the other."""
    pairs = zip("\0" + text, text, strict=False)
    return "".join(character for before, character in pairs if not acts(character) or draws(before, character))


def draws(before: str, character: str) -> bool:
    """Whether a character makes the symbol before it an emoji, or a plain one again."""
    is_symbol = before in "\u00a9\u00ae" or "\u203c" <= before <= "\u3299" or "\U0001f000" <= before <= "\U0001faff"
    return character in "\ufe0e\ufe0f" and is_symbol


@pytest.mark.promise(24)
@pytest.mark.parametrize("name", TAKEN_OUT)
def test_a_character_that_acts_or_hides_is_taken_out(name: str) -> None:
    first, last = TAKEN_OUT[name]
    left = [hex(code) for code in range(first, last + 1) if visible(f"a{chr(code)}b") != "ab"]
    assert left == []


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_that_can_only_be_read_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_every_letter_number_and_mark_of_every_script_stays() -> None:
    kept = "".join(chr(code) for code in range(0x110000) if unicodedata.category(chr(code))[0] in "LNPS")
    assert visible(kept) == "".join(character for character in kept if not acts(character))


@pytest.mark.promise(24)
@pytest.mark.parametrize("text", ATTACKS)
def test_an_attack_on_a_terminal_or_a_reader_loses_its_power(text: str) -> None:
    assert not any(acts(character) for character in visible(text))
    assert one_line(text) == one_line(visible(text))


@pytest.mark.promise(24)
@pytest.mark.parametrize("base", ["a", "<", " ", "\n", "😀", "❤"])
def test_a_row_of_variation_selectors_says_nothing(base: str) -> None:
    """Sixteen of them are half a byte each: a text that a model reads and nobody sees."""
    hidden = "".join(chr(0xFE00 + half) for byte in b"obey" for half in divmod(byte, 16))
    assert visible(f"{base}{hidden}") == base
    assert visible(f"❤\ufe0f{hidden}\ufe0f\ufe0e") == "❤\ufe0f"


def test_line_ends_of_windows_become_plain_ones() -> None:
    assert visible("a\r\nb\rc") == "a\nbc"


@pytest.mark.promise(24)
@many_examples
@given(WILD_TEXT)
def test_nothing_that_acts_survives_in_any_text(text: str) -> None:
    seen = visible(text)
    assert read(seen) == seen
    assert visible(seen) == seen
    assert seen == read(text)


@pytest.mark.promise(24)
@many_examples
@given(WILD_TEXT, st.integers(1, 40))
def test_one_line_is_one_line_and_no_longer_than_asked(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert len(line.splitlines()) <= 1
    assert read(line) == line
    assert line == line.strip()
    assert one_line(line, width) == line


@examples
@given(WILD_TEXT)
def test_one_line_without_a_width_loses_no_word(text: str) -> None:
    assert one_line(text).split() == visible(text).split()


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [("a  b\n\tc ", None, "a b c"), ("abcdef", 6, "abcdef"), ("abcdefg", 6, "abcde…"), ("ab cdef", 4, "ab…"),
     ("", 5, ""), ("  ", 5, ""), ("ab", 1, "…")],
)  # fmt: skip
def test_a_long_line_ends_with_an_ellipsis(text: str, width: int | None, line: str) -> None:
    assert one_line(text, width) == line


@pytest.mark.parametrize(
    ("text", "expected"),
    [("plain", "plain"), ("é", "é"), ("\ufeffx", "\ufeffx"), ("a\ud800b", "a\ufffdb"), ("\udcff", "\ufffd"),
     ("\ud83d\ude00", "😀"), ("😀\ud83d", "😀\ufffd"), ("\udc00\ud800", "\ufffd\ufffd")],
    ids=ascii,
)  # fmt: skip
def test_half_a_character_is_replaced_and_two_halves_are_joined(text: str, expected: str) -> None:
    assert sound_text(text) == expected


@many_examples
@given(WILD_TEXT)
def test_any_text_can_be_stored_after_it_was_made_sound(text: str) -> None:
    done = sound_text(text)
    done.encode()
    assert sound_text(done) == done
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert done == text


@examples
@given(JSON)
def test_a_sound_value_stays_as_it_is(value: Any) -> None:
    assert sound(value) == value


WILD_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.integers() | WILD_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(WILD_TEXT, inner, max_size=3),
    max_leaves=6,
)


@examples
@given(WILD_JSON)
def test_every_text_in_a_value_is_made_sound_also_the_keys(value: Any) -> None:
    json.dumps(sound(value), ensure_ascii=False).encode()


@pytest.mark.parametrize("name", [b"plain", "Ärger".encode(), b"\xff\xfe", b"a\nb", b"\xed\xa0\x80"])
def test_any_path_can_be_stored_and_shown(name: bytes) -> None:
    shown = path_text(os.fsdecode(b"/tmp/" + name))
    assert shown.encode().startswith(b"/tmp/")
    assert path_text(Path(os.fsdecode(b"/tmp/" + name))) == shown


def test_two_paths_are_never_shown_as_the_same() -> None:
    names = [b"/\xff", b"/\xfe", b"/\xff\xfe", "/ÿ".encode(), b"/y"]
    assert len({path_text(os.fsdecode(name)) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 events"), (1, "1 event"), (2, "2 events"), (12_345, "12,345 events")]
)
def test_things_are_counted_with_their_noun(number: int, words: str) -> None:
    assert count(number, "event") == words


@given(st.binary())
def test_a_path_of_any_bytes_is_stored_as_text_and_made_again(path: bytes) -> None:
    stored = escape_path(path).encode("utf-8").decode("utf-8")
    assert unescape_path(stored) == path
