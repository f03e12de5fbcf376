"""The same verbs from Python, as somebody else's program uses them: a process of its own, and a type checker."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from tests.surfaces.commands import leaves
from tests.surfaces.in_process import call

ORCHESTRATOR = Path(__file__).with_name("orchestrator.py")


def orchestrate(what: str, repository: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ORCHESTRATOR), what, str(repository)],
        cwd=repository.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_orchestrator_that_is_killed_goes_on_where_it_was(repository: Path) -> None:
    assert orchestrate("work", repository).returncode == -signal.SIGKILL
    done = orchestrate("resume", repository)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["left"] == ["Write the change", "Test it"]
    assert "Change a.py only (because b.py is generated)" in seen["told"]
    assert seen["log"][:2] == ["run.started", "session.opened"]
    assert seen["log"].count("task.done") == 3
    assert seen["refused"] == {
        'There is no run, session or checkpoint "nowhere"': 10,
        "A run that is completed cannot pause": 1,
    }
    with holdfast.open(repository) as workspace:
        assert holdfast.verify(workspace).problems == []


def test_what_a_program_wrote_the_command_line_shows(repository: Path) -> None:
    orchestrate("work", repository)
    shown = call("show", "--json", directory=repository).ok().json["run"]
    assert (shown["status"], shown["tags"], shown["agents"]) == ("interrupted", ["urgent"], ["orchestrator"])
    assert [task["text"] for task in shown["tasks"]] == ["Read the code", "Write the change", "Test it"]


NAMES = {
    "task add": "add_task", "task done": "finish_task", "task list": "list_tasks", "done": "finish_task",
    "step start": "start_step", "step complete": "complete_step", "step fail": "fail_step", "step list": "list_steps",
    "agent start": "start_agent", "agent progress": "progress_agent", "agent complete": "complete_agent",
    "agent fail": "fail_agent", "agent list": "list_agents",
    "history": "past_runs", "load": "session_load", "prime-context": "session_load", "session-end": "session_save",
    "import": "import_claude", "continue": "resume",
}  # fmt: skip
ONLY_A_COMMAND = {"completion": "it speaks to a shell", "help": "it is about the command line"}


@pytest.mark.parametrize("words", [words for words in leaves() if words not in ONLY_A_COMMAND])
def test_every_command_is_a_function_too(words: str) -> None:
    function = getattr(holdfast, NAMES.get(words, words.replace(" ", "_").replace("-", "_")))
    assert callable(function)
    assert function.__doc__


def test_the_package_names_what_it_offers() -> None:
    assert set(holdfast.__all__) <= set(dir(holdfast))
    assert all(getattr(holdfast, name) is not None for name in holdfast.__all__)
    for name in ("nonsense", "open_worksapce"):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(holdfast, name)


def test_importing_the_package_loads_nothing_of_it() -> None:
    script = "import sys, holdfast; print([name for name in sys.modules if name.startswith('holdfast.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_program_is_told_how_far_long_work_has_come(repository: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with holdfast.open(repository, progress=lambda what, done, total: told.append((what, done, total))) as workspace:
        holdfast.start(workspace, "goal")
        holdfast.verify(workspace)
    assert told == [("verifying runs", 1, 1)]


WRONG = {
    "holdfast.start(project, 5)": "arg-type",
    "holdfast.decide(project)": "call-arg",
    "holdfast.status(project).nonsense": "attr-defined",
    "holdfast.runs(project, status='open')": "arg-type",
    "holdfast.brief(project).text + 1": "operator",
    "holdfast.nonsense(project)": "attr-defined",
}


def test_a_type_checker_knows_every_verb(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """The orchestrator passes the strictest check; a program with mistakes has each of them found."""
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import holdfast\n\nwith holdfast.open() as project:\n" + "".join(f"    {line}\n" for line in WRONG)
    )
    assert pytestconfig.cache is not None
    cache = pytestconfig.cache.mkdir("mypy")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(cache),
         str(ORCHESTRATOR), str(wrong)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    found = re.findall(r"^(.*?):(\d+): error: .*\[([a-z-]+)\]$", done.stdout, re.MULTILINE)
    assert [(Path(path).name, int(line), kind) for path, line, kind in found] == [
        ("wrong.py", number, kind) for number, kind in enumerate(WRONG.values(), 4)
    ], done.stdout + done.stderr
