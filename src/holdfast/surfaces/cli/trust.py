"""Trust and untrust: what a repository brings, shown as it is, and asked about at a terminal and nowhere else."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from holdfast.agents.registry import find_tool_mark
from holdfast.core.errors import Refused
from holdfast.core.text import count, one_line, spelled
from holdfast.operations import trust as trusting
from holdfast.project.trust import TRUSTED, Brought
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import terminal
from holdfast.surfaces.cli.questions import ask
from holdfast.surfaces.cli.runner import Said, is_terminal
from holdfast.surfaces.cli.terminal import Line

WHITE = r"[ \t\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]"
BLANK = re.compile(rf"{WHITE}*+(?:\n{WHITE}*+){{6,}}|{WHITE}{{41,}}")  # of a length that nobody needs


def trust(workspace: Workspace, given: dict[str, Any]) -> Said:
    """Show what waits for trust, and ask about each file. `--yes` is no answer."""
    path = given.get("path")
    found = trusting.trust(workspace, path)
    waiting = [brought for brought in found.files if brought.state != TRUSTED]
    if not waiting:
        talk = "Nothing here waits for trust" if not found.files else f"All of it is trusted: {_named(found.files)}"
        return Said(found, talk=[talk])
    if why := _nobody():  # safeguard: nobody-at-terminal
        facts = [(brought.state, brought.path) for brought in waiting]
        raise Refused(f"What a project brings is allowed at a terminal only: {why}", facts, ["`holdfast trust`"])
    allowed = [brought.path for brought in waiting if _is_allowed(workspace, path, brought)]
    result = trusting.Trusted(trusting.trust(workspace, path).files, allowed)
    return Said(result, allowed, [f"Allowed: {count(len(allowed), 'file')} of {len(waiting)}"])


def _nobody() -> str | None:
    """Why nobody is here who can see and answer; None where somebody is."""
    if not is_terminal() or not sys.stderr.isatty():
        return "nobody is at one here"
    mark = find_tool_mark(os.environ)
    return f"an agent started this ({mark} is set)" if mark else None


def _is_allowed(workspace: Workspace, path: str | None, brought: Brought) -> bool:
    terminal.emit(shown(brought), sys.stderr)
    if not ask("Allow this, as long as nothing of it changes?"):
        return False
    trusting.trust(workspace, path, seen=brought.digest)
    return True


def shown(brought: Brought) -> Iterator[Line]:
    """What a file brings, word for word; what would act on a terminal or hide is spelled out."""
    was = " (it has changed since you allowed it)" if brought.state == "changed" else ""
    yield ("title", f"{literal(brought.path)}{was}")
    for order in brought.orders:
        yield f"  {one_line(order.artifact)}: {literal(order.command)}"
        if order.why_not:
            yield ("dim", f"    it never runs: it {one_line(order.why_not, 200)}")
    for file in brought.files:
        yield f"  which names {literal(file.path)} (sha256 {file.sha256[:16]}…):"
        yield from (f"    | {line}" for line in _counted(file.text).split("\n"))
        if file.cut:
            yield ("warn", "    | there is more of it: look at all of it before you allow it")
    yield (
        "dim",
        "  This file and the files that it names are bound byte for byte; what else they read or run is not",
    )


def literal(command: str) -> str:
    return _counted(command).replace("\n", "\\n").replace("\t", "\\t")


def _counted(text: str) -> str:
    """The text, spelled out; where there is nothing for long it says so, or what stands before leaves the screen."""
    return BLANK.sub(_count, spelled(text))


def _count(found: re.Match[str]) -> str:
    lines = found.group().count("\n")
    return f"\n[{count(lines - 1, 'empty line')}]\n" if lines else f"[{count(len(found.group()), 'blank')}]"


def _named(files: list[Brought]) -> str:
    return ", ".join(one_line(brought.path, 200) for brought in files)
