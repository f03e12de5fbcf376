"""The page of the format, taken at its word by somebody who has nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import holdfast
from holdfast.project.workspace import Workspace

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_a_stranger_reads_an_export_by_what_the_page_of_the_format_says(project: Workspace, tmp_path: Path) -> None:
    (project.root / "code.py").write_text("uncommitted\n")
    run = holdfast.start(project, "goal").run.id
    made = holdfast.checkpoint(project).checkpoint
    holdfast.export(project, run, tmp_path / "file", raw=True)
    page = (DOCS / "format.md").read_text().partition("## An exported run")[2]
    program = page.partition("```python\n")[2].partition("```")[0]
    stranger = tmp_path / "stranger"
    subprocess.run(["git", "init", "-q", str(stranger)], check=True)
    subprocess.run([sys.executable, "-I", "-c", program, str(tmp_path / "file")], cwd=stranger, check=True)
    events = [json.loads(line) for line in (stranger / "events").read_text().splitlines()]
    assert [event["kind"] for event in events] == ["run.started"]
    assert json.loads((stranger / "state").read_text())["goal"] == "goal"
    with open(stranger / "objects", "rb") as pack:
        subprocess.run(["git", "unpack-objects", "-q"], cwd=stranger, stdin=pack, check=True)
    told = subprocess.run(
        ["git", "cat-file", "blob", f"{made.tree}:code.py"], cwd=stranger, capture_output=True, check=True
    )
    assert told.stdout == b"uncommitted\n"
