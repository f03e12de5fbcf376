"""A tool that was upgraded lies elsewhere: hooks that an agent was given lead nowhere, which is found and mended."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import holdfast


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment with a Holdfast of its own in it; what that needs is borrowed."""
    place = tmp_path / "tools" / "old"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True, timeout=60)
    (packages,) = place.glob("lib/python*/site-packages")
    shutil.copytree(Path(holdfast.__file__).parent, packages / "holdfast")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place


def run(environment: Path, *words: str, directory: Path) -> subprocess.CompletedProcess[str]:
    python = str(environment / "bin" / "python")
    return subprocess.run(
        [python, "-m", "holdfast", *words], cwd=directory, capture_output=True, text=True, timeout=60, env=os.environ
    )


def calls(repository: Path) -> list[dict[str, Any]]:
    settings = json.loads((repository / ".claude" / "settings.local.json").read_text())
    return [call for groups in settings["hooks"].values() for group in groups for call in group["hooks"]]


def told(environment: Path, repository: Path) -> tuple[dict[str, str], list[str]]:
    checks = json.loads(run(environment, "doctor", "--json", directory=repository).stdout)["checks"]
    broken = [check for check in checks if check["state"] == "broken"]
    states = {check["name"]: check["state"] for check in checks}
    return states, [hint for check in broken for hint in check["hints"]]


def test_an_interpreter_that_moved_is_found_by_doctor_and_mended_by_init(environment: Path, repository: Path) -> None:
    assert run(environment, "init", "--agent", "claude", directory=repository).returncode == 0
    assert told(environment, repository)[0]["interpreter"] == "ok"

    moved = environment.rename(environment.with_name("new"))
    first = calls(repository)[0]
    silent = subprocess.run(["sh", "-c", first["command"]], input=b"{}", cwd=repository, capture_output=True)
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, b"", b"")
    states, hints = told(moved, repository)
    assert (states["interpreter"], states["hook program"]) == ("broken", "broken")
    assert "`holdfast init --scope local`" in hints

    done = run(moved, "init", "--scope", "local", "--json", directory=repository)
    assert set(json.loads(done.stdout)["events"].values()) == {"replaced"}
    states, hints = told(moved, repository)
    assert (states["interpreter"], states["hook program"]) == ("ok", "ok")
    keeping = next(call for call in calls(repository) if call["command"].endswith(" PreToolUse"))
    subprocess.run(["sh", "-c", keeping["command"]], input=b"{}", cwd=repository, check=True, timeout=60)
    assert len(os.listdir(repository / ".git" / "holdfast" / "inbox")) == 1
