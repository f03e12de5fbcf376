"""The door of committed hooks: found through PATH, lean, and never in the agent's way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from holdfast.agents.claude import hooks
from holdfast.project.workspace import Workspace
from holdfast.surfaces.hooks import entry
from tests.house.tree import ROOT
from tests.tools import modules_loaded

# What the door loads beyond what Python has loaded anyway when it starts.
CLIENT = ("agents.hook_command", "agents.generic_client", "agents.claude.client", "agents.claude.plugin_call")
MODULES = {*CLIENT, "surfaces.hooks.command", *entry.NAMES}
PACKAGES = {str(parent).replace("/", ".") for name in MODULES for parent in PurePath(name.replace(".", "/")).parents}
LOADS = {"__future__", "_signal", "holdfast", *(f"holdfast.{name}" for name in MODULES | PACKAGES - {"."})}


@pytest.fixture
def door(tmp_path: Path) -> Path:
    """The script as an installer puts it on PATH."""
    text = (ROOT / "scripts" / "holdfast-hook").read_text()
    assert text.startswith("#!python\n")
    path = tmp_path / "bin" / "holdfast-hook"
    path.parent.mkdir()
    path.write_text(text.replace("#!python", f"#!{sys.executable}", 1))
    path.chmod(0o755)
    return path


def call(door: Path, event: str, directory: Path, payload: bytes = b"{}") -> subprocess.CompletedProcess[bytes]:
    """As the client runs a committed call."""
    environ = {**os.environ, "PATH": f"{door.parent}:{os.environ['PATH']}"}
    command = str(hooks.block("project", "", "")[event]["command"])
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=directory,
        env=environ,
        input=payload,
        capture_output=True,
        timeout=60,
        check=True,
    )


def test_call_that_needs_no_answer_is_kept(project: Workspace, door: Path) -> None:
    done = call(door, "PreToolUse", project.root, b'{"tool_name": "Bash"}')
    assert (done.stdout, done.stderr) == (b"", b"")
    (kept,) = project.inbox.iterdir()
    assert kept.read_bytes().endswith(b'\0\0{"tool_name": "Bash"}')


def test_call_that_needs_an_answer_gets_one_object_or_nothing(project: Workspace, door: Path) -> None:
    payload = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup", "cwd": str(project.root)}
    done = call(door, "SessionStart", project.root, json.dumps(payload).encode())
    assert not done.stdout or isinstance(json.loads(done.stdout), dict)
    assert done.stderr == b""


def test_where_there_is_no_store_nothing_happens(tmp_path: Path, door: Path) -> None:
    for event in ("Stop", "SessionStart"):
        done = call(door, event, tmp_path)
        assert (done.stdout, done.stderr) == (b"", b"")
    assert os.listdir(tmp_path) == ["bin"]


def test_wrong_arguments_do_not_disturb_the_agent(project: Workspace, door: Path) -> None:
    done = subprocess.run([door], cwd=project.root, input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.promise(18)
def test_keeping_loads_this_and_nothing_more(project: Workspace, door: Path) -> None:
    bare = modules_loaded(project.root, "-c", "pass")
    assert modules_loaded(project.root, str(door), "claude", "PreToolUse") - bare <= LOADS
    assert len(os.listdir(project.inbox)) == 1, "the call was not kept, so this proves nothing"
