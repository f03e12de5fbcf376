"""Whether a text may hold a secret at all, by three looks: each finds wherever the next one does, and is ready sooner.

To make the exact one ready takes ten milliseconds. Most commands say nothing that even the roughest minds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from holdfast.redaction.linear import Regex, compiled
from holdfast.redaction.patterns import PATTERNS
from holdfast.redaction.secretive import NAMED

REPEATED = re.compile(r"\{([0-9]+)(,[0-9]*)?\}")  # so and so often, in a pattern
FEW, ENOUGH = 4, 12  # of what is repeated, to be looked at more closely
MEMORY = 32 << 20  # bytes for each of the three, which are run over all that is said
SOURCES = tuple(pattern.source for pattern in PATTERNS)


def is_suspect(data: bytes) -> bool:
    """Whether one of the patterns finds something in it."""
    return all(look().search(data) for look in (_rough, _near, _exact))


@functools.cache
def _rough() -> Regex:
    return _union(loosened(source, FEW) for source in shortened(SOURCES))


@functools.cache
def _near() -> Regex:
    return _union(loosened(source, ENOUGH) for source in SOURCES)


@functools.cache
def _exact() -> Regex:
    return _union(SOURCES)


def _union(sources: Iterable[str]) -> Regex:
    return compiled("|".join(f"(?:{source})" for source in sources), captures=False, memory=MEMORY)


def loosened(source: str, enough: int) -> str:
    """A pattern that finds wherever this one does: what is repeated so and so often may be repeated more often."""
    return REPEATED.sub(lambda found: f"{{{min(int(found[1]), enough)},}}", source)


def shortened(sources: Iterable[str]) -> list[str]:
    """The patterns, and instead of all those that hold a name that promises a secret, the name alone."""
    return [*(source for source in sources if f"(?:{NAMED})" not in source), f"(?i){NAMED}"]
