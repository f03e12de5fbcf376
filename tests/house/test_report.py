"""The report of a test run, written by a real run of a small suite, and the table generated from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from tests.marked import find_tests
from tests.promises import Report, Row, add

from .tree import ROOT

SUITE = """
import pytest
from tests.crash.modes import each_tier
FOUR = pytest.mark.promise(4)
CASES = [1, 2, pytest.param(3, marks=pytest.mark.long)]
@pytest.mark.promise(1)
@pytest.mark.parametrize("case", CASES)
def test_counted(case, figure):
    figure("points", case)
    figure("points", 10)
    figure("seed", 7)
@pytest.mark.promise(2, 3)
def test_failing(figure):
    figure("points", 1)
    raise AssertionError
@FOUR
def test_skipped():
    pytest.skip("there is no gcc")
@pytest.mark.promise(5)
@pytest.mark.parametrize("case", [1, 2])
def test_skipped_too(case):
    pytest.skip("NOT PROVED: there is no claude")
def test_no_proof():
    pytest.skip("there is no fish")
@pytest.mark.promise(5)
@pytest.mark.long
def test_long(figure):
    figure("file systems", "ext4")
    figure("file systems", "xfs")
@pytest.mark.promise(6)
@each_tier(3)
def test_tiered(points):
    pass
def test_unmarked():
    pass
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_small.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    promise\n    long\n    hours\n")
    return tmp_path


def run(suite: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.promises", "--report", "report.json", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, check=False)
    assert (suite / "report.json").exists(), done.stdout + done.stderr
    rows: dict[str, Any] = json.loads((suite / "report.json").read_text())["tests"]
    return {name.partition("::")[2]: row for name, row in rows.items()}


@pytest.mark.defect("The number of proofs that were skipped stood nowhere in the output of the tests")
@pytest.mark.parametrize("processes", ["0", "2"])
def test_the_number_of_skipped_proofs_is_the_last_line_before_the_closing_one(suite: Path, processes: str) -> None:
    assert summary(suite, processes, "counted")[-1:] == ["proofs skipped: 0"]


@pytest.mark.parametrize("processes", ["0", "2"])
def test_skipped_proofs_are_named_by_their_reasons(suite: Path, processes: str) -> None:
    assert summary(suite, processes, "skipped or no_proof")[-3:] == [
        "NOT PROVED: there is no claude (2 proofs)",
        "there is no gcc (1 proof)",
        "proofs skipped: 3",
    ]


def summary(suite: Path, processes: str, chosen: str) -> list[str]:
    """All lines but the last."""
    words = ["-ra", "-p", "tests.promises", "-k", chosen, "--numprocesses", processes]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", *words]
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, check=False)
    *lines, closing = done.stdout.splitlines()
    assert closing.startswith("==="), done.stdout
    return lines


def test_a_report_has_a_row_for_every_marked_test_and_runs_complete_each_other(suite: Path) -> None:
    first = run(suite, "-m", "not long and not hours", "--numprocesses=1")
    assert {name: (row["promises"], row["tier"], row["outcome"], row["seed"]) for name, row in first.items()} == {
        "test_counted[1]": ([1], "fast", "passed", "7"),
        "test_counted[2]": ([1], "fast", "passed", "7"),
        "test_failing": ([2, 3], "fast", "failed", None),
        "test_skipped": ([4], "fast", "skipped", None),
        "test_skipped_too[1]": ([5], "fast", "skipped", None),
        "test_skipped_too[2]": ([5], "fast", "skipped", None),
    }
    assert [row["figures"] for row in first.values()] == [{"points": 11}, {"points": 12}, {"points": 1}, {}, {}, {}]
    second = run(suite, "-m", "long")
    assert second.pop("test_long")["figures"] == {"file systems": "ext4, xfs"}
    assert second.pop("test_tiered[some]")["tier"] == second.pop("test_counted[3]")["tier"] == "long"
    assert second == first
    assert run(suite, "-m", "hours")["test_tiered[every]"]["tier"] == "hours"


def test_a_test_that_was_broken_off_has_no_row(suite: Path) -> None:
    """Regression: the report counted it as passed, because its setup had passed."""
    breaking = "import pytest\n@pytest.mark.promise(1)\ndef test_broken_off():\n    raise KeyboardInterrupt\n"
    (suite / "tests" / "test_small.py").write_text(SUITE + breaking)
    assert "test_broken_off" not in run(suite, "-m", "not long and not hours")


def test_what_is_read_from_the_source_is_what_pytest_collects(suite: Path) -> None:
    assert [(str(test).partition("::")[2], test.promises, test.tiers) for test in find_tests(suite)] == [
        ("test_counted", (1,), ("fast", "long")),
        ("test_failing", (2, 3), ("fast",)),
        ("test_skipped", (4,), ("fast",)),
        ("test_skipped_too", (5,), ("fast",)),
        ("test_no_proof", (), ("fast",)),
        ("test_long", (5,), ("long",)),
        ("test_tiered", (6,), ("long", "hours")),
        ("test_unmarked", (), ("fast",)),
    ]


def test_figures_of_one_name_add_up() -> None:
    figures: dict[str, int | float | str] = {}
    for name, value in (("a", 1), ("a", 2.5), ("b", "x"), ("b", "y"), ("b", "x")):
        add(figures, name, value)
    assert figures == {"a": 3.5, "b": "x, y"}


def lines_of(page: str) -> set[str]:
    return {line for line in page.splitlines() if line.startswith("  - `test")}


def test_what_a_report_does_not_hold_stays_as_the_page_has_it() -> None:
    """The long proofs take hours, so a report covers only some: the page lost the figures of all others."""
    script = run_path(str(ROOT / "scripts" / "promises"))
    page = (ROOT / "docs" / "promises.md").read_text()
    name = "test_a_hundred_thousand_reads_all_find_one_complete_version"
    row = Row([3], "long", "passed", "2999-01-02", seed="5", figures={"reads": 123_456, "of, them": "7 of 8"})
    report = Report(tests={f"tests/crash/test_readers.py::{name}": row})
    made = script["MARKS"].sub(lambda _: script["table"](page, report), page)
    new = f"  - `{name}`: long, 1 passed on 2999-01-02; of, them: 7 of 8; reads: 123,456; seed 5"
    assert lines_of(made) - lines_of(page) - {line for line in lines_of(made) if line.endswith("not run")} == {new}
    assert script["MARKS"].sub(lambda _: script["table"](made, Report()), made) == made


def test_a_page_that_does_not_say_what_a_report_says_is_stale(suite: Path) -> None:
    report, made = suite / "report.json", [sys.executable, "scripts/promises"]
    row = {"promises": [3], "tier": "long", "outcome": "passed", "date": "1999-01-01"}
    name = "test_a_hundred_thousand_reads_all_find_one_complete_version"
    report.write_text(json.dumps({"tests": {f"tests/crash/test_readers.py::{name}": row}}))
    told = subprocess.run([*made, report, "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (1, f"docs/promises.md is stale; run `scripts/promises {report}`\n")
    empty = subprocess.run([*made, suite / "none", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (empty.returncode, "holds no row" in empty.stderr) == (1, True)
