"""What hiding secrets costs: a day of calls, beside decoding them and one bare scan by the same engine."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

from bench import calls
from bench.report import Measure, Report, ratio, times
from bench.timing import take_turns, timed
from holdfast.redaction.linear import compiled
from holdfast.redaction.redact import Redactor

CALLS = 2000
SLOWEST = 5.0  # megabytes a second


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    rounds = 5 if quick else 21
    payloads = [payload.data for payload in itertools.islice(calls.mix(seed=1), CALLS)]
    values = [json.loads(data) for data in payloads]
    redactor, bare = Redactor(["a-value-of-the-environment"]), compiled("ghp_[A-Za-z0-9]{30,}")
    megabytes = sum(map(len, payloads)) / 1e6

    def hide() -> None:
        for value in values:
            redactor.clean(value)

    def decode() -> None:
        for data in payloads:
            json.loads(data)
            bare.search(data)

    hide()  # the patterns are made ready by their first use
    found = take_turns({"hide": lambda: timed(hide), "decode": lambda: timed(decode)}, rounds)
    seconds = min(found["hide"].seconds)
    return Report(
        [
            ratio("hiding secrets beside decoding the same calls and one scan", found["hide"], found["decode"], 10),
            Measure("seconds for 5 MB of calls", SLOWEST * seconds / megabytes, 1.0),
        ],
        [
            times(f"hiding secrets in {CALLS:,} calls of {megabytes:.1f} MB", found["hide"]),
            times("decoding them, and one scan", found["decode"]),
            f"Hiding secrets: {megabytes / seconds:,.0f} MB/s.",
        ],
    )
