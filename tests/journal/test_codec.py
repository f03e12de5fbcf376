"""How a body is stored: anything that JSON allows comes back, and no body can forge what is not there."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, strategies as st

from holdfast.core.errors import Damaged
from holdfast.core.text import sound
from holdfast.journal import codec
from holdfast.project.inbox import NotACall, parse
from tests.strategies import JSON, TEXT, examples, many_examples

LARGE = "x" * codec.SHARED
DOLLARS = st.text("$blob", max_size=6) | st.sampled_from(["$blob", "$$blob", "$", "$$", "$other"])
EDGES = st.sampled_from([LARGE, "é" * codec.SHARED, LARGE[:-1], "00" * 16])
VALUES = JSON | EDGES
BODIES: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    DOLLARS | TEXT, VALUES | st.lists(VALUES, max_size=3) | st.dictionaries(DOLLARS, VALUES, max_size=3), max_size=4
)
NOTHING: dict[bytes, bytes] = {}


def there_and_back(body: dict[str, Any]) -> dict[str, Any]:
    data, blobs = codec.pack(body)
    return codec.unpack(data, blobs.get)


@many_examples
@given(BODIES)
def test_any_body_comes_back_as_it_was(body: dict[str, Any]) -> None:
    assert there_and_back(body) == body


FORGERIES: list[dict[str, Any]] = [
    {"$blob": "00" * 16},
    {"a": {"$blob": "00" * 16}},
    {"a": [{"$blob": "00" * 16}]},
    {"$$blob": "00" * 16},
    {"$blob": LARGE},
    {"$blob": {"$blob": "x"}},
    {"$": 1, "$$": 2, "$$$": 3},
    {"$blob": 1},
    {"$blob": "not a hash"},
]


@pytest.mark.parametrize("body", FORGERIES, ids=lambda body: repr(body)[:40])
def test_a_body_that_looks_like_a_reference_is_only_a_body(body: dict[str, Any]) -> None:
    data, blobs = codec.pack(body)
    assert codec.unpack(data, blobs.get) == body
    assert codec.blobs_in(data) == set(blobs)


@pytest.mark.parametrize("depth", [10, 100, 300])
def test_a_deep_body_comes_back_as_it_was(depth: int) -> None:
    body: dict[str, Any] = {}
    for _ in range(depth):
        body = {"a": body}
    assert there_and_back(body) == body


@pytest.mark.promise(19)
@pytest.mark.parametrize("depth", [300, 450, 500, 600, 900, 5000])
def test_a_call_that_can_be_read_can_be_stored_however_deep_it_is(depth: int) -> None:
    try:
        call = {"call": parse(b'{"a":' * depth + b"1" + b"}" * depth)}
    except NotACall:
        return
    assert there_and_back(cast(dict[str, Any], sound(call))) == call


def test_a_large_text_is_taken_out_and_stored_once_however_often_it_stands() -> None:
    data, blobs = codec.pack({"a": LARGE, "b": [LARGE, {"c": LARGE}], "d": LARGE + "y"})
    assert sorted(blobs.values()) == [LARGE.encode(), (LARGE + "y").encode()]
    assert LARGE.encode() not in codec.expand(data)


def test_the_same_text_in_two_bodies_has_one_hash() -> None:
    _, one = codec.pack({"prompt": LARGE})
    _, other = codec.pack({"answer": [LARGE]})
    assert one == other


@pytest.mark.parametrize(("size", "is_shared"), [(codec.SHARED - 1, False), (codec.SHARED, True), (100_000, True)])
def test_a_text_is_shared_from_this_length_on(size: int, is_shared: bool) -> None:
    _, blobs = codec.pack({"a": "é" * size})
    assert bool(blobs) == is_shared


@examples
@given(BODIES)
def test_a_body_names_exactly_the_large_values_that_it_needs(body: dict[str, Any]) -> None:
    data, blobs = codec.pack(body)
    assert codec.blobs_in(data) == set(blobs)
    assert all(codec.digest_of(value) == digest for digest, value in blobs.items())


def test_a_large_value_that_is_missing_is_damage() -> None:
    data, _ = codec.pack({"a": LARGE})
    with pytest.raises(Damaged, match="missing"):
        codec.unpack(data, NOTHING.get)


@examples
@given(st.binary(max_size=2000))
def test_anything_squeezed_can_be_expanded_and_does_not_grow(data: bytes) -> None:
    small = codec.squeeze(data)
    assert codec.expand(small) == data
    assert len(small) <= len(data) + 1


def test_a_long_repetition_is_compressed_and_a_short_text_is_not() -> None:
    assert len(codec.squeeze(b"a" * 10_000)) < 200
    assert codec.squeeze(b"a" * 10) == b"j" + b"a" * 10


STORED = codec.pack({"text": "a note " * 100, "list": [1, 2.5, None, {"$x": "y"}]})[0]
DAMAGES = {
    "nothing": b"",
    "an unknown form": b"?" + STORED[1:],
    "no content": STORED[:1],
    "half": STORED[: len(STORED) // 2],
    "zeros in the middle": STORED[:20] + bytes(20) + STORED[40:],
    "plain, cut": b'j{"a": 1',
    "plain, not text": b"j\xff\xfe{}",
    "plain, two values": b"j{}{}",
    "plain, no object": b"j[1]",
    "plain, a text": b'j"x"',
    "a reference that is no hash": b'j{"a":{"$blob":"zz"}}',
    "a reference as the whole": b'j{"$blob":"' + b"00" * 16 + b'"}',
    "too deep": b"j" + b'{"a":' * 5000 + b"1" + b"}" * 5000,
}


@pytest.mark.promise(19)
@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_bytes_are_reported_as_damage(name: str) -> None:
    with pytest.raises(Damaged) as damaged:
        codec.unpack(DAMAGES[name], lambda _: b"a value")
    assert damaged.value.hints == ["`holdfast verify`"]


@pytest.mark.promise(19)
def test_every_cut_of_a_stored_body_is_reported_as_damage() -> None:
    for size in range(len(STORED)):
        with pytest.raises(Damaged):
            codec.unpack(STORED[:size], NOTHING.get)


@pytest.mark.promise(19)
@many_examples
@given(st.binary(max_size=60) | st.binary(max_size=60).map(b"j".__add__) | st.binary(max_size=60).map(b"z".__add__))
def test_any_bytes_are_a_body_or_damage(data: bytes) -> None:
    try:
        body = codec.unpack(data, NOTHING.get)
    except Damaged:
        return
    assert isinstance(body, dict)


@pytest.mark.promise(19)
@many_examples
@given(st.integers(0, len(STORED) * 8 - 1))
def test_a_flipped_bit_in_a_compressed_body_never_goes_unseen(bit: int) -> None:
    flipped = bytearray(STORED)
    flipped[bit // 8] ^= 1 << bit % 8
    try:
        body = codec.unpack(bytes(flipped), NOTHING.get)
    except Damaged:
        return
    assert body == codec.unpack(STORED, NOTHING.get)  # such as a bit that says how it was compressed


def test_numbers_of_any_size_come_back() -> None:
    body = {"a": [2**63, -(2**63), 2**64, 10**40, 1e300, -0.5, 0]}
    assert there_and_back(body) == body


def test_the_stored_form_is_plain_json_that_a_stranger_can_read() -> None:
    data, _ = codec.pack({"$a": "ü", "b": LARGE})
    digest = codec.digest_of(LARGE.encode()).hex()
    assert data[:1] == b"j"
    assert msgspec.json.decode(data[1:]) == {"$$a": "ü", "b": {"$blob": digest}}
