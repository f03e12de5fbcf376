"""Our status line in the agent's settings: only where there is none, and out again."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.agents import hook_command
from holdfast.agents.claude import hooks, settings_file
from tests.tools import Command

Cli = Callable[..., Command]
MINE = {"type": "command", "command": "my-line"}


def settings(repository: Path, name: str = "settings.local.json") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((repository / ".claude" / name).read_text())
    return found


def write(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def test_init_puts_no_status_line_unless_it_is_asked_for(repository: Path, cli: Cli) -> None:
    cli("init", "--agent", "claude").ok()
    assert "statusLine" not in settings(repository)


@pytest.mark.parametrize("scope", ["local", "user"])
def test_what_is_put_there_draws_the_line(repository: Path, home: Path, cli: Cli, scope: str) -> None:
    done = cli("init", "--agent", "claude", "--scope", scope, "--status-line").ok()
    assert "statusLine" in done.err
    path = repository / ".claude" / "settings.local.json" if scope == "local" else home / ".claude" / "settings.json"
    line = json.loads(path.read_text())["statusLine"]
    assert line["type"] == "command"
    cli("start", "Fix it").ok()
    drawn = subprocess.run(line["command"], shell=True, cwd=repository, input=b"{}", capture_output=True, check=True)
    assert (drawn.stdout, drawn.stderr) == (b"Fix it\n", b"")


def test_committed_line_is_silent_where_holdfast_is_not_installed(repository: Path, cli: Cli) -> None:
    cli("init", "--agent", "claude", "--scope", "project", "--status-line").ok()
    command = settings(repository, "settings.json")["statusLine"]["command"]
    env = {"PATH": "/usr/bin:/bin"}
    drawn = subprocess.run(
        ["/bin/sh", "-c", command], cwd=repository, env=env, input=b"{}", capture_output=True, check=False
    )
    assert (drawn.returncode, drawn.stdout, drawn.stderr) == (0, b"", b"")


def test_committed_line_is_drawn_through_the_door(repository: Path, cli: Cli, tmp_path: Path) -> None:
    cli("init", "--agent", "claude", "--scope", "project", "--status-line").ok()
    cli("start", "Fix it").ok()
    door = tmp_path / "bin" / "holdfast-hook"
    door.parent.mkdir()
    door.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from holdfast.surfaces.hooks.command import main; main()' \"$@\"\n"
    )
    door.chmod(0o755)
    command = settings(repository, "settings.json")["statusLine"]["command"]
    env = {**os.environ, "PATH": f"{door.parent}:/usr/bin:/bin"}
    drawn = subprocess.run(
        ["/bin/sh", "-c", command], cwd=repository, env=env, input=b"{}", capture_output=True, check=True
    )
    assert (drawn.stdout, drawn.stderr) == (b"Fix it\n", b"")


@pytest.mark.parametrize("level", ["local", "project", "user"])
def test_line_of_the_users_own_is_never_taken_over(repository: Path, home: Path, cli: Cli, level: str) -> None:
    places = {
        "local": repository / ".claude" / "settings.local.json",
        "project": repository / ".claude" / "settings.json",
        "user": home / ".claude" / "settings.json",
    }
    path = write(places[level], {"statusLine": MINE})
    done = cli("init", "--agent", "claude", "--status-line").ok()
    assert json.loads(path.read_text())["statusLine"] == MINE
    assert level == "local" or "statusLine" not in settings(repository)
    assert f"the status line in {path} stays" in done.err
    assert "answer.py' claude StatusLine" in done.err


def test_empty_line_of_the_users_own_stays_too(repository: Path, cli: Cli) -> None:
    path = write(repository / ".claude" / "settings.local.json", {"statusLine": None})
    cli("init", "--agent", "claude", "--status-line").ok()
    assert json.loads(path.read_text())["statusLine"] is None


def test_line_that_the_user_puts_there_at_the_last_moment_stays() -> None:
    text = json.dumps({"statusLine": MINE})
    line = hooks.status_line("local", "/usr/bin/python", "/x/holdfast/inbox.py")
    assert settings_file.with_status_line(text, line) == (text, None)


@pytest.mark.parametrize("python", ["/usr/bin/python", "/opt/my python/it's $HOME/python"])
def test_line_is_known_again_wherever_python_lies(python: str) -> None:
    line = hooks.status_line("local", python, "/x/holdfast/inbox.py")
    assert hook_command.is_ours(line)
    assert hook_command.files_of(line) == (python, ["/x/holdfast/surfaces/hooks/answer.py"])
    assert shlex.split(str(line["command"]).partition("exec ")[2])[0] == python


def test_second_init_changes_nothing_and_an_older_form_is_replaced(repository: Path, cli: Cli) -> None:
    cli("init", "--agent", "claude", "--status-line").ok()
    path = repository / ".claude" / "settings.local.json"
    first = path.read_bytes()
    assert "All calls stand in" in cli("init", "--agent", "claude", "--status-line").ok().err
    assert path.read_bytes() == first
    older = {
        **json.loads(first),
        "statusLine": {"type": "command", "command": "/old/python -I -m holdfast hook claude X"},
    }
    write(path, older)
    assert "replaced: statusLine" in cli("init", "--agent", "claude", "--status-line").ok().err
    assert settings(repository)["statusLine"] == json.loads(first)["statusLine"]


def test_uninit_gives_the_file_back_as_it_was(repository: Path, cli: Cli) -> None:
    path = repository / ".claude" / "settings.local.json"
    path.parent.mkdir()
    path.write_bytes(b'{\n    "model": "opus"\n}\n')
    cli("init", "--agent", "claude", "--status-line").ok()
    cli("uninit").ok()
    assert path.read_bytes() == b'{\n    "model": "opus"\n}\n'


def test_uninit_takes_only_our_line_out_of_a_file_that_was_changed(repository: Path, cli: Cli) -> None:
    cli("init", "--agent", "claude", "--status-line").ok()
    path = repository / ".claude" / "settings.local.json"
    write(path, {**settings(repository), "model": "opus"})
    assert "only our calls were taken out" in cli("uninit").ok().err
    assert settings(repository) == {"model": "opus"}


def test_print_shows_the_line_and_writes_nothing(repository: Path, cli: Cli) -> None:
    shown = json.loads(cli("init", "--agent", "claude", "--status-line", "--print").ok().out)
    assert "StatusLine" in shown["statusLine"]["command"]
    assert not (repository / ".claude").exists()


def test_plugin_brings_no_status_line(cli: Cli) -> None:
    assert cli("init", "--plugin", "--status-line").code == 2
