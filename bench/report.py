"""What was found: measures with their limits, absolute figures, and both as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.timing import Failed, Sample

BEGIN, END = "<!-- bench -->", "<!-- /bench -->"
ENOUGH = 20  # measurements below which a share of them says nothing


class Measure(NamedTuple):
    """One line of the table: a ratio, or a whole number that counts what went wrong. Some have no limit."""

    name: str
    value: float | int
    limit: float | int | None = None

    @property
    def met(self) -> bool:
        return self.limit is None or round(self.value, 2) <= self.limit

    @property
    def row(self) -> str:
        limit = "" if self.limit is None else _amount(type(self.value)(self.limit))
        met = "" if self.limit is None else "yes" if self.met else "**no**"
        return f"| {self.name} | {_amount(self.value)} | {limit} | {met} |"


class Report(NamedTuple):
    measures: list[Measure]
    figures: list[str]
    tables: Sequence[str] = ()  # what is no ratio

    @property
    def met(self) -> bool:
        return all(measure.met for measure in self.measures)

    def tell(self, where: str, found: Mapping[str, Sample]) -> None:
        """Add the absolute times of everything that took turns."""
        self.figures.extend(times(f"{where}, {label}", sample) for label, sample in found.items())


def ratio(name: str, subject: Sample, base: Sample, limit: float | None = None) -> Measure:
    """The middle one of the ratios within each turn: a machine that is slow for a while is slow for both."""
    return Measure(name, median(one / other for one, other in zip(subject.seconds, base.seconds, strict=True)), limit)


def ratio_at(share: float, name: str, subject: Sample, base: Sample) -> Measure:
    return Measure(name, subject.at(share) / base.at(share))


def milliseconds_at(share: float, name: str, sample: Sample, limit: int) -> Measure:
    """A time by the clock, where one was promised."""
    return Measure(name, int(sample.at(share) * 1_000), limit)


def times(name: str, sample: Sample) -> str:
    """A line of absolute times; the rare ones only where there are enough to speak of them."""
    shares = {"p50": 0.50, "p95": 0.95, "p99": 0.99} if len(sample.seconds) >= ENOUGH else {"p50": 0.50, "worst": 1}
    shown = ", ".join(f"{label} {_milliseconds(sample.at(share))}" for label, share in shares.items())
    return f"{name}: {shown} ({len(sample.seconds):,} times)"


def markdown(reports: Iterable[Report], about: Iterable[str]) -> str:
    """One table of all measures, then the figures behind them."""
    listed = list(reports)
    lines = ["| measure | ratio | limit | met |", "| --- | ---: | ---: | --- |"]
    lines += [measure.row for report in listed for measure in report.measures]
    for table in (table for report in listed for table in report.tables):
        lines += ["", table]
    lines += ["", *(f"- {figure}" for report in listed for figure in report.figures)]
    return "\n".join([*lines, "", *(f"*{line}*" for line in about)]) + "\n"


def put_into(file: Path, text: str) -> None:
    """Replace what stands between the two marks of a Markdown file."""
    before, after = around_marks(file)
    file.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")


def around_marks(file: Path) -> tuple[str, str]:
    """What stands before and after the marks. A file without them is refused, best before anything is measured."""
    try:
        before, rest = file.read_text(encoding="utf-8").split(BEGIN)
        _, after = rest.split(END)
    except (OSError, ValueError) as error:
        raise Failed(f"{file} needs {BEGIN} and {END}, once each ({error})") from error
    return before, after


def _amount(value: float | int) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f} x"


def _milliseconds(seconds: float) -> str:
    number = seconds * 1000
    return f"{number:,.0f} ms" if number >= 100 else f"{number:.3g} ms"
