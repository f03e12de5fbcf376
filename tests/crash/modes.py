"""The ways in which a command is broken: its end at any moment, and what a disk or a system can answer."""

from __future__ import annotations

import pytest

ENDS = ("kill", "torn")  # of everything at once; what every run of the tests tries
KILLS = (*ENDS, "one")
FAILURES = ("ENOSPC", "EIO", "EROFS", "EDQUOT", "EMFILE", "EFBIG", "sticky:ENOSPC", "short")


def each_tier(some: int) -> pytest.MarkDecorator:
    """The calls at which a test breaks its command, as `points`: on demand `some` of them in each mode, else all."""
    tiers = [
        pytest.param(some, marks=pytest.mark.long, id="some"),
        pytest.param(None, marks=pytest.mark.hours, id="every"),
    ]
    return pytest.mark.parametrize("points", tiers)
