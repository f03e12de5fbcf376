"""A text as the difference to an earlier one: exact whatever the two are, small where they are alike."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from holdfast.journal.codec import BLOCK, DEEPEST, against, base_in, combine, difference, digest_of, is_alike, patch

LIMIT = 1 << 20


def noise(seed: int, size: int) -> bytes:
    return random.Random(seed).randbytes(size)


PIECES = st.lists(st.integers(0, 5), max_size=30).map(lambda which: b"".join(noise(seed, 50) for seed in which))


@given(st.one_of(st.binary(max_size=300), PIECES), st.one_of(st.binary(max_size=300), PIECES))
def test_a_difference_makes_exactly_the_value_again(base: bytes, value: bytes) -> None:
    assert patch(base, difference(base, value), LIMIT) == value


def test_what_was_changed_in_a_few_places_is_a_few_pieces() -> None:
    base = noise(1, 100_000)
    value = base[:500] + b"new" + base[500:40_000] + base[41_000:99_000] + b"and more" + base[99_000:]
    found = difference(base, value)
    assert patch(base, found, LIMIT) == value
    assert [item for item in found if isinstance(item, bytes)] == [b"new", b"and more"]
    assert len(found) == 10


def test_what_moved_is_copied_and_what_is_repeated_is_copied_each_time() -> None:
    one, other = noise(1, 1_000), noise(2, 1_000)
    found = difference(one + other, other + one + other)
    assert not any(isinstance(item, bytes) for item in found)
    assert patch(one + other, found, LIMIT) == other + one + other


def test_two_texts_that_have_nothing_in_common_are_not_compared() -> None:
    assert is_alike(noise(1, 10_000), noise(1, 9_000))
    assert not is_alike(noise(1, 10_000), noise(2, 10_000))
    assert not is_alike(noise(1, BLOCK), noise(1, BLOCK)), "too short to say"


@pytest.mark.parametrize(
    "changes",
    [[0], [0, 11], [-1, 2], [5, -1], [11, 0], [0, None], ["a"], [True, True], [0, 1.0], {"a": 1}, 7, [None], [[0, 1]]],
    ids=str,
)
def test_what_is_no_difference_to_this_base_is_refused(changes: Any) -> None:
    with pytest.raises(ValueError, match="difference"):
        patch(b"0123456789", changes, LIMIT)


def test_a_difference_that_makes_too_much_is_refused_before_it_does() -> None:
    with pytest.raises(ValueError, match="too large"):
        patch(noise(1, 1000), [0, 1000] * 1_000_000, LIMIT)


def test_the_stored_form_names_what_it_rests_on_and_how_deep_it_lies() -> None:
    base = noise(1, 20_000)
    value = base[:9_000] + b"new" + base[9_000:]
    stored = against(base, digest_of(base), 3, value)
    assert stored is not None
    assert len(stored) < 100
    assert base_in(stored) == (4, digest_of(base))
    assert combine(base, stored) == value


def test_what_lies_too_deep_is_too_short_or_does_not_get_smaller_is_stored_whole() -> None:
    base = noise(1, 20_000)
    assert against(base, digest_of(base), DEEPEST, base + b"new") is None
    assert against(base[:5_000], digest_of(base), 0, base[:5_000] + b"new") is None
    assert against(base, digest_of(base), 0, base + noise(2, 9_000)) is None
