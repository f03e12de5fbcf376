"""A second process that lets a name be two things in turn, as fast as it can: itself, and a link elsewhere."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from holdfast.system import shared_files

LOOP = """
import ctypes, itertools, os, sys
one, other, target = (os.fsencode(path) for path in sys.argv[1:])
exchange, parent = ctypes.CDLL(None).renameat2, os.getppid()
print("ready", flush=True)
for number in itertools.count():
    exchange(-100, one, -100, other, 2)
    if number % 1024 == 0 and os.getppid() != parent:  # whoever has begun it was killed
        break
    if number % 16 == 0 and not os.path.islink(one) and not os.path.islink(other):  # somebody has moved it away
        other = sys.argv[2].encode() + b"-%d" % number
        os.symlink(target, other)
"""


@contextlib.contextmanager
def meanwhile(code: str, *arguments: Path) -> Iterator[None]:
    """While this lasts, a second process runs this code, which says when it is ready."""
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.kill()


@contextlib.contextmanager
def swapped(path: Path, leads_to: Path) -> Iterator[None]:
    """While this lasts, `path` is itself and a link to `leads_to` in turn. In the end it is itself again."""
    other = path.with_name(f"{path.name}-swapped")
    other.symlink_to(leads_to)
    with meanwhile(LOOP, path, other, leads_to):
        yield
    for link in path.parent.glob(f"{path.name}-swapped*"):
        if path.is_symlink() and not link.is_symlink():
            shared_files._exchange(path, link)
        if link.is_symlink():
            link.unlink()
