"""How many values a text holds, known before they are made."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from holdfast.core.formats import json_limits
from holdfast.core.formats.json_limits import is_dense, sparse

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a,[{"\\\n😀'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet=',[{"\\:'), inner),
)


def marks(value: object) -> int:
    """The brackets that are opened, and the commas, when a value is written."""
    if not isinstance(value, (dict, list)):
        return 0
    inside = list(value.values()) if isinstance(value, dict) else value
    return 1 + max(0, len(inside) - 1) + sum(map(marks, inside))


@given(VALUES, st.integers(0, 12), st.booleans())
def test_what_stands_in_strings_does_not_count(value: object, most: int, is_text: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_limits, "MOST", most)
        assert is_dense(text) == is_dense(text.encode()) == (len(text) > most and marks(value) > most)


@pytest.mark.parametrize("piece", [b"{},", b"[],", b"0,", b'"",', b'{"":0},'])
def test_a_long_list_of_small_values_is_dense(piece: bytes) -> None:
    assert is_dense(b"[" + piece * (json_limits.MOST + 1) + b"0]")
    with pytest.raises(ValueError, match="more than 500,000 values"):
        sparse(b"[" + piece * (json_limits.MOST + 1) + b"0]")


@pytest.mark.parametrize("inside", ["1,2,3\n", '{"a": [1, 2]},', "\\"], ids=["a table", "JSON", "backslashes"])
def test_a_large_file_in_one_string_is_not(inside: str) -> None:
    data = json.dumps({"output": inside * json_limits.MOST}).encode()
    assert not is_dense(data)
    assert sparse(data) is data


def test_strings_without_anything_between_them_are_not_looked_at_for_ever() -> None:
    """A megabyte of them took a third of a second, and they are no JSON."""
    assert is_dense(b'""' * (json_limits.TOKENS + 2) + b"," * (json_limits.MOST + 1))


def test_a_string_that_is_never_closed_ends_the_look() -> None:
    assert not is_dense(b'["' + b"," * (json_limits.MOST + 10))
