"""The real Claude Code: one pinned version, installed once per account, outside of the tree."""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import ssl
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

VERSION = "2.1.325"
PACKAGE = f"@anthropic-ai/claude-code@{VERSION}"
REACHABLE, STALLED, INSTALLED = 15.0, 60.0, 300.0  # seconds until the first answer, without progress, and in all
QUICK = ("--fetch-retries=0", "--fetch-timeout=8000")
RETRIED = ("--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000")


class NotHere(Exception):
    """The client cannot be had here; the message says why."""


def get_claude() -> Path:
    """The program, installed now if it has to be. Processes that waited for a failed installation share its failure."""
    begun = time.monotonic()
    directory = cache() / f"claude-{VERSION}"
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(directory.with_suffix(".lock"), "a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not directory.exists():
            _raise_shared_failure(lock, begun)
            try:
                _install(directory, begun + INSTALLED)
            except NotHere as error:
                print(time.monotonic(), error, file=lock)
                raise
    return _checked(directory)


def cache() -> Path:
    """By the account and not by HOME, which tests and their callers replace at will."""
    return Path(os.environ.get("XDG_CACHE_HOME") or _account() / ".cache") / "holdfast-clients"


def _account() -> Path:
    return Path(pwd.getpwuid(os.getuid()).pw_dir)


def _raise_shared_failure(lock: IO[str], begun: float) -> None:
    lock.seek(0)
    for line in lock:
        failed, _, reason = line.strip().partition(" ")
        if begun < float(failed) <= time.monotonic():  # a later time is of an earlier boot
            raise NotHere(reason)
    lock.truncate(0)


def _install(directory: Path, deadline: float) -> None:
    """Install beside the final place and rename, so that a killed installation is never used.

    npm runs in the new directory instead of getting `--prefix`, with which it would ignore the machine's npmrc and
    the registry, proxy and certificates set there.
    """
    if shutil.which("npm") is None:
        raise NotHere("there is no npm")
    with tempfile.TemporaryDirectory(dir=directory.parent) as beside:
        place = Path(beside) / "claude"
        place.mkdir()
        (place / "package.json").write_text("{}")
        _npm(place, time.monotonic() + REACHABLE, "view", *QUICK, PACKAGE, "version")
        _npm(place, deadline, "install", *RETRIED, "--no-audit", "--no-fund", PACKAGE)
        os.rename(place, directory)


def _npm(place: Path, deadline: float, *arguments: str) -> None:
    command = ["npm", *arguments, "--loglevel=error", "--logs-max=0", f"--cache={cache() / 'npm'}"]
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        process = subprocess.Popen(
            command, cwd=place, env=_environment(), stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            _wait(process, f"npm {arguments[0]}", place, deadline)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            said.seek(0)
            raise NotHere(f"`npm {arguments[0]}` failed: {' '.join(said.read().split())[:300]}")


def _wait(process: subprocess.Popen[bytes], name: str, place: Path, deadline: float) -> None:
    """Wait for the end of npm, while it stores something at least every STALLED seconds and until the deadline."""
    stored, since = -1, time.monotonic()
    while True:
        try:
            process.wait(timeout=0.5)
            return
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        if (size := _size(place) + _size(cache() / "npm")) != stored:
            stored, since = size, now
        if now - since > STALLED:
            raise NotHere(f"`{name}` made no progress for {STALLED:g} s")
        if now > deadline:
            raise NotHere(f"`{name}` was not done in time")


def _size(directory: Path) -> int:
    """Bytes and number of the files below, without those that are renamed or removed meanwhile."""
    total = 0
    for parent, _, names in os.walk(directory):
        for name in names:
            try:
                total += 1 + os.lstat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                pass
    return total


def _environment() -> dict[str, str]:
    """The caller's variables; where they say nothing, the account's npmrc and the system's certificates."""
    found = dict(os.environ)
    named = any(name.lower() == "npm_config_userconfig" for name in found)
    if not named and not (Path.home() / ".npmrc").exists():
        found["npm_config_userconfig"] = str(_account() / ".npmrc")
    if certificates := ssl.get_default_verify_paths().cafile:
        found.setdefault("NODE_EXTRA_CA_CERTS", certificates)
    return found


def _checked(directory: Path) -> Path:
    """The native program rather than its wrapper, so that the process we start is the client itself."""
    programs = sorted(directory.glob("node_modules/@anthropic-ai/claude-code-*/claude"))
    if not programs:
        raise NotHere(f"there is no Claude Code for this machine in {directory}")
    done = subprocess.run([programs[0], "--version"], capture_output=True, text=True, timeout=60, check=False)
    if not done.stdout.startswith(VERSION):
        raise NotHere(f"{programs[0]} is not {VERSION} but says {(done.stdout or done.stderr)[:100]!r}")
    return programs[0]
