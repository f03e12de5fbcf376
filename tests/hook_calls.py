"""Hook calls: made as an agent makes them, and kept files as the format says, written by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from holdfast.project import inbox as intake
from holdfast.project.inbox import Call
from holdfast.system import clock
from tests.tools import ENTRY

DOOR = [sys.executable, "-I", "-S", str(ENTRY)]


def knock(
    directory: Path,
    call: bytes = b"{}",
    agent: str | bytes = "robot",
    event: str | bytes = "Did",
    *,
    before: list[str] | None = None,
    env: dict[str, str] | None = None,
    **options: Any,
) -> None:
    """Call the hook; whatever happens, it says nothing and ends well."""
    done = subprocess.run(
        [*(before or []), *DOOR, agent, event],
        cwd=directory,
        env={**os.environ, **(env or {})},
        input=call,
        capture_output=True,
        timeout=60,
        check=False,
        **options,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def kept_files(inbox: Path) -> list[Path]:
    """All that lies in an inbox, temporary files too."""
    return sorted(inbox.iterdir()) if inbox.is_dir() else []


def the_call(inbox: Path) -> Call:
    """The only call that waits."""
    (name,) = intake.waiting(inbox)
    call = intake.read(inbox, name)
    assert call is not None
    return call


def body_of(path: Path) -> bytes:
    return path.read_bytes().partition(b"\0\0")[2]


def keep_by_hand(
    inbox: Path,
    body: bytes = b"{}",
    *,
    monotonic: int = 1,
    boot: str | None = None,
    pid: int = 1,
    tail: str = "00000000",
    when: float | None = None,
    **fields: str,
) -> Path:
    """A kept call in the form that the hook gives it; of this boot, unless told otherwise."""
    boot = clock.boot() if boot is None else boot
    path = inbox / f"{monotonic:020d}-{boot[:8] or '0'}-{pid}-{tail}"
    known = {
        "agent": "robot",
        "event": "Did",
        "time": "1767268800000000000",
        "boot": boot,
        "monotonic": str(monotonic),
        "pid": str(pid),
        "parent": "1 pid:[1] 1 (init) S",
        "directory": str(inbox.parent.parent.parent),
        **{name.replace("__", "."): value for name, value in fields.items()},
    }
    head = b"\0".join([b"holdfast-call 1", *(os.fsencode(f"{name}={value}") for name, value in known.items())])
    path.write_bytes(head + b"\0\0" + body)
    if when is not None:
        os.utime(path, (when, when))
    return path
