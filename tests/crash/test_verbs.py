"""Kill, tear and fail the verbs at the calls by which they change anything, and look at what is left.

The tier of every commit tries a few calls; `-m long` tries a spread of them in every mode, `-m hours` all of them.
"""

from __future__ import annotations

import pytest

from tests.crash.cases import CASES, Case
from tests.crash.modes import ENDS, FAILURES, KILLS, each_tier
from tests.crash.more_cases import MORE
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome, Report
from tests.faults.tracer import Call

WITH_A_LOG = b"\2\2"  # which versions of SQLite's format may write and read the file
BUSIEST = [case for case in CASES if case.name in ("start in a new project", "note", "take in", "hook")]

pytestmark = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


def named(*cases: Case) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name.replace(" ", "-"))


def _explore(case: Case, modes: tuple[str, ...], points: int | None) -> Report:
    if case.name == "hook":
        # The hook's last resort is a line in a file that was allocated beforehand, for which a full disk has room; the
        # tracer denies that too. A really full file system is filled in tests/system.
        modes = tuple(mode for mode in modes if mode != "sticky:ENOSPC")
    report = case.break_it(modes, points)
    print(f"{case.name}: {report.summary()}")
    return report


@pytest.mark.promise(1)
@named(*CASES)
def test_a_kill_loses_nothing_that_was_acknowledged(case: Case) -> None:
    _explore(case, ENDS, points=3)


@pytest.mark.promise(1)
@named(*MORE)
def test_a_kill_loses_nothing_that_a_less_common_verb_acknowledged(case: Case) -> None:
    _explore(case, ("kill",), points=2)


@pytest.mark.promise(5)
@named(*BUSIEST)
def test_a_failing_system_call_is_told_in_a_sentence_and_costs_nothing(case: Case) -> None:
    _explore(case, FAILURES, points=2)


@pytest.mark.promise(5, 19)
def test_a_new_journal_has_its_log_or_is_refused() -> None:
    """Where the log could not be made, SQLite went on without one; and what it passed over was shown as a traceback."""
    new = next(case for case in CASES if case.name == "start in a new project")

    def check(outcome: Outcome) -> None:
        new.check(outcome)
        if outcome.acknowledged():
            assert (outcome.directory / "project/.holdfast/journal.db").read_bytes()[18:20] == WITH_A_LOG

    def only(call: Call) -> bool:
        return call.path.endswith("journal.db-journal") and call.name in ("fdatasync", "unlink")

    report = explore(prepare=new.prepare, command=new.command, check=check, modes=("ENOSPC",), only=only)
    report.assert_clean()
    assert report.runs >= 4, report.summary()


@each_tier(11)
@pytest.mark.promise(1)
@named(*CASES, *MORE)
def test_a_kill_at_any_point_loses_nothing_that_was_acknowledged(case: Case, points: int | None) -> None:
    _explore(case, KILLS, points=points)


@each_tier(3)
@pytest.mark.promise(5)
@named(*CASES, *MORE)
def test_any_failing_system_call_is_told_in_a_sentence_and_costs_nothing(case: Case, points: int | None) -> None:
    _explore(case, FAILURES, points=points)
