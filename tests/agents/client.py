"""The real Claude Code: one pinned version, installed once per account, outside of the tree."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "2.1.325"
PACKAGE = f"@anthropic-ai/claude-code@{VERSION}"
REACHABLE, INSTALLED = 15, 300  # seconds that npm may take to answer at all, and to install
QUICK = ("--fetch-retries=0", "--fetch-timeout=8000")


class NotHere(Exception):
    """The client cannot be had here; the message says why."""


def get_claude() -> Path:
    """The program, installed now if it has to be."""
    directory = cache() / f"claude-{VERSION}"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(directory.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            _install(directory)
    return _checked(directory)


def cache() -> Path:
    """By the account and not by HOME, which tests and their callers replace at will."""
    base = os.environ.get("XDG_CACHE_HOME") or Path(pwd.getpwuid(os.getuid()).pw_dir) / ".cache"
    return Path(base) / "holdfast-clients"


def _install(directory: Path) -> None:
    """Beside its place first: an installation that was killed half-way is never taken for one."""
    if shutil.which("npm") is None:
        raise NotHere("there is no npm")
    _npm(REACHABLE, "view", *QUICK, PACKAGE, "version")
    with tempfile.TemporaryDirectory(dir=directory.parent) as beside:
        _npm(INSTALLED, "install", "--prefix", f"{beside}/claude", "--no-audit", "--no-fund", PACKAGE)
        os.rename(f"{beside}/claude", directory)


def _npm(patience: float, *arguments: str) -> None:
    try:
        done = subprocess.run(
            ["npm", *arguments, "--loglevel=error", f"--cache={cache() / 'npm'}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NotHere(f"`npm {arguments[0]}` did not answer within {patience} s") from error
    if done.returncode:
        raise NotHere(f"`npm {arguments[0]}` failed: {' '.join(done.stderr.split())[:200]}")


def _checked(directory: Path) -> Path:
    """The native program rather than its wrapper, so that the process we start is the client itself."""
    programs = sorted(directory.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    if not programs:
        raise NotHere(f"there is no Claude Code for this machine in {directory}")
    done = subprocess.run([programs[0], "--version"], capture_output=True, text=True, timeout=60, check=False)
    if not done.stdout.startswith(VERSION):
        raise NotHere(f"{programs[0]} is not {VERSION} but says {(done.stdout or done.stderr)[:100]!r}")
    return programs[0]
