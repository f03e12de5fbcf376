"""The README's own commands, in a clean copy of this checkout, with an empty home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.normal import normal

CHECKOUT = Path(__file__).parent.parent.parent
STUB = """#!/bin/sh
# Stands in for the installation: the environment that runs these tests has everything already.
set -eu
ln -s "{environment}" .venv
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What somebody gets who clones this checkout: everything that git would carry, and nothing else."""
    listed = subprocess.run(
        ["git", "-C", str(CHECKOUT), "ls-files", "-coz", "--exclude-standard"], capture_output=True, check=False
    )
    if listed.returncode:
        pytest.skip("NOT TESTED: this is not a git checkout")
    target = tmp_path / "holdfast"
    for name in filter(None, os.fsdecode(listed.stdout).split("\0")):
        if (CHECKOUT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, target / name)
    return target


def run(command: str, directory: Path, home: Path) -> subprocess.CompletedProcess[str]:
    """A command as on a machine where nobody has done anything yet."""
    kept = {"LANG", "LC_ALL", "PATH", "SSL_CERT_FILE"}
    env = {
        name: value for name, value in os.environ.items() if name in kept or name.startswith(("PIP_", "http", "HTTP"))
    }
    return subprocess.run(
        ["sh", "-c", command],
        cwd=directory,
        env={**env, "HOME": str(home), "PIP_NO_CACHE_DIR": "1", "TMPDIR": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )


def readme() -> str:
    return (CHECKOUT / "README.md").read_text()


def shown_in_the_readme() -> str:
    """The terminal that the README shows: the fenced block that begins with the first command of the sample."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", readme(), re.MULTILINE | re.DOTALL)
    found = [block for block in blocks if block.startswith("$ python agent.py")]
    assert len(found) == 1, "exactly one fenced block begins with `$ python agent.py`"
    return str(found[0])


def test_the_readme_names_its_two_commands() -> None:
    for command in ("scripts/try", "scripts/test"):
        assert os.access(CHECKOUT / command, os.X_OK)
        assert re.search(rf"(^|[ `$]){command}($|[ `])", readme(), re.MULTILINE), f"it does not name {command}"


def test_the_sample_runs_and_prints_what_the_readme_shows(clone: Path, home: Path) -> None:
    prepare = clone / "scripts/prepare"
    prepare.write_text(STUB.format(environment=Path(sys.executable).parent.parent))
    prepare.chmod(0o755)
    done = run("scripts/try", clone, home)
    assert done.returncode == 0, done.stderr
    printed = told_by(done)
    commands = [line for line in printed.splitlines() if line.startswith("$ ")]
    assert commands[:3] == ["$ python agent.py", "$ holdfast status", "$ python agent.py --resume"]
    assert "Next: t2" in printed
    assert "completed" in printed
    shown = comparable(shown_in_the_readme())
    assert comparable(printed)[: len(shown)] == shown


@pytest.mark.long
def test_the_first_command_works_where_nothing_is_installed(clone: Path, home: Path) -> None:
    done = run("scripts/try", clone, home)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = comparable(shown_in_the_readme())
    assert comparable(told_by(done))[: len(shown)] == shown
    assert (clone / ".venv/bin/holdfast").exists()


@pytest.mark.long
def test_the_second_command_passes_where_nothing_is_installed(clone: Path, home: Path) -> None:
    done = run("scripts/test tests/rules", clone, home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout)


def told_by(done: subprocess.CompletedProcess[str]) -> str:
    """What the sample printed, from its first command on."""
    return done.stdout[done.stdout.index("$ python agent.py") :]


def comparable(text: str) -> list[str]:
    """The lines that say something, without ids and times."""
    return [line.rstrip() for line in normal(text).splitlines() if line.strip()]
