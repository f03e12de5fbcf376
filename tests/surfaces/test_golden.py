"""What people see, word for word, against `tests/golden/*.txt` (ids, times and places replaced).

When a change is meant, write the files anew with `GOLDEN=write scripts/test tests/surfaces/test_golden.py`, and read
the difference before it is committed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from tests.surfaces.normal import normal
from tests.tools import Command

GOLDEN = Path(__file__).parent.parent / "golden"
WRITE = os.environ.get("GOLDEN") == "write"

SHOWN = {
    "help": ("--help",),
    "help-decide": ("decide", "--help"),
    "status": ("status",),
    "show": ("show",),
    "brief": ("brief",),
    "log": ("log",),
    "runs": ("runs",),
    "error-not-found": ("show", "run-nowhere"),
    "error-refused": ("pause", "--run", "2"),
    "error-usage": ("decide",),
}


@pytest.fixture
def interrupted(repository: Path) -> None:
    """A run that was completed, and one whose agent died in the middle of it."""
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "Fix the flaky test")
        holdfast.complete(workspace, reason="merged")
        with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as agent:
            started = holdfast.start(workspace, "Add retries to the client", pid=agent.pid, agent="robot")
            assert started.session is not None
            workspace.session = started.session.id
            work(workspace)
        workspace.session = None
        holdfast.runs(workspace)  # the list that a number names a row of


def work(workspace: holdfast.Workspace) -> None:
    for task in ("Find the calls that time out", "Retry them", "Test it"):
        holdfast.add_task(workspace, task)
    holdfast.prompt(workspace, "Please make the client survive timeouts")
    holdfast.finish_task(workspace, "t1", outcome="three calls", files=("client.py",))
    holdfast.decide(workspace, "Use exponential backoff", because="the server sheds load")
    holdfast.decide(workspace, "Retry everything")
    holdfast.revoke(workspace, "d2", because="paying twice is worse")
    holdfast.note(workspace, "The staging server needs a VPN")
    holdfast.pin(workspace, "n1")
    holdfast.tag(workspace, ("urgent",))
    holdfast.action(workspace, "Edited client.py", files=("client.py",))


@pytest.mark.usefixtures("interrupted")
@pytest.mark.parametrize("name", SHOWN)
def test_the_words_are_the_ones_that_were_agreed(
    name: str, repository: Path, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = say(*SHOWN[name])
    shown = normal(f"{done.out}{done.err}exit code {done.code}\n", (str(repository), "/PROJECT"))
    path = GOLDEN / f"{name}.txt"
    if WRITE:
        path.write_text(shown)
    assert shown == path.read_text()


def test_no_golden_file_is_left_over() -> None:
    from tests.surfaces.test_going_back import SCREENS, WIDTHS

    lists = {f"checkpoints-{columns}" for columns in WIDTHS}
    assert {path.stem for path in GOLDEN.iterdir()} == {*SHOWN, *SCREENS, *lists}


def test_golden_files_are_checked_and_not_written_by_default() -> None:
    assert not WRITE, "GOLDEN=write is set: the files were written, not checked"
