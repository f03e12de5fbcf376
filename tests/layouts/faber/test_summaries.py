"""What stands in for a text that is too long, and the words for sizes and spans of time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from holdfast.layouts.faber.artifact_loader import HEADINGS, KEYS, summary
from holdfast.layouts.faber.screens import ArtifactReport, duration, fenced, kilobytes
from tests.strategies import WILD_TEXT, some_examples
from tests.tools import NOON


def test_a_markdown_text_is_its_headings() -> None:
    text = "# One\ntext\n#hashtag\n### Three\x1b[2J\n" + "x" * 100
    assert summary("markdown", text).splitlines()[1:] == ["Its headings:", "  # One", "  ### Three[2J"]


def test_of_many_headings_the_first_are_named_and_the_others_counted() -> None:
    said = summary("markdown", "# A heading\n" * (HEADINGS + 5)).splitlines()
    assert (len(said), said[-1]) == (HEADINGS + 3, "  and 5 more")


def test_a_json_text_is_its_keys() -> None:
    assert summary("json", json.dumps({"b": 1, "a\n": 2})).splitlines()[1:] == ["Its keys: b, a"]
    many = summary("json", json.dumps({str(number): 0 for number in range(KEYS + 1)}))
    assert many.endswith(" and more\n")


CUT = [
    ("on one line", '{"name": "' + "x" * 5_000, ["name"]),
    ("after a key", '{"name": [{"inner": 1}, {"deep": {}}], "steps"  :\n', ["name", "steps"]),
    ("inside a key", '{"a\\"b": "c", "e\\u0041": {"f": "g:"}, "half', ['a"b', "eA"]),
    ("inside nested values", '\ufeff {"one": 1, "two": {"x": [[["y", {"z": "}', ["one", "two"]),
    ("a text before a colon", '{"one": "two", "three":', ["one", "three"]),
    ("twice", '{"one": 1, "one": 2, "two": [', ["one", "two"]),
    ("no escape", '{"\\x": 1, "two": [', ["two"]),
]


@pytest.mark.defect('`load_strategy: "summary"` of a JSON file above the limit named no keys')
@pytest.mark.parametrize(("text", "names"), [row[1:] for row in CUT], ids=[row[0] for row in CUT])
def test_a_json_text_that_is_cut_off_is_the_keys_that_are_whole(text: str, names: list[str]) -> None:
    first, keys = summary("json", text, 2_000_000).splitlines()
    assert keys == f"Its keys: {', '.join(names)}"
    assert first.startswith("Not loaded whole: 2,000,000 bytes. Read the part that you need. Of the first ")


@pytest.mark.parametrize("text", ["[" + '{"a": 1}, ' * 20, '"a": 1', '"', "x" * 9_000, ""])
def test_of_one_cut_line_without_keys_only_the_size_is_told(text: str) -> None:
    """Half a line may hold half a secret."""
    for kind in ("json", "markdown"):
        assert summary(kind, text, 2_000_000) == "Not loaded whole: 2,000,000 bytes. Read the part that you need.\n"


def test_of_a_text_that_is_cut_off_no_half_line_is_told() -> None:
    said = summary("markdown", "# One\n## Two\n### Thr", 2_000_000).splitlines()
    assert said[0].endswith(" Of the first 2 lines:")
    assert said[1:] == ["Its headings:", "  # One", "  ## Two"]
    assert summary("markdown", "one\ntwo\nthr", 9).splitlines()[1:] == ["It begins:", "  one", "  two"]


@pytest.mark.parametrize(
    ("kind", "text"), [("json", "[1]"), ("json", "{}"), ("json", "{"), ("json", "[" * 100_000), ("markdown", "plain")]
)
def test_any_other_text_is_how_it_begins(kind: str, text: str) -> None:
    said = summary(kind, text).splitlines()
    assert said[1] == "It begins:"
    assert said[2].strip()[:1] == text[:1]


@some_examples
@given(st.sampled_from(["json", "markdown"]), WILD_TEXT)
def test_a_summary_of_any_text_is_short_and_safe(kind: str, text: str) -> None:
    said = summary(kind, text)
    assert len(said.splitlines()) < 40
    said.encode()


@some_examples
@given(WILD_TEXT | st.text("`\n ab", max_size=40))
def test_no_text_can_close_its_fence(text: str) -> None:
    artifact = ArtifactReport("a`b\n", "markdown", "", required=False, content=text, resolved="p\n```\n")
    first, *inside, last = fenced(artifact, NOON).split("\n")
    assert first.startswith(last)
    assert set(last) == {"`"}
    assert all(last not in line for line in inside)
    assert "`" not in first.removeprefix(last)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "unknown"),
        (0, "0 seconds"),
        (1.9, "1 second"),
        (61, "1 minute 1 second"),
        (8_100, "2 hours 15 minutes"),
        (90_061, "1 day 1 hour"),
        (3_600, "1 hour"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float | None, said: str) -> None:
    assert duration(seconds) == said


@pytest.mark.parametrize(("size", "said"), [(0, "0.0 KB"), (4_300, "4.2 KB"), (1024 * 1024, "1.0 MB")])
def test_a_size_has_1024_bytes_to_the_kilobyte(size: int, said: str) -> None:
    assert kilobytes(size) == said
