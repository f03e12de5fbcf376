"""The ways in which a command is broken: its end at any moment, and what a disk or a system can answer."""

from __future__ import annotations

ENDS = ("kill", "torn")  # of everything at once; what every run of the tests tries
KILLS = (*ENDS, "one")
FAILURES = ("ENOSPC", "EIO", "EROFS", "EDQUOT", "EMFILE", "EFBIG", "sticky:ENOSPC", "short")
