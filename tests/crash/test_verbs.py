"""Kill, tear and fail the verbs at the calls by which they change anything, and look at what is left.

The tier of every commit tries a spread of points; `-m long` tries all of them, in every mode.
"""

from __future__ import annotations

import pytest

from tests.crash.cases import CASES, Case
from tests.faults import tracer
from tests.faults.explorer import explore

KILLS = ("kill", "torn", "one")
FAILURES = ("ENOSPC", "EIO", "EROFS", "EDQUOT", "EMFILE", "sticky:ENOSPC", "short")
BY_NAME = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
BUSIEST = [case for case in CASES if case.name in ("start in a new project", "note", "take in", "hook")]

pytestmark = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


def _explore(case: Case, modes: tuple[str, ...], points: int | None) -> None:
    stdin = b""
    if case.name == "hook":
        stdin = b'{"said": "something"}'
        # The hook's last resort is a line in a file that was allocated beforehand, for which a full disk has room; the
        # tracer denies that too. A really full file system is filled in tests/world.
        modes = tuple(mode for mode in modes if mode != "sticky:ENOSPC")
    explore(
        prepare=case.prepare, command=case.command, check=case.check, modes=modes, points=points, stdin=stdin
    ).assert_clean()


@pytest.mark.promise(1)
@BY_NAME
def test_a_kill_loses_nothing_that_was_acknowledged(case: Case) -> None:
    _explore(case, KILLS, points=6)


@pytest.mark.promise(5)
@pytest.mark.parametrize("case", BUSIEST, ids=lambda case: case.name.replace(" ", "-"))
def test_a_failing_system_call_is_told_in_a_sentence_and_costs_nothing(case: Case) -> None:
    _explore(case, FAILURES, points=3)


@pytest.mark.long
@pytest.mark.promise(1)
@BY_NAME
def test_a_kill_at_any_point_loses_nothing_that_was_acknowledged(case: Case) -> None:
    _explore(case, KILLS, points=None)


@pytest.mark.long
@pytest.mark.promise(5)
@BY_NAME
def test_any_failing_system_call_is_told_in_a_sentence_and_costs_nothing(case: Case) -> None:
    _explore(case, FAILURES, points=None)
