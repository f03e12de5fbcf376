"""Ids: their form, their chance, and the file name that any text gets."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path

import pytest
from hypothesis import given

from holdfast.core import ids
from tests.hostile.ids import HOSTILE_IDS
from tests.strategies import WILD_TEXT, many_examples

FORM = re.compile(r"run-[0-9a-hjkmnp-tv-z]{10}\Z")
ALLOWED_IN_A_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")
OURS = ["run-4x9k2m7pq3", "ses-7pq34x9k2m", "store-0000000000", "a", "0", "a.b_c-d", "a" * 128]


def test_a_new_id_has_a_prefix_and_ten_letters_that_nobody_misreads() -> None:
    for _ in range(200):
        assert FORM.match(ids.make("run"))


def test_new_ids_do_not_repeat() -> None:
    assert len({ids.make("run") for _ in range(10_000)}) == 10_000


def test_every_place_of_a_new_id_takes_every_letter() -> None:
    made = [ids.make("x").removeprefix("x-") for _ in range(5_000)]
    for letters in zip(*made, strict=True):
        assert set(letters) == set(ids.ALPHABET)


def test_a_new_id_is_safe_and_is_its_own_file_name() -> None:
    made = ids.make("run")
    assert ids.is_safe(made)
    assert ids.file_name(made) == made


def test_an_event_id_is_sixteen_bytes_and_new_each_time() -> None:
    made = {ids.make_event(moment) for moment in range(-1_000, 0)}
    assert len(made) == 1_000
    assert {len(bytes.fromhex(id)) for id in made} == {16}


def test_the_same_kept_call_always_becomes_the_same_event() -> None:
    names = ["0001-abc-1-ff", "0001-abc-1-fe", "0001-abc-1-ff.cut", os.fsdecode(b"0001-\xff")]
    made = [ids.event_of_call(name) for name in names]
    assert made == [ids.event_of_call(name) for name in names]
    assert len(set(made)) == len(names)
    assert {len(bytes.fromhex(id)) for id in made} == {16}


@pytest.mark.parametrize("id", [*OURS, "A", "Run-1", "x-1"])
def test_a_plain_id_is_safe(id: str) -> None:
    assert ids.is_safe(id)


@pytest.mark.parametrize("id", ["", ".", "..", "-rf", "--run", "a/b", "a b", "a\n", "a\0", "é", "a" * 129, "_a", ".a"])
def test_an_id_that_could_be_read_as_something_else_is_not_safe(id: str) -> None:
    assert not ids.is_safe(id)


@pytest.mark.parametrize("id", OURS)
def test_an_id_of_ours_is_its_own_file_name(id: str) -> None:
    assert ids.file_name(id) == id


def is_one_plain_name(name: str) -> bool:
    return bool(ALLOWED_IN_A_NAME.match(name)) and len(name) <= 128


@pytest.mark.promise(21)
def test_there_are_at_least_five_hundred_hostile_ids_and_all_are_distinct() -> None:
    assert len(set(HOSTILE_IDS)) == len(HOSTILE_IDS) >= 500


@pytest.mark.promise(21)
def test_every_hostile_id_gets_one_plain_file_name() -> None:
    assert [id for id in HOSTILE_IDS if not is_one_plain_name(ids.file_name(id))] == []


@pytest.mark.promise(21)
def test_distinct_hostile_ids_never_share_a_name_even_where_case_is_ignored() -> None:
    names = [ids.file_name(id).casefold() for id in HOSTILE_IDS]
    assert len(set(names)) == len(names)


@pytest.mark.promise(21)
def test_no_hostile_id_makes_a_file_outside_its_directory(tmp_path: Path) -> None:
    inside = tmp_path / "state"
    inside.mkdir()
    for id in HOSTILE_IDS:
        (inside / ids.file_name(id)).write_text(id, encoding="utf-8", errors="surrogatepass", newline="")
    assert os.listdir(tmp_path) == ["state"]
    assert len(os.listdir(inside)) == len(HOSTILE_IDS)
    for id in HOSTILE_IDS:
        assert (inside / ids.file_name(id)).read_bytes() == id.encode("utf-8", "surrogatepass")


@pytest.mark.promise(21)
@many_examples
@given(WILD_TEXT, WILD_TEXT)
def test_any_two_texts_share_a_file_name_only_if_they_are_the_same(one: str, other: str) -> None:
    names = [ids.file_name(one), ids.file_name(other)]
    assert all(is_one_plain_name(name) for name in names)
    assert (names[0] == names[1]) == (one == other)


@pytest.mark.promise(21)
def test_a_text_that_looks_like_the_name_of_another_id_gets_a_name_of_its_own() -> None:
    taken = ids.file_name("Run-1")
    chain = list(itertools.accumulate(range(5), lambda name, _: ids.file_name(name), initial=taken))
    assert len(set(chain)) == len(chain)
