"""Takes one safeguard away after the other, and asks whether the suite notices. The rows are in `table.py`.

scripts/test -m long tests/mutations
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.marked import find_tests
from tests.mutations import trying
from tests.mutations.table import INSIDE, LOCK, MUTATIONS, SECRET, SYNC, TRUST, Mutation

BY_NAME = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: f"{mutation.kind}-{mutation.name}")
ALL_TESTS = sorted({test for mutation in MUTATIONS for test in mutation.tests})


def test_every_kind_of_safeguard_is_in_the_table_and_every_row_is_another() -> None:
    assert Counter(mutation.kind for mutation in MUTATIONS).keys() == {SYNC, LOCK, INSIDE, TRUST, SECRET}
    assert len(MUTATIONS) == len({(mutation.file, mutation.old, mutation.new) for mutation in MUTATIONS}) >= 25
    assert len(MUTATIONS) == len({(mutation.kind, mutation.name) for mutation in MUTATIONS})


@BY_NAME
def test_what_a_row_takes_away_stands_in_the_code_exactly_once(mutation: Mutation) -> None:
    text = trying.mutated(mutation, trying.source(mutation).read_text())
    ast.parse(text)  # what no interpreter reads, any test would notice


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
