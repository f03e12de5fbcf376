"""The list of CONTRIBUTING for a new verb is followed in a copy of the project, and every surface has the verb."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .tree import ROOT

OPERATION = '''"""Wave at a run."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from holdfast.operations.parameters import argument, option
from holdfast.operations.verb import Group, verb
from holdfast.project.workspace import Workspace


class Waved(Struct):
    who: str
    times: int


@verb(group=Group.TELL, example="holdfast wave robot --times 2", aliases=("hello",), changes=False)
def wave(
    workspace: Workspace,
    who: Annotated[str, argument()],
    *,
    times: Annotated[int, option(least=1, most=9, metavar="N", help="How often.")] = 1,
) -> Waved:
    """Wave at an agent."""
    return Waved(who, times)
'''
RENDERER = '''"""Waves."""

from __future__ import annotations

from holdfast.operations.wave import Waved
from holdfast.surfaces.cli.render import View, renders
from holdfast.surfaces.cli.runner import Said


@renders(Waved)
def said_waved(found: Waved, view: View) -> Said:
    return Said(found, [f"{found.who} " * found.times])
'''


def steps(title: str) -> str:
    """The list that CONTRIBUTING gives for adding something."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return text.partition(f"**a {title}.**")[2].partition("\n\n**")[0]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project with an invented verb, added by the list."""
    project = tmp_path / "copy"
    for name in ("src", "scripts", "docs/reference"):
        shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", project)
    package = project / "src" / "holdfast"
    (package / "operations" / "wave.py").write_text(OPERATION)
    (package / "surfaces" / "cli" / "render" / "waves.py").write_text(RENDERER)
    table = package / "surfaces" / "cli" / "render" / "__init__.py"
    table.write_text(table.read_text().replace("MODULES = {", 'MODULES = {\n    "waves": "wave",', 1))
    run(project, "scripts/registry")
    return project


def run(project: Path, *arguments: str, directory: Path | None = None) -> str:
    path = {**os.environ, "PYTHONPATH": str(project / "src")}
    line = [sys.executable, *arguments]
    done = subprocess.run(line, cwd=directory or project, env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_verb_that_is_added_by_the_list_is_on_every_surface(copy: Path, repository: Path) -> None:
    def holdfast(*arguments: str) -> str:
        return run(copy, "-m", "holdfast", *arguments, directory=repository)

    assert holdfast("wave", "robot", "--times", "2") == "robot robot \n"
    assert json.loads(holdfast("hello", "robot", "--json")) == {"who": "robot", "times": 1}
    assert "  wave " in holdfast("help", "--all")
    assert "--times N" in holdfast("help", "wave")
    assert "wave" in run(copy, "-c", "import holdfast; print(*holdfast.__all__)").split()
    assert run(copy, "-c", "import holdfast; print(holdfast.wave.__module__)") == "holdfast.operations.wave\n"


def test_the_list_names_every_file_that_was_changed() -> None:
    named = set(re.findall(r"`([\w/.]+\.py|scripts/\w+)`", steps("verb")))
    assert {"operations/NAME.py", "surfaces/cli/render/SUBJECT.py", "surfaces/cli/render/__init__.py"} <= named
    assert {"scripts/registry", "scripts/reference"} <= named


@pytest.mark.parametrize("title", ["verb", "setting", "surface"])
def test_what_a_list_names_is_there(title: str) -> None:
    named = re.findall(r"`([a-z]+/[\w/.]+|[a-z_]+\.py|pyproject\.toml)`", steps(title))
    places = [name for name in named if "NAME" not in name and "SUBJECT" not in name]
    assert places
    assert [name for name in places if not (ROOT / name).exists() and not (ROOT / "src/holdfast" / name).exists()] == []
