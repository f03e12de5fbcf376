"""Long texts for hiding secrets: plain source and logs, those with characters that nobody sees, lines full of
near-misses, and one that needs every pattern.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

from tests.hostile import formats

ROOT = Path(__file__).parents[1]
UNSEEN = ("\u200b", "\u00ad", "\ufeff", "\x0c", "\u2060", "\u202a")  # as editors and pages leave them in texts
APART = 20_000  # characters between two of them
FIRST = """
import sys, time
from holdfast.redaction.redactor import Redactor
text, redactor, clock = sys.stdin.read(), Redactor(), time.process_time
redactor.clean("nothing")
begun = clock()
redactor.clean(text)
first, begun = clock() - begun, clock()
redactor.clean(text + " ")
print(first - (clock() - begun))
"""


def source(size: int) -> str:
    """The product's own source, without the characters that a terminal would not show."""
    return _filled(re.sub(r"[^\t\n\x20-\x7e]", "", _own_source()), size)


def raw_source(size: int) -> str:
    """The product's own source as it is, with characters that nobody sees between others."""
    return with_unseen(_filled(_own_source(), size))


def log(size: int) -> str:
    """A git log: commits, dates, subjects and files."""
    chance, lines = random.Random(1), []
    for number in range(2000):
        lines += [formats.make("commit <h40>", chance), f"Author: A U Thor <author{number}@example.org>"]
        lines += [f"Date:   Fri Jan 2 03:0{number % 10}:05 2026 +0000", "", f"    Let step {number} be read once", ""]
        lines += [formats.make(" src/<l8>/<l9>/<l12>.py | <d2> ++++++++++----", chance) for _ in range(4)]
    return _filled("\n".join(lines), size)


def with_unseen(text: str) -> str:
    """A text with characters in it that a terminal does not show, each in another place of its line."""
    parts = [text[at : at + APART] for at in range(0, len(text), APART)]
    return "".join(part + UNSEEN[number % len(UNSEEN)] for number, part in enumerate(parts))


def near_misses(size: int) -> str:
    """Lines that each hold a name or a prefix of a secret, and none of them one."""
    chance, lines = random.Random(2), []
    prefixes = [one.text.partition("<")[0] for one in formats.formats("self")]
    for line in formats.harmless():
        first, second = chance.choices(prefixes, k=2)
        lines += [line, formats.make(f"the {first}<l7> of {second}<l5>, token: ", chance) + line]
    return _filled("\n".join(lines), size)


def every(size: int) -> str:
    """A text that takes every pattern into use."""
    chance = random.Random(3)
    lines = [formats.SHAPES["bare"](formats.make(one.text, chance)) for one in formats.formats("self")]
    lines += [leak.line for leak in formats.leaks()]
    lines += [formats.ASSIGNED["env"](one.variable, formats.make(one.text, chance)) for one in formats.formats("named")]
    return _filled("\n".join(lines), size)


def first_use(size: int) -> float:
    """Seconds that the first text of a process takes more than the same one the second time."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST], input=every(size), capture_output=True, text=True, check=True, cwd=ROOT
    )
    return float(done.stdout)


def _own_source() -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.py")))


def _filled(text: str, size: int) -> str:
    return (text * (size // len(text) + 1))[:size]
