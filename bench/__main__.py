"""`python -m bench [NAME…] [--quick | --full] [--write FILE]`: measure, print a table, exit 1 if a limit is missed."""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import apsw

import holdfast
from bench import (
    answers,
    checkpoints,
    crowd,
    flatness,
    growth,
    hook,
    intake,
    lists,
    load,
    recall,
    redaction,
    saves,
    start,
)
from bench.report import Report, around_marks, markdown, put_into
from bench.timing import Failed

BENCHMARKS: dict[str, Callable[[bool, Callable[[str], None]], Report]] = {
    "hook": hook.measure,
    "answers": answers.measure,
    "start": start.measure,
    "intake": intake.measure,
    "redaction": redaction.measure,
    "crowd": crowd.measure,
    "growth": growth.measure,
    "lists": lists.measure,
    "flatness": flatness.measure,
    "saves": saves.measure,
    "checkpoints": checkpoints.measure,
    "recall": recall.measure,
    "load": load.measure,
}
FULL = {
    "checkpoints": partial(checkpoints.measure, full=True),
    "flatness": partial(flatness.measure, full=True),
}


def main() -> int:
    asked = _arguments()
    compileall.compile_dir(Path(holdfast.__file__).parent, quiet=1)  # as pip does; a checkout may have none of it
    chosen = BENCHMARKS | (FULL if asked.full else {})
    reports = []
    try:
        if asked.write:
            around_marks(asked.write)
        for name in asked.names or BENCHMARKS:
            say(f"measuring: {name}")
            reports.append(chosen[name](asked.quick, say))
        text = markdown(reports, _about(asked.quick))
        sys.stdout.write(text)
        if asked.write:
            put_into(asked.write, text)
    except Failed as error:
        say(f"bench: {error}")
        return 1
    return 0 if all(report.met for report in reports) else 1


def say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench", description="What Holdfast costs, as ratios within one run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}; all by default")
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="fewer rounds and smaller stores")
    more = "checkpoints of 100,000 files too, and 10,000 of them; 1,000,000 events"
    extent.add_argument("--full", action="store_true", help=more)
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into this Markdown file")
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(BENCHMARKS):
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    return asked


def _about(quick: bool) -> list[str]:
    """Where these figures come from."""
    place = tempfile.gettempdir()
    kind = _file_system(place)
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}: Python {platform.python_version()}, SQLite {apsw.sqlite_lib_version()}, "
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {kind}"
        f"{'; a quick run' if quick else ''}."
    ]
    if kind == "tmpfs":
        lines.append(f"{place} lies in memory, where durable writes cost nothing: set TMPDIR to a directory on a disk.")
    return lines


def _file_system(directory: str) -> str:
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown file system"
    above = [(point, kind) for point, kind in mounts if os.path.commonpath([point, directory]) == point]
    return max(above, key=lambda mount: len(mount[0]))[1]


if __name__ == "__main__":
    sys.exit(main())
