"""The suite's own report: what became of every test that proves a promise, and what it counted.

A plugin for pytest, loaded by conftest.py. With `--report FILE` each test with `@pytest.mark.promise(N)` leaves a row
in FILE, a JSON object; rows of other runs stay, so that the fast tests and the long ones complete each other.
`scripts/promises FILE` makes the table of docs/promises.md from it.

    def test_a_kill_loses_nothing(figure: Figure) -> None:
        figure("kill points", 312)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.system import files

Value = int | float | str
Figure = Callable[[str, Value], None]
TIERS = FAST, LONG, HOURS = "fast", "long", "hours"
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Row(msgspec.Struct):
    """One test of one promise or more, when it last ran."""

    promises: list[int]
    tier: str
    outcome: str
    date: str
    seed: str | None = None
    figures: dict[str, Value] = {}


class Report(msgspec.Struct):
    """Rows by the id of their test, such as `tests/system/test_files.py::test_name[case]`."""

    version: int = 1
    tests: dict[str, Row] = {}


def read(path: Path) -> Report:
    """What a file holds, or an empty report where there is none. Raises ValueError for anything else."""
    data = files.read(path)
    return Report() if data is None else msgspec.json.decode(data, type=Report)


def add(figures: dict[str, Value], name: str, value: Value) -> None:
    """Numbers of one name add up; of texts each is named once."""
    known = figures.get(name)
    if known is None:
        figures[name] = value
    elif isinstance(known, str) or isinstance(value, str):
        words = str(known).split(", ")
        figures[name] = ", ".join([*words, *([] if str(value) in words else [str(value)])])
    else:
        figures[name] = known + value


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--report", metavar="FILE", help="write what became of the promises' tests into FILE, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    # A worker tells its rows to the process that started it, which alone writes.
    if (path := config.getoption("--report")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Collecting(Path(path), config.getoption("--hypothesis-seed", None)))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Properties travel with a report, also from one process to another; marks do not."""
    for item in items:
        if numbers := sorted({number for mark in item.iter_markers("promise") for number in mark.args}):
            tier = next((tier for tier in (HOURS, LONG) if item.get_closest_marker(tier)), FAST)
            item.user_properties.append(("promise", (numbers, tier)))


@pytest.hookimpl(wrapper=True, tryfirst=True)  # outermost, so that it prints after the list of skipped tests
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Print the reasons of skipped proofs, and as the last line before pytest's own their number."""
    yield
    reasons = Counter(filter(None, map(_not_proved, terminalreporter.stats.get(SKIPPED, []))))
    marks = {"bold": True, "red": True} if reasons else {}
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{reason} ({count} {'proof' if count == 1 else 'proofs'})", **marks)
    terminalreporter.write_line(f"proofs skipped: {reasons.total()}", **marks)


def _not_proved(report: pytest.TestReport | pytest.CollectReport) -> str | None:
    """The reason of a test that proves something and was skipped."""
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    is_proof = "NOT PROVED" in reason or any(_told(report, "promise"))
    return reason.removeprefix("Skipped: ") if is_proof else None


_running: list[pytest.Item] = []


@pytest.hookimpl(tryfirst=True)  # before the fixtures, which may tell something too
def pytest_runtest_setup(item: pytest.Item) -> None:
    _running[:] = [item]


def tell(name: str, value: Value) -> None:
    """Tell what the test that runs has counted, from a tool that it uses. The figure `seed` says how to repeat it."""
    for item in _running:
        item.user_properties.append(("figure", (name, value)))


@pytest.fixture
def figure() -> Figure:
    """Tell what a test counted: `figure("kill points", 312)`."""
    return tell


class Collecting:
    """Gathers what the tests told, and writes it at the end."""

    def __init__(self, path: Path, seed: object) -> None:
        self.path = path.absolute()
        self.seed = None if seed is None else str(seed)
        self.begun: dict[str, Row] = {}
        self.rows: dict[str, Row] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        row = self.begun.get(report.nodeid) or self._row(report)
        if row is None:
            return
        self.begun[report.nodeid] = row
        if report.outcome != PASSED and row.outcome != FAILED:
            row.outcome = report.outcome
        if report.when == "teardown":  # whoever breaks a run off has not seen those pass that had begun
            self.rows[report.nodeid] = row
            for name, value in _told(report, "figure"):
                add(row.figures, name, value)
            seed = row.figures.pop("seed", None)
            row.seed = self.seed if seed is None else str(seed)

    def _row(self, report: pytest.TestReport) -> Row | None:
        for numbers, tier in _told(report, "promise"):
            return Row(list(numbers), tier, PASSED, datetime.now(UTC).date().isoformat())
        return None

    def pytest_sessionfinish(self) -> None:
        written = read(self.path)
        written.tests = dict(sorted({**written.tests, **self.rows}.items()))
        text = json.dumps(msgspec.to_builtins(written), indent=1, ensure_ascii=False) + "\n"
        files.write(self.path, text.encode("utf-8", "surrogateescape"), 0o644)


def _told(report: pytest.TestReport | pytest.CollectReport, kind: str) -> Iterator[Any]:
    yield from (told for name, told in getattr(report, "user_properties", ()) if name == kind)
