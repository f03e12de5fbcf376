"""Places that need more than a directory: without root's privileges, with little room, in another namespace."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def humble() -> list[str]:
    """What to put before a command so that permissions count for it, also when the tests are run by root."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("NOT PROVED: permissions do not bind root, and there is no setpriv to give its privileges up")
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@contextmanager
def small_disk(directory: Path, size: str) -> Iterator[Path]:
    """A real file system with hardly any room, mounted on a directory."""
    directory.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(directory)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("NOT PROVED: a small file system cannot be mounted here")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def fill_up(directory: Path) -> Path:
    """Write until there is no room left; answers with the file to remove for making room again."""
    ballast = directory / "ballast"
    with open(ballast, "wb", buffering=0) as file:
        for size in (65536, 4096, 512, 1):
            try:
                while file.write(b"x" * size) == size:
                    pass
            except OSError:
                continue
    return ballast


def in_namespace(*options: str) -> list[str]:
    """What to put before a command so that it runs in a namespace of its own."""
    command = ["unshare", *options]
    if shutil.which("unshare") is None or subprocess.run([*command, "true"], capture_output=True).returncode != 0:
        pytest.skip(f"NOT PROVED: `{' '.join(command)}` is not allowed here")
    return command
