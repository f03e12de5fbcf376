"""What hiding secrets costs: a day of calls, beside decoding them and one bare scan by the same engine."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable

from bench import calls, longtexts
from bench.report import Measure, Report, ratio, times
from bench.timing import take_turns, timed
from holdfast.redaction.redactor import Redactor
from holdfast.redaction.regex import compiled

CALLS = 2000
SLOWEST = 5.0  # megabytes a second
PLAIN, NEAR = 30, 2  # megabytes a second of long texts: source and logs, also raw, and lines full of near-misses
FIRST = 60  # milliseconds that a first text of 100 KB takes more than the second


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
    speeds = {
        "source": _speed(redactor, longtexts.source(2_000_000), rounds),
        "git logs": _speed(redactor, longtexts.log(2_000_000), rounds),
        "raw source": _speed(redactor, longtexts.raw_source(2_000_000), rounds),
        "raw git logs": _speed(redactor, longtexts.with_unseen(longtexts.log(2_000_000)), rounds),
        "near-misses": _speed(redactor, longtexts.near_misses(200_000), rounds),
    }
    more = min(longtexts.first_use(100_000) for _ in range(3))
    return Report(
        [
            *(
                Measure(f"seconds for {megabytes} MB of {name}", megabytes / speeds[name], 1.0)
                for name, megabytes in zip(speeds, (PLAIN, PLAIN, PLAIN, PLAIN, NEAR), strict=True)
            ),
            Measure("milliseconds that the first text of 100 KB takes more than the second", int(more * 1000), FIRST),
            ratio("hiding secrets beside decoding the same calls and one scan", found["hide"], found["decode"], 10),
            Measure("seconds for 5 MB of calls", SLOWEST * seconds / megabytes, 1.0),
        ],
        [
            times(f"hiding secrets in {CALLS:,} calls of {megabytes:.1f} MB", found["hide"]),
            times("decoding them, and one scan", found["decode"]),
            f"Hiding secrets: {megabytes / seconds:,.0f} MB/s.",
            *(f"Hiding secrets in long texts, {name}: {speed:,.1f} MB/s." for name, speed in speeds.items()),
        ],
    )


def _speed(redactor: Redactor, text: str, rounds: int) -> float:
    """Megabytes a second of processor time; each time another text, or it would be known to hold nothing."""
    best = 0.0
    for number in range(rounds):
        another = text + " " * number
        begun = time.process_time()
        redactor.clean(another)
        best = max(best, len(text) / 1e6 / (time.process_time() - begun)) if number else best
    return best
