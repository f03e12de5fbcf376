"""Takes one safeguard away after the other, and asks whether the suite notices. The rows are in `table.py`.

scripts/test -m long tests/mutations
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.marked import find_tests
from tests.mutations import marks, trying
from tests.mutations.table import INSIDE, LOCK, MUTATIONS, SECRET, SYNC, TRUST, Mutation

BY_NAME = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.kind}-{mutation.name}")
ALL_TESTS = sorted({test for mutation in MUTATIONS for test in mutation.tests})


def test_every_kind_of_safeguard_is_in_the_table() -> None:
    assert {mutation.kind for mutation in MUTATIONS} == {SYNC, LOCK, INSIDE, TRUST, SECRET}


def test_every_row_has_one_mark_in_the_code_and_every_mark_a_row() -> None:
    rows = Counter(mutation.name for mutation in MUTATIONS)
    found = Counter(name for name, _ in marks.list_marks(trying.source()))
    assert (rows - found, found - rows) == (Counter(), Counter())
    assert [name for name, count in rows.items() if count > 1] == []


def test_a_module_without_a_safeguard_is_other_code_that_an_interpreter_reads() -> None:
    homes = dict(marks.list_marks(trying.source()))
    for mutation in MUTATIONS:
        text = homes[mutation.name].read_text()
        changed = ast.parse(trying.mutated(mutation, text))  # what cannot be parsed, any test would notice
        assert ast.dump(changed) != ast.dump(ast.parse(text)), mutation.name


CODE = """
with (
    lock("the store"),  # safeguard: held
    pinned(),
):
    # safeguard: checked, told
    if is_safe(place):  # why
        # more of it
        write(place)
    sync(place)  # safeguard: synced
"""


@pytest.mark.parametrize(
    ("name", "replacement", "before", "after"),
    [
        ("synced", marks.DELETE, "    sync(place)", "    pass"),
        ("held", "unlocked()", 'lock("the store")', "unlocked()"),
        ("checked", "if True:", "if is_safe(place):  # why\n        # more of it\n", "if True:\n"),
        ("told", marks.DELETE, CODE[CODE.index("if is") : CODE.index("\n    sync")], "pass"),
    ],
)
def test_a_mark_stands_for_the_outermost_code_that_begins_on_its_line(
    name: str, replacement: str, before: str, after: str
) -> None:
    assert marks.replace(CODE, name, replacement) == CODE.replace(before, after)


def test_the_tests_of_every_row_exist() -> None:
    assert all(mutation.tests for mutation in MUTATIONS)
    assert {test.partition("[")[0] for test in ALL_TESTS} - {str(test) for test in find_tests()} == set()


@pytest.mark.long
def test_nothing_is_noticed_where_nothing_is_taken_away(tmp_path: Path) -> None:
    root = trying.copy(tmp_path)
    assert trying.where(root) == str(root / "src/holdfast/__init__.py")
    done = trying.run(ALL_TESTS, root)
    assert done.returncode == trying.PASSED, trying.said(done)


@pytest.mark.long
@BY_NAME
def test_a_test_fails_where_a_safeguard_is_taken_away(mutation: Mutation, tmp_path: Path) -> None:
    root = trying.copy(tmp_path)
    trying.apply(mutation, root)
    done = trying.run(mutation.tests, root)
    assert done.returncode == trying.NOTICED, trying.said(done)
