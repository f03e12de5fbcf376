"""A second process that lets a name be two things in turn, as fast as it can: itself, and a link elsewhere."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from holdfast import files

LOOP = """
import ctypes, os, sys
one, other = (os.fsencode(path) for path in sys.argv[1:])
exchange = ctypes.CDLL(None).renameat2
print("ready", flush=True)
while True:
    exchange(-100, one, -100, other, 2)
"""


@contextlib.contextmanager
def swapped(path: Path, leads_to: Path) -> Iterator[None]:
    """While this lasts, `path` is itself and a link to `leads_to` in turn. In the end it is itself again."""
    other = path.with_name(f"{path.name}-swapped")
    other.symlink_to(leads_to)
    with subprocess.Popen([sys.executable, "-c", LOOP, path, other], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()
            process.wait()
    if path.is_symlink():
        files._exchange(path, other)
    os.unlink(other)
