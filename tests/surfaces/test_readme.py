"""The README's own commands, in a clean copy of this checkout, with an empty home."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.tools import Command

CHECKOUT = Path(__file__).parent.parent.parent
PICTURE = CHECKOUT / "docs" / "pictures" / "comes-back.svg"
SVG = "{http://www.w3.org/2000/svg}"
TOLD = (
    "(the agent was killed)", "is gone", "Next: t2", "Decided: d1  Never retry pay()",
    "I know what was decided: Never retry pay(), because a second payment is worse than an error",
    "I know what is left: Add a retry with backoff", "completed",
)  # fmt: skip
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


def shown_in_the_readme() -> list[str]:
    """The terminal that the README shows: the fenced block with the path from `holdfast init` to `holdfast resume`."""
    blocks = re.findall(r"^```\n(.*?)^```", readme(), re.MULTILINE | re.DOTALL)
    found = [block for block in blocks if "$ holdfast init" in block]
    assert len(found) == 1, "exactly one fenced block shows `$ holdfast init`"
    return [line for line in str(found[0]).splitlines() if line]


def picture() -> ElementTree.Element:
    return ElementTree.parse(PICTURE).getroot()


def recorded() -> list[str]:
    """The lines of the picture, put together from their pieces, which have a place of their own each."""
    rows: dict[float, dict[float, str]] = {}
    for text in picture().iter(f"{SVG}text"):
        rows.setdefault(float(text.attrib["y"]), {})[float(text.attrib["x"])] = text.text or ""
    return [squeezed(" ".join(text for _, text in sorted(row.items()))) for _, row in sorted(rows.items())]


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_the_path_in_the_readme_is_what_was_recorded(repository: Path, home: Path) -> None:
    (home / ".claude").mkdir()
    said = Command.run("init", directory=repository).ok()
    shown = shown_in_the_readme()
    commands = [line for line in shown if line.startswith("$ ")]
    assert commands == ["$ cd webshop", "$ holdfast init", "$ claude", "$ holdfast status", "$ holdfast resume"]
    assert said.err.splitlines()[0] == shown[2], "what follows `holdfast init`"
    lines = recorded()
    told = [line for line in shown[3:] if line not in ("$ claude", "Killed")]
    assert [line for line in told if squeezed(line) not in lines] == []
    assert any(line.endswith("Killed") for line in lines)


def test_the_picture_says_what_it_shows_and_fetches_nothing() -> None:
    elements = list(picture().iter())
    assert {element.tag.removeprefix(SVG) for element in elements} == {"svg", "title", "desc", "rect", "path", "text"}
    titles = [picture().findtext(f"{SVG}{name}") or "" for name in ("title", "desc")]
    assert all(titles)
    assert not re.search(r"href|url\(|@import|on[a-z]+=", PICTURE.read_text())
    assert str(PICTURE.relative_to(CHECKOUT)) in readme()
    assert "scripted" in readme()


def test_the_readme_names_its_two_commands() -> None:
    for command in ("scripts/try", "scripts/test"):
        assert os.access(CHECKOUT / command, os.X_OK)
        assert re.search(rf"(^|[ `$]){command}($|[ `])", readme(), re.MULTILINE), f"it does not name {command}"


def test_the_sample_dies_and_the_next_session_knows_what_it_knew(clone: Path, home: Path) -> None:
    prepare = clone / "scripts/prepare"
    prepare.write_text(STUB.format(environment=Path(sys.executable).parent.parent))
    prepare.chmod(0o755)
    done = run("scripts/try", clone, home)
    assert done.returncode == 0, done.stderr
    printed = told_by(done)
    commands = [line for line in printed.splitlines() if line.startswith("$ ")]
    assert commands[:3] == ["$ python agent.py", "$ holdfast status", "$ python agent.py --resume"]
    for words in TOLD:
        assert words in printed


@pytest.mark.long
def test_the_first_command_works_where_nothing_is_installed(clone: Path, home: Path) -> None:
    done = run("scripts/try", clone, home)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in TOLD:
        assert words in told_by(done)
    assert (clone / ".venv/bin/holdfast").exists()


@pytest.mark.long
def test_the_second_command_passes_where_nothing_is_installed(clone: Path, home: Path) -> None:
    done = run("scripts/test tests/core", clone, home)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout)


def told_by(done: subprocess.CompletedProcess[str]) -> str:
    """What the sample printed, from its first command on."""
    return done.stdout[done.stdout.index("$ python agent.py") :]
