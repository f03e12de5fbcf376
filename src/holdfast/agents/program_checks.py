"""Health checks of the programs that our hooks run, shared by all agents."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Iterator

from holdfast import __version__
from holdfast.agents.hook_command import PROGRAM, files_of
from holdfast.agents.protocol import ENTRY, PACKAGE
from holdfast.core.model import BROKEN, OK, WARNING, Check
from holdfast.core.text import sound_text
from holdfast.project.workspace import Workspace
from holdfast.system import process
from holdfast.system.git.command import find_program
from holdfast.system.safe_paths import real_path

DEADLINE = 20.0


def check_programs(
    workspace: Workspace, calls: Iterable[object], remedy: list[str], ways: list[str], trusted: Collection[str] | None
) -> Iterator[Check]:
    """Checks of the programs of our hooks. For settings that may come from the repository, only `trusted` programs are
    run; `ways` are the commands that trust the others. `trusted` is None for settings that are the user's own."""
    exact = [found for call in calls if (found := files_of(call))]
    for python in sorted({sound_text(python) for python, _ in exact}):
        if python == sys.executable:
            yield Check("interpreter", OK, python)
        elif not os.path.isabs(python) or not os.path.isfile(python) or not os.access(python, os.X_OK):
            yield Check("interpreter", BROKEN, f"{python} no longer exists", remedy)
        # safeguard: interpreter-of-settings
        elif trusted is not None and python not in trusted:  # the file may appear after the check for its existence
            about = f"{python} is named by settings in the worktree and is not this interpreter, so it was not run"
            yield Check("interpreter", WARNING, about, [*ways, *remedy])
        else:
            yield _interpreter(workspace, python, remedy)
    scripts = sorted({sound_text(script) for _, scripts in exact for script in scripts})
    checks = [_script(script, remedy) for script in scripts]
    yield from [check for check in checks if check.state != OK] or checks[-1:]


def _script(script: str, remedy: list[str]) -> Check:
    name, place = "hook program", f"{real_path(PACKAGE)}/"
    if not os.path.isfile(script):
        return Check(name, BROKEN, f"{script} does not exist", remedy)
    if not real_path(script).startswith(place):
        return Check(name, WARNING, f"{script} belongs to another installation of Holdfast", remedy)
    if not real_path(script).startswith(f"{real_path(ENTRY.parent)}/"):
        return Check(name, WARNING, f"{script} is the script of an earlier version", remedy)
    return Check(name, OK, script)


def _interpreter(workspace: Workspace, python: str, remedy: list[str]) -> Check:
    """Check that a program runs this Holdfast. The resolved path is run, so that a link changed meanwhile is not."""
    name, program = "interpreter", real_path(python)
    root = f"{real_path(workspace.root)}{os.sep}"
    if any(place.startswith(root) for place in (python, program, f"{real_path(os.path.dirname(python))}{os.sep}")):
        about = f"{python} is in the worktree and is not this interpreter, so it was not run"
        return Check(name, WARNING, about, remedy)
    # safeguard: isolated-interpreter
    said = process.ask([python, "-I", "-m", "holdfast", "--version"], {"PATH": os.defpath}, DEADLINE, program)
    if said is None:
        return Check(name, BROKEN, f"{python} does not run Holdfast", remedy)
    if said.strip() != f"holdfast {__version__}":
        return Check(name, WARNING, f"{python} runs another version of Holdfast", remedy)
    return Check(name, OK, f"{python} runs this version of Holdfast")


def check_path(workspace: Workspace) -> Check:
    program = find_program(PROGRAM, workspace.environ.get("PATH", os.defpath), "/nonexistent")
    if program is None:
        about = f"the hooks need {PROGRAM} on PATH, and it is not there"
        return Check("hook program", BROKEN, about, ["install Holdfast where PATH finds it", "`holdfast init`"])
    if os.path.dirname(program) != os.path.dirname(sys.executable):
        about = f"{program} may belong to another installation of Holdfast"
        return Check("hook program", WARNING, about, [f"`ls -l {program}`"])
    return Check("hook program", OK, program)
