"""Shell completion: scripts that shells take, verbs and runs that they offer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.surfaces.cli.runner import WORDS as VERBS
from tests.surfaces.commands import Known
from tests.tools import Command

SCRIPTS = str(Path(sys.executable).parent)


def offered(directory: Path, *typed: str, shell: str = "bash", **env: str) -> list[str]:
    """What the command offers a shell for a line that ends with the last of these words."""
    line, place = " ".join(["holdfast", *typed]), str(len(typed))
    done = subprocess.run(
        [sys.executable, "-c", "from holdfast.__main__ import main; main()"],
        cwd=directory,
        env={
            **os.environ,
            "_HOLDFAST_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": line,
            "COMP_CWORD": typed[-1] if shell == "fish" else place,
            **env,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_names_the_command(shell: str, cli: Callable[..., Command]) -> None:
    done = cli("completion", shell).ok()
    assert f"_HOLDFAST_COMPLETE={shell}_complete" in done.out
    assert done.err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_takes_its_script(shell: str, repository: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"NOT TESTED: {shell} is not installed")
    script = {"fish": "holdfast completion fish | source"}.get(shell, f'eval "$(holdfast completion {shell})"')
    if shell == "zsh":
        script = f"autoload -U compinit; compinit -u; {script}"
    path = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}"}
    done = subprocess.run([shell, "-c", script], env=path, cwd=repository, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_bash_itself_completes_a_verb(repository: Path) -> None:
    script = (
        'eval "$(holdfast completion bash)"; COMP_WORDS=(holdfast sta); COMP_CWORD=1; '
        '_holdfast_completion holdfast; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], env=path, cwd=repository, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert sorted(done.stdout.split()) == ["start", "status"]


def test_verbs_are_completed(repository: Path) -> None:
    assert offered(repository, "s") == [f"plain,{verb}" for verb in VERBS if verb.startswith("s")]
    assert offered(repository, "task", "d") == ["plain,done"]
    assert offered(repository, "decide", "--b") == ["plain,--because"]
    assert offered(repository, "completion", "z") == ["plain,zsh"]


@pytest.mark.parametrize(
    "typed", [("switch", ""), ("show", ""), ("join", ""), ("delete", ""), ("note", "x", "--run", "")], ids=" ".join
)
def test_runs_are_completed_where_a_run_is_wanted(typed: tuple[str, ...], worked: Known, repository: Path) -> None:
    assert sorted(offered(repository, *typed)) == sorted(f"plain,{run}" for run in (worked.run, worked.earlier))


def test_what_is_typed_narrows_the_choice_anywhere_in_the_id(worked: Known, repository: Path) -> None:
    for part in (worked.run[:9], worked.run[4:9], worked.run[-6:]):
        assert f"plain,{worked.run}" in offered(repository, "switch", part)
    assert offered(repository, "switch", "nothing-like-it") == []


def test_shells_that_show_help_see_the_goal(worked: Known, repository: Path) -> None:
    lines = offered(repository, "switch", worked.run, shell="zsh")
    assert lines[:3] == ["plain", worked.run, "Add retries to the client"]


def test_completion_of_runs_finds_nothing_where_there_is_nothing(repository: Path, tmp_path: Path) -> None:
    assert offered(repository, "switch", "") == []
    assert offered(tmp_path, "switch", "") == []


def test_completion_never_fails(repository: Path, say: Callable[..., Command]) -> None:
    say("start", "goal").ok()
    for name in ("journal.db", "journal.db-wal"):
        (repository / ".git/holdfast" / name).write_bytes(b"not a database" * 1000)
    assert say("runs").code == 12
    assert offered(repository, "switch", "") == []
