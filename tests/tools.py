"""Tools that several suites share: real commands, hook calls, builders that are valid by default."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import holdfast
from holdfast.core.model import Event, Run, Session

ENTRY = Path(holdfast.__file__).parent / "surfaces" / "hooks" / "entry.py"


@dataclass
class Command:
    """One finished run of the `holdfast` command."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str

    @classmethod
    def run(cls, *arguments: str, directory: Path, env: dict[str, str] | None = None, stdin: bytes = b"") -> Command:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast", *arguments],
            cwd=directory,
            env={**os.environ, **(env or {})},
            input=stdin,
            capture_output=True,
            timeout=60,
            check=False,
        )
        out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        assert "Traceback (most recent call last)" not in out + err, err
        return cls(arguments, done.returncode, out, err)

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def ok(self) -> Command:
        assert self.code == 0, f"{self.arguments}: exit {self.code}\n{self.out}{self.err}"
        return self


def hook(directory: Path, agent: str = "robot", event: str = "Did", call: bytes = b"{}", **env: str) -> None:
    """Call the hook as an agent would."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ENTRY), agent, event],
        cwd=directory,
        env={**os.environ, **env},
        input=call,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def modules_loaded(directory: Path, *arguments: str) -> set[str]:
    """The modules that a run of Python loads, called as a hook is."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], cwd=directory, input=b"{}", capture_output=True, check=True
    )
    lines = [line.split("|") for line in done.stderr.decode().splitlines() if line.startswith("import time:")]
    return {line[-1].strip() for line in lines}


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def a_run(**changes: Any) -> Run:
    """A run that has been started and nothing more."""
    return Run(**{"id": "run-0000000000", "goal": "a goal", "created": NOON, "updated": NOON, "seq": 1, **changes})


def a_session(**changes: Any) -> Session:
    return Session(**{"id": "ses-0000000000", "run": "run-0000000000", "opened": NOON, **changes})


def an_event(kind: str, body: dict[str, Any] | None = None, seq: int = 1, **changes: Any) -> Event:
    """An event of `a_run`."""
    fields = {"id": f"{seq:032x}", "time": NOON, "session": None, "agent": None}
    return Event(run="run-0000000000", seq=seq, kind=kind, body=body or {}, **{**fields, **changes})


def unfenced(text: str) -> str:
    """The text inside the fence of restored text."""
    return "\n".join(text.rstrip("\n").split("\n")[2:-1])
