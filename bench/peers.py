"""The peers that pip installs, in a virtualenv that lasts as long as the measuring."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ENGINE = "from pathlib import Path; from stepback.engine import Engine; Engine(Path.cwd()).checkpoint()"


class Peer(NamedTuple):
    """How somebody else makes a checkpoint of the present directory, and how he goes back to his first one."""

    name: str
    checkpoint: list[str]
    restore: list[str]


@contextlib.contextmanager
def installed(say: Callable[[str], None]) -> Iterator[tuple[list[Peer], list[str]]]:
    """The peers that could be installed, and a line about each that could not."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-peers-", ignore_cleanup_errors=True) as directory:
        programs = Path(directory, "bin")
        found: list[Peer] = []
        missing: list[str] = []
        say("installing the peers")
        trouble = run([sys.executable, "-m", "venv", directory])
        for peer in _peers(programs):
            wrong = trouble or run([str(programs / "python"), "-m", "pip", "install", "-q", peer.name])
            if wrong:
                missing.append(f"{peer.name} could not be installed here and was not measured: {wrong}")
            else:
                found.append(peer)
        yield found, missing


def _peers(programs: Path) -> list[Peer]:
    python, stepback, rewind = (str(programs / program) for program in ("python", "stepback", "rewind"))
    return [
        # Its command line makes two around a command that it watches, so its engine is called: that costs less.
        Peer("stepback", [python, "-c", ENGINE], [stepback, "rewind", "1", "--yes"]),
        Peer("rewind-ai", [rewind, "snap"], [rewind, "jump", "0", "--yes"]),
    ]


def run(arguments: list[str]) -> str:
    """The last line of what went wrong; nothing where all went well."""
    done = subprocess.run(arguments, capture_output=True, check=False, text=True)
    if not done.returncode:
        return ""
    return ((done.stderr or done.stdout).strip() or f"exit {done.returncode}").splitlines()[-1]
