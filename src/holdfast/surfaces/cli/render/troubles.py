"""Calls that hooks could not keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from holdfast.core.text import one_line
from holdfast.project.inbox import parse_failure
from holdfast.surfaces.cli.terminal import Line, when


def told_troubles(troubles: Iterable[str]) -> Iterator[Line]:
    """What hooks could not do."""
    for title, moment, about in map(parse_failure, troubles):
        yield ("warn", f"{title}: {when(moment)}: {one_line(about, 120)}")
