"""What version 8d61771 wrote: its store, settings, export, backup and hook commands still work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.tools import ENTRY, Command

KEPT = Path(__file__).parents[1] / "fixtures" / "8d61771"
STUB = ENTRY.parents[2] / "inbox.py"
RUNS = {"Make fetch() survive timeouts": "native", "Ship it": "go-team", "Ship the importer": "orchestrator"}
CALL = json.dumps({"session_id": "one", "hook_event_name": "UserPromptSubmit", "prompt": "Go on"}).encode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project as it was left, in another place, so that its store has to be adopted."""
    with tarfile.open(KEPT / "project.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    directory = tmp_path / "project"
    Command.run("init", "--adopt", "--agent", "none", directory=directory).ok()
    return directory


def test_a_store_opens_and_works(project: Path) -> None:
    runs = Command.run("runs", "--json", directory=project).ok().json["runs"]
    assert {run["goal"]: run["layout"] for run in runs} == RUNS
    assert Command.run("verify", "--deep", directory=project).ok()
    (run,) = (run["id"] for run in runs if run["layout"] == "native")
    shown = Command.run("show", run, directory=project).ok().out
    assert "Never retry pay()" in shown
    assert "docs" in shown
    (project / "client.py").write_text("broken\n")
    Command.run("restore", "before the refactoring", "--yes", directory=project).ok()
    assert "# retry" in (project / "client.py").read_text()
    assert not (project / "new.txt").exists()
    Command.run("undo", directory=project).ok()
    assert (project / "client.py").read_text() == "broken\n"
    Command.run("decide", "Keep the cache", "--run", run, directory=project).ok()
    Command.run("step", "start", "testing", "--run", "session-nwx3ew", directory=project).ok()
    Command.run("agent", "list", "--run", "2026-11-18-34ev0k", directory=project).ok()
    Command.run("checkpoint", "after the upgrade", directory=project).ok()
    assert Command.run("verify", "--deep", directory=project).ok()


def test_an_export_is_imported(repository: Path) -> None:
    Command.run("import", str(KEPT / "run.holdfast"), directory=repository).ok()
    (run,) = Command.run("runs", "--json", directory=repository).ok().json["runs"]
    assert run["goal"] in RUNS
    Command.run("restore", "before the refactoring", "--yes", directory=repository).ok()
    assert "# retry" in (repository / "client.py").read_text()


def test_a_backup_is_put_back(project: Path) -> None:
    Command.run("start", "forgotten", directory=project).ok()
    Command.run("restore-backup", str(KEPT / "backup.tar.gz"), "--yes", directory=project).ok()
    runs = Command.run("runs", "--json", directory=project).ok().json["runs"]
    assert {run["goal"] for run in runs} == set(RUNS)
    assert Command.run("verify", "--deep", directory=project).ok()


def test_settings_are_recognised_and_brought_up_to_date(repository: Path) -> None:
    Command.run("init", "--agent", "none", directory=repository).ok()
    settings = repository / ".claude" / "settings.local.json"
    settings.parent.mkdir()
    old = (KEPT / "settings.local.json").read_bytes()
    settings.write_bytes(old)
    checks = {row["name"]: row for row in Command.run("doctor", "--json", directory=repository).json["checks"]}
    assert checks["local settings"]["state"] == "warning"
    Command.run("init", directory=repository).ok()
    text = settings.read_text()
    assert "/opt/holdfast" not in text
    assert str(ENTRY) in text
    Command.run("uninit", directory=repository).ok()
    assert not settings.exists() or "holdfast" not in settings.read_text()


def hooks() -> dict[str, list[str]]:
    """The commands that older versions wrote, for the same event."""
    python, agent = sys.executable, ["claude", "UserPromptSubmit"]
    bare = [python, "-I", "-S", str(STUB), *agent]
    return {
        "the script": bare,
        "the script, by a shell": ["sh", "-c", f"exec '{python}' -I -S '{STUB}' claude UserPromptSubmit"],
        "the module": [python, "-I", "-m", "holdfast", "hook", *agent],
        "the program on PATH": [str(Path(python).with_name("holdfast-hook")), *agent],
        "the plugin": [str(Path(python).with_name("holdfast-hook")), "--plugin", *agent],
    }


@pytest.mark.parametrize("form", hooks())
def test_a_hook_command_still_records_its_call(repository: Path, form: str) -> None:
    Command.run("init", "--agent", "none", directory=repository).ok()
    done = subprocess.run(
        hooks()[form], cwd=repository, env=dict(os.environ), input=CALL, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (run,) = Command.run("runs", "--json", directory=repository).ok().json["runs"]
    assert run["goal"] == "Go on"


def test_a_status_line_is_still_drawn(repository: Path) -> None:
    Command.run("start", "a goal", directory=repository).ok()
    command = [sys.executable, "-I", "-m", "holdfast", "hook", "claude", "StatusLine"]
    done = subprocess.run(command, cwd=repository, input=b"{}", capture_output=True, timeout=60, check=True)
    assert b"a goal" in done.stdout


def test_the_hook_of_an_older_version_is_named_by_doctor(repository: Path) -> None:
    Command.run("init", "--agent", "claude", directory=repository).ok()
    settings = repository / ".claude" / "settings.local.json"
    settings.write_text(settings.read_text().replace(str(ENTRY), str(STUB)))
    checks = {row["name"]: row for row in Command.run("doctor", "--json", directory=repository).json["checks"]}
    assert checks["hook program"]["state"] == "warning"
    assert "earlier version" in checks["hook program"]["about"]
    assert checks["hook program"]["hints"] == ["`holdfast init --scope local`"]
