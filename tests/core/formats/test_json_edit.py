"""Edits of a JSON text that leave every other byte alone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.core.formats import json_edit
from holdfast.core.formats.json_edit import NotJson, add, parse, remove

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    PLAIN, lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(), inside, max_size=4)
)
OBJECTS = st.dictionaries(st.text(), VALUES, max_size=5)
WRITERS: list[dict[str, Any]] = [
    {"indent": 2},
    {"indent": 4, "ensure_ascii": False},
    {"indent": "\t"},
    {"indent": 0},
    {},
    {"separators": (",", ":")},
]
TEXTS = st.builds(
    lambda value, form, mark, line, end: mark + json.dumps(value, **form).replace("\n", line) + end,
    OBJECTS, st.sampled_from(WRITERS), st.sampled_from(["", "\ufeff"]), st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\r\n", " \n\n"]),
)  # fmt: skip


@given(TEXTS, VALUES)
def test_what_was_added_and_removed_again_leaves_the_very_text(text: str, value: object) -> None:
    settings = parse(text)
    name = "hooks" + "'" * sum(key.startswith("hooks") for key in settings)
    added = add(text, (), value, name)
    assert parse(added) == {**settings, name: value}
    assert remove(added, (name,)) == text


@given(TEXTS, st.data())
def test_what_is_removed_is_all_that_is_missing(text: str, data: st.DataObject) -> None:
    settings = parse(text)
    if settings:
        name = data.draw(st.sampled_from(sorted(settings)))
        rest = remove(text, (name,))
        assert parse(rest) == {key: value for key, value in settings.items() if key != name}
        assert list(parse(rest)) == [key for key in settings if key != name]


@given(st.lists(VALUES, min_size=1, max_size=5), st.sampled_from(WRITERS), st.data())
def test_items_of_a_list_are_removed_by_their_number(
    values: list[object], form: dict[str, Any], data: st.DataObject
) -> None:
    text = json.dumps({"list": values}, **form)
    number = data.draw(st.integers(0, len(values) - 1))
    assert parse(remove(text, ("list", number))) == {"list": values[:number] + values[number + 1 :]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{}", '{\n  "a": 1\n}'),
        ("{}\n", '{\n  "a": 1\n}\n'),
        ('{"b":2}', '{"b":2,"a":1}'),
        ('{"b": 2}', '{"b": 2, "a": 1}'),
        ('{\n\t"b": 2\n}', '{\n\t"b": 2,\n\t"a": 1\n}'),
        ('{\r\n    "b": 2\r\n}\r\n', '{\r\n    "b": 2,\r\n    "a": 1\r\n}\r\n'),
        ('{\n  "b": 2 }', '{\n  "b": 2,\n  "a": 1 }'),
    ],
)
def test_a_member_is_added_in_the_form_of_the_text(before: str, after: str) -> None:
    assert add(before, (), 1, "a") == after


def test_a_nested_value_is_spread_in_the_indentation_of_the_text() -> None:
    text = '{\n   "b": {}\n}\n'
    assert add(text, ("b",), [{"x": [1, "é"]}], "a") == (
        '{\n   "b": {\n      "a": [\n         {\n            "x": [1, "é"]\n         }\n      ]\n   }\n}\n'
    )


def test_of_two_members_with_one_name_the_last_one_is_meant() -> None:
    text = '{"a": {"x": 1}, "a": {"y": 2}}'
    assert add(text, ("a",), 3, "z") == '{"a": {"x": 1}, "a": {"y": 2, "z": 3}}'


def test_brackets_and_quotes_in_texts_are_only_text() -> None:
    text = '{"a": "}],\\"{[", "b": [1]}'
    assert add(text, ("b",), 2) == '{"a": "}],\\"{[", "b": [1, 2]}'
    assert remove(text, ("a",)) == '{"b": [1]}'


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a": 1,}', "{'a': 1}", '{"a": NaN}', '{"a": 1} x', '// why\n{"a": 1}', '{"a": "\n"}', "[" * 100_000,
     "[" * 200 + "]" * 200],
    ids=lambda text: text[:12] or "nothing",
)  # fmt: skip
def test_what_is_not_json_is_not_edited(text: str) -> None:
    with pytest.raises(NotJson):
        json_edit.parse(text)
