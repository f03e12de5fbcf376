"""The guide to the library, run as one program, and what a type checker knows of the library."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tests.surfaces import guides

DOCS = Path(__file__).parent.parent.parent / "docs"
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def test_every_program_of_the_guide_prints_what_the_guide_shows(repository: Path) -> None:
    page = (DOCS / "guides/library.md").read_text()
    blocks = list(BLOCK.finditer(page))
    assert len(blocks) == page.count("```python") >= 8
    names: dict[str, object] = {"__name__": "guide"}
    with contextlib.chdir(repository):
        for block in blocks:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(block["code"], "library.md", "exec"), names)
            step = guides.Step(block["code"], block["shown"] or "")
            assert step.fits(printed.getvalue()), f"{block['code']}\n{printed.getvalue()}"


# What a type checker knows of each name: an expression, and its type.
TYPES = {
    "holdfast.open()": "holdfast.Workspace",
    'holdfast.start(project, "goal").run': "holdfast.Run",
    "holdfast.status(project).run": "holdfast.Run | None",
    "holdfast.runs(project).runs": "list[holdfast.Run]",
    "holdfast.runs(project).next": "str | None",
    "holdfast.everywhere(project).runs[0].run": "holdfast.Run",
    'holdfast.search(project, "word").found[0].marks': "list[tuple[int, int]]",
    'holdfast.search(project, "word").found[0].status': "holdfast.Status",
    "holdfast.report(project).markdown": "str",
    "holdfast.report(project).spent.cost": "float | None",
    "holdfast.picture(project).path": "str | None",
    "holdfast.sessions(project).sessions": "list[holdfast.Session]",
    "holdfast.log(project).events": "list[holdfast.Event]",
    "holdfast.checkpoint(project).checkpoint": "holdfast.Checkpoint",
    'holdfast.restore(project, "cp").restore': "holdfast.Restore | None",
    'holdfast.join(project, "run").session': "holdfast.Session",
    "holdfast.brief(project).text": "str",
    "holdfast.list_tasks(project).tasks": "list[holdfast.Task]",
    "holdfast.budget(project).run": "str",
    "holdfast.NotFound('x').hints": "list[str]",
}


def test_a_type_checker_knows_the_type_of_what_every_verb_gives(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """`Any` where a type is meant would pass every other check."""
    lines = [f"assert_type({expression}, {type})" for expression, type in TYPES.items()]
    lines += [f"reveal_type(holdfast.{name})" for name in holdfast.__all__]
    program = tmp_path / "typed.py"
    program.write_text(
        "from typing import assert_type, reveal_type\n\nimport holdfast\n\nproject = holdfast.open()\n"
        + "\n".join(lines)
        + "\n"
    )
    kept = getattr(pytestconfig, "cache", None)
    cache = kept.mkdir("mypy") if kept else tmp_path / "cache"
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(cache), str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    revealed = re.findall(r'Revealed type is "(.*)"', done.stdout)
    assert re.findall(r"^.*: error: .*$", done.stdout, re.MULTILINE) == []
    assert len(revealed) == len(holdfast.__all__), done.stderr
    assert [type for type in revealed if type == "Any" or re.search(r"\) -> Any$", type)] == []
