"""Artifact of a trusted command, which is run as a list of words, never by a shell. Others are named and not run.

The process runs in the project with a minimal environment, without input or terminal, in a process group of its own,
which is killed at the deadline.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

from holdfast.core.text import one_line
from holdfast.project.artifacts.protocol import Found, Loaded, Unloadable, Wanted, said, too_large
from holdfast.project.trust import Verdict
from holdfast.project.workspace import Workspace
from holdfast.system import safe_paths
from holdfast.system.git.command import find_program
from holdfast.system.safe_paths import real_path

if TYPE_CHECKING:
    from subprocess import Popen

PASSED = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
UNCOMPILED = {"PYTHONPYCACHEPREFIX": os.devnull}  # else a `.pyc` of the project would run instead of the trusted source
CHUNK = 1 << 16
IN_A_HOOK = "hooks do not wait for commands"
COMPLAINT = 4096  # bytes of standard error


def permit(wanted: Wanted, verdict: Verdict, workspace: Workspace, *, runs: bool, how: str) -> None:
    """Let a trusted command run; in a hook, which does not wait, give the hint `how` to run it."""
    wanted.words, wanted.why, wanted.hint = verdict.words, verdict.why, verdict.hint
    if verdict.words and not runs:
        wanted.words, wanted.why, wanted.hint = [], IN_A_HOOK, how
    wanted.environ = workspace.environ
    wanted.deadline = workspace.settings.number("command.deadline")


def look(wanted: Wanted) -> Found:
    if not said(wanted.command):
        return Found(False, None, "", "names no command")
    return Found(True, None, said(wanted.command), None if wanted.words else "is not run")


def load(wanted: Wanted) -> Loaded:
    command = said(wanted.command)
    if not command:
        raise Unloadable("names no command")
    if not wanted.words:
        text = f"Not run: {command}\nThis is because {wanted.why}.\n"
        text += f"{wanted.hint or 'To see its output, type the command in the client'}.\n"
        return Loaded(text, 0, command, ran=False, notes=[f"not run: {wanted.why}"])
    try:
        data = _run(wanted)
        return Loaded(safe_paths.decode(data), len(data), command)
    except ValueError as error:
        raise Unloadable(f"printed output that {error}") from error
    except OSError as error:
        raise Unloadable(f"cannot be run: {error.strerror or error}") from error


def _run(wanted: Wanted) -> bytes:
    import subprocess

    with subprocess.Popen(
        wanted.words, executable=_program(wanted), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, cwd=wanted.root, env=_environment(wanted), start_new_session=True, bufsize=0,
    ) as started:  # fmt: skip
        try:
            out, complaint = _heard(started, wanted)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(started.pid, signal.SIGKILL)
    if started.returncode:
        why = f": {one_line(complaint.decode('utf-8', 'replace'), 200)}" if complaint.strip() else ""
        raise Unloadable(f"failed with exit code {started.returncode}{why}")
    return out


def _heard(started: Popen[bytes], wanted: Wanted) -> tuple[bytes, bytes]:
    """Read standard output and standard error until the process ends, up to the limits and the deadline."""
    assert started.stdout is not None
    assert started.stderr is not None
    end = time.monotonic() + wanted.deadline
    out, complaints = started.stdout.fileno(), started.stderr.fileno()
    heard = {out: b"", complaints: b""}
    # It is not reaped before its group is killed, so that its pid is not reused. Without pidfd, EOF counts as its end.
    ended = os.pidfd_open(started.pid) if sys.platform == "linux" else os.open(os.devnull, os.O_RDONLY)
    waiting = [out, complaints, *([ended] if sys.platform == "linux" else [])]
    try:
        while (left := end - time.monotonic()) > 0:
            ready, _, _ = select.select(waiting, [], [], left)
            for number in (found for found in (out, complaints) if found in ready):
                chunk = os.read(number, CHUNK)
                heard[number] = (heard[number] + chunk)[: COMPLAINT if number == complaints else None]
                if not chunk:
                    waiting.remove(number)
            if len(heard[out]) > wanted.limit:
                raise too_large(len(heard[out]), wanted.limit)
            if not waiting:
                started.wait(left)
            if not waiting or ready == [ended]:  # and the pipes are empty
                return heard[out], heard[complaints]
    finally:
        os.close(ended)
    raise Unloadable(f"did not end within {wanted.deadline:g} seconds")


def _program(wanted: Wanted) -> str:
    """Return the program's path. A name without a slash is searched on PATH, never in the project."""
    name = wanted.words[0]
    if "/" in name:
        return os.path.join(wanted.root, name)
    if found := find_program(name, _search(wanted), str(wanted.root)):
        return found
    raise Unloadable("is no program here; if it is a skill of the client, use it there", missing=True)


def _search(wanted: Wanted) -> str:
    """Return PATH without directories in the project and relative ones."""
    inside_it = real_path(wanted.root) + os.sep
    places = wanted.environ.get("PATH", os.defpath).split(os.pathsep)
    good = [place for place in places if os.path.isabs(place)]
    # safeguard: program-of-project
    return os.pathsep.join(place for place in good if not f"{real_path(place)}{os.sep}".startswith(inside_it))


def _environment(wanted: Wanted) -> dict[str, str]:
    passed = {name: wanted.environ[name] for name in PASSED if name in wanted.environ}
    return {**passed, "PATH": _search(wanted), "HOLDFAST": "0", **UNCOMPILED}  # safeguard: program-compiled
