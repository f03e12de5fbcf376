"""The page of promises: it is complete, each promise has tests, and its statements on tests are true."""

from __future__ import annotations

import re

from tests.defects import PAGE as PAGE_OF_DEFECTS, render
from tests.marked import find_tests

from .tree import ROOT

PAGE = ROOT / "docs" / "promises.md"
ALL = set(range(1, 29))
PLACES_LEFT = {17, 25}  # reserved numbers: a team store and local servers, which do not exist yet
LISTED = re.compile(r"^- `(tests/\S+\.py)`$|^  - `(test\w+)`: (?:fast|long|hours), ", re.MULTILINE)


def test_the_page_names_every_promise_once_and_in_order() -> None:
    named = re.findall(r"^- \*\*P(\d+)\*\* ", PAGE.read_text(), re.MULTILINE)
    assert [int(number) for number in named] == sorted(ALL)


def test_every_promise_has_a_test_and_every_mark_a_promise() -> None:
    marked = {number for test in find_tests() for number in test.promises}
    assert marked == ALL - PLACES_LEFT


def test_the_tests_that_the_page_lists_exist() -> None:
    file, listed = "", set()
    for path, name in LISTED.findall(PAGE.read_text()):
        file = path or file
        if name:
            listed.add(f"{file}::{name}")
    assert listed
    assert listed - {str(test) for test in find_tests()} == set()


def test_the_table_has_a_row_for_every_promise() -> None:
    rows = re.findall(r"^\| P(\d+) \|.*\| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    assert [int(number) for number, _ in rows] == sorted(ALL)
    assert {int(number) for number, result in rows if result == "its place is left"} == PLACES_LEFT


LINKS = (
    ("README.md", "docs/promises.md"),
    ("CONTRIBUTING.md", "docs/promises.md"),
    ("docs/promises.md", "track-record.md"),
)


def test_the_pages_are_linked() -> None:
    assert [(page, link) for page, link in LINKS if f"]({link})" not in (ROOT / page).read_text()] == []


def test_every_bug_of_the_track_record_has_a_promise_or_none_and_a_test_that_exists() -> None:
    page = (ROOT / "docs" / "track-record.md").read_text()
    cells = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    rows = [row for row in cells if row[0] not in ("what was wrong", "---")]
    known = {f"`{test}`" for test in find_tests()}
    assert [row for row in rows if not re.fullmatch(r"P\d+|none", row[1]) or row[2] not in known] == []
    assert len(rows) == len({what for what, _, _ in rows}) >= 40


def test_the_track_record_lists_every_defect_marker() -> None:
    assert render(PAGE_OF_DEFECTS.read_text()) == PAGE_OF_DEFECTS.read_text(), "run scripts/track-record"
