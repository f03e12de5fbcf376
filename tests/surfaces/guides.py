"""Pages whose commands can be tried: the files that they show, the commands, and what these are said to print.

A file is a fenced block below a line that holds nothing but its path and a colon. Commands stand in ```console blocks,
each behind a dollar sign, with what they print below them: both streams, `…` for anything.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(
    r"^(?:`(?P<path>[^`\n]+)`:\n\n(?=```))?(?P<fence>```+)(?P<kind>\w*)\n(?P<text>.*?\n)(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
ANYTHING = "…"


class File(NamedTuple):
    path: str
    text: str


class Step(NamedTuple):
    command: str
    shown: str

    def fits(self, printed: str) -> bool:
        """Whether this was printed; a line that is nothing but an ellipsis stands for any lines, also for none."""
        lines = [
            r"(?:.*\n)*?" if line == ANYTHING else re.escape(line).replace(re.escape(ANYTHING), ".*") + r"\n"
            for line in self.shown.splitlines()
        ]
        return re.fullmatch("".join(lines), printed) is not None


def read(page: str) -> Iterator[File | Step]:
    """What a page asks its reader to do, in its order."""
    for block in BLOCK.finditer(page):
        if block["path"]:
            yield File(block["path"], block["text"])
        elif block["kind"] == "console":
            for part in re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                yield Step(command, shown)


def follow(page: str, directory: Path, env: Mapping[str, str]) -> list[tuple[Step, str]]:
    """Do what a page says; the commands that printed something else than it shows, each with what it printed."""
    wrong = []
    for asked in read(page):
        if isinstance(asked, File):
            place = directory / asked.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(asked.text)
            continue
        done = subprocess.run(
            ["sh", "-c", asked.command],
            cwd=directory,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        if not asked.fits(done.stdout):
            wrong.append((asked, done.stdout))
    return wrong
