"""The tutorial, pasted block by block into one bash: what it shows is what comes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

TUTORIAL = Path(__file__).parent.parent.parent / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(sh)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "----- the next block -----"
CHANGING = [  # what is different each time
    (r"\b(run|ses)-[0-9a-z]{10}\b", r"\1-…"),
    (r"\bprocess \d+\b", "process …"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "…"),
    (r"\([^()]* ago\)|\(just now\)", "(…)"),
    (r"last (just now|.* ago)$", "last …"),
]


def same_each_time(text: str) -> list[str]:
    for changing, instead in CHANGING:
        text = re.sub(changing, instead, text, flags=re.MULTILINE)
    return text.splitlines()


def test_what_the_tutorial_shows_is_what_its_commands_print(home: Path, tmp_path: Path) -> None:
    program = home / "bin" / "holdfast"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m holdfast "$@"\n')
    program.chmod(0o755)
    page = TUTORIAL.read_text().replace("/tmp/shop", str(tmp_path / "shop"))
    commands: list[str] = []
    shown: dict[int, str] = {}
    for kind, text in BLOCK.findall(page):
        if kind:
            commands.append(text)
        else:
            shown[len(commands) - 1] = text
    assert commands[0].startswith("scripts/prepare")
    script = "\n".join(f"echo '{MARK}'\n{text}" for text in ["", *commands[1:]])
    done = subprocess.run(
        ["bash"],
        input=script,
        env={**os.environ, "PATH": f"{program.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
        timeout=120,
    )
    printed = done.stdout.split(f"{MARK}\n")[1:]
    assert len(shown) >= 3
    for number, text in shown.items():
        expected = same_each_time(text)
        assert same_each_time(printed[number])[-len(expected) :] == expected
    assert "Whole: 1 run, " in printed[-1]
