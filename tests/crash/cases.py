"""Every verb that changes something: what there is before, what is run, and what must be true once it said so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import holdfast
from holdfast.project.workspace import Workspace
from tests.faults.explorer import explore
from tests.faults.report import Outcome, Report
from tests.tools import ENTRY

GOAL = "Keep every byte"
SHARED = "a value that is large enough to be stored once " * 40


def environment(directory: Path) -> dict[str, str]:
    """A home inside the directory, so that faults strike there too."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    home = directory / "home"
    ours = {"HOME": home, "HOLDFAST_CONFIG_DIR": home / "config", "HOLDFAST_STATE_DIR": home / "state"}
    return {**kept, **{name: str(path) for name, path in ours.items()}, "PYTHONDONTWRITEBYTECODE": "1"}


@contextmanager
def opened(directory: Path) -> Iterator[Workspace]:
    with holdfast.open(directory / "project", environ=environment(directory)) as workspace:
        yield workspace


def adopt(directory: Path) -> None:
    """A copy is not believed; the copies of a test are ours."""
    with opened(directory) as workspace:
        if workspace.exists:
            holdfast.init(workspace, adopt=True)


def an_empty_project(directory: Path) -> None:
    (directory / "home").mkdir()
    (directory / "project").mkdir()


def a_project_with_a_run(directory: Path) -> None:
    an_empty_project(directory)
    with opened(directory) as workspace:
        holdfast.start(workspace, GOAL)
        holdfast.decide(workspace, "Use SQLite", because="one file")
        holdfast.add_task(workspace, "Write it")
        holdfast.note(workspace, SHARED)
        holdfast.runs(workspace)  # so that 1 names the run


def a_project_with_a_plan(directory: Path) -> None:
    an_empty_project(directory)
    with opened(directory) as workspace:
        holdfast.start(workspace, GOAL, steps=("write", "ship"))
        holdfast.join(workspace, agent="robot")
        holdfast.complete_step(workspace, "write")


def is_through(run: holdfast.Run) -> bool:
    return (run.status, run.open_sessions, run.steps[-1].status) == ("completed", [], "completed")


def a_project_with_kept_calls(directory: Path) -> None:
    a_project_with_a_run(directory)
    with opened(directory) as workspace:
        for number in range(3):
            keep_call(workspace.inbox, number)
        (workspace.inbox / "00000000000000000009-0-9-00000009").write_bytes(b"not a call")


def a_project_with_a_dead_session(directory: Path) -> None:
    a_project_with_a_run(directory)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as gone:
        try:
            with opened(directory) as workspace:
                holdfast.join(workspace, pid=gone.pid, agent="robot")
        finally:
            gone.kill()


def keep_call(inbox: Path, number: int) -> None:
    head = b"holdfast-call 1\0agent=robot\0event=Did\0time=%d\0monotonic=%d\0\0" % (10**18 + number, number)
    (inbox / f"{number:020d}-0-1-{number:08x}").write_bytes(head + b'{"number": %d}' % number)


@dataclass(frozen=True)
class Verb:
    """The argv of a verb in the copy's project; its words are there to be looked at."""

    words: tuple[str, ...]

    def __call__(self, directory: Path) -> Sequence[str]:
        adopt(directory)
        return [*in_project(directory), sys.executable, "-m", "holdfast", *self.words]


def verb(*words: str) -> Verb:
    return Verb(words)


def hook(directory: Path) -> Sequence[str]:
    adopt(directory)
    return [*in_project(directory), sys.executable, "-I", "-S", str(ENTRY), "robot", "Did"]


def in_project(directory: Path) -> list[str]:
    settings = [f"{name}={value}" for name, value in environment(directory).items()]
    return ["env", "-i", "-C", str(directory / "project"), *settings]


@dataclass(frozen=True)
class Case:
    name: str
    prepare: Callable[[Path], None]
    command: Callable[[Path], Sequence[str]]
    done: Callable[[Workspace], bool]
    stdin: bytes = b""

    def break_it(
        self, modes: tuple[str, ...], points: int | None, check: Callable[[Outcome], None] | None = None
    ) -> Report:
        """Break the command at so many calls in each mode, at all of them where no number is given, and look."""
        report = explore(
            prepare=self.prepare,
            command=self.command,
            check=check or self.check,
            modes=modes,
            points=points,
            stdin=self.stdin,
        )
        report.assert_clean()
        return report

    def check(self, outcome: Outcome) -> None:
        """The store is whole, what was acknowledged is there, and what failed says so in a sentence."""
        if outcome.returncode not in (0, None) and not outcome.killed and outcome.mode not in ("kill", "torn", "one"):
            assert "holdfast:" in outcome.stderr, (
                f"exit {outcome.returncode} without a sentence: {outcome.stderr[-300:]}"
            )
            assert outcome.returncode != 3, f"a bug was reported: {outcome.stderr[-500:]}"
        with opened(outcome.directory) as workspace:
            if not workspace.exists:
                assert not outcome.acknowledged(), "acknowledged, and there is no store"
                return
            found = holdfast.verify(workspace)
            assert found.problems == [], f"damaged: {found.problems}"
            if outcome.acknowledged():
                assert self.done(workspace), f"acknowledged and lost; stdout: {outcome.stdout!r}"
            holdfast.on(workspace)
            holdfast.start(workspace, "go on afterwards")


def the_run(workspace: Workspace) -> holdfast.Run:
    return next(run for run in holdfast.runs(workspace).runs if run.goal == GOAL)


def kept_or_confessed(workspace: Workspace) -> bool:
    """A hook always exits 0: it has kept the call, or left a line for `status`."""
    return the_run(workspace).calls == 1 or holdfast.status(workspace).troubles != []


def of_run(holds: Callable[[holdfast.Run], bool]) -> Callable[[Workspace], bool]:
    return lambda workspace: holds(the_run(workspace))


CASES = [
    Case("start in a new project", an_empty_project, verb("start", GOAL), of_run(lambda run: run.seq == 1)),
    Case("start another", a_project_with_a_run, verb("start", "second"), of_run(lambda run: run.status == "paused")),
    Case("note", a_project_with_a_run, verb("note", "n"), of_run(lambda run: run.notes[-1].text == "n")),
    Case("decide", a_project_with_a_run, verb("decide", "d"), of_run(lambda run: run.decisions[-1].text == "d")),
    Case("revoke", a_project_with_a_run, verb("revoke", "1"), of_run(lambda run: run.standing_decisions == [])),
    Case("task add", a_project_with_a_run, verb("task", "add", "t"), of_run(lambda run: run.tasks[-1].text == "t")),
    Case("task done", a_project_with_a_run, verb("task", "done", "1"), of_run(lambda run: run.open_tasks == [])),
    Case("pin", a_project_with_a_run, verb("pin", "1"), of_run(lambda run: run.decisions[0].pinned)),
    Case("forget", a_project_with_a_run, verb("forget", "2", "--yes"), of_run(lambda run: run.decisions == [])),
    Case("rename", a_project_with_a_run, verb("rename", "r"), of_run(lambda run: run.name == "r")),
    Case("tag", a_project_with_a_run, verb("tag", "x", "y"), of_run(lambda run: run.tags == ["x", "y"])),
    Case("action", a_project_with_a_run, verb("action", "a"), of_run(lambda run: run.actions[-1].text == "a")),
    Case("pause", a_project_with_a_run, verb("pause"), of_run(lambda run: run.status == "paused")),
    Case("complete", a_project_with_a_run, verb("complete"), of_run(lambda run: run.status == "completed")),
    Case("complete the last step", a_project_with_a_plan, verb("step", "complete", "ship"), of_run(is_through)),
    Case("join", a_project_with_a_run, verb("join"), of_run(lambda run: run.sessions == 1)),
    Case("find a death", a_project_with_a_dead_session, verb("sweep"), of_run(lambda run: run.status == "interrupted")),
    Case("take in", a_project_with_kept_calls, verb("sweep"), of_run(lambda run: run.calls == 3)),
    Case("hook", a_project_with_a_run, hook, kept_or_confessed, b'{"said": "something"}'),
    Case(
        "delete",
        a_project_with_a_run,
        verb("delete", "1", "--yes"),
        lambda workspace: holdfast.runs(workspace).runs == [],
    ),
    Case("off", a_project_with_a_run, verb("off"), lambda workspace: workspace.is_off),
    Case(
        "config set",
        a_project_with_a_run,
        verb("config", "set", "list.limit", "7"),
        lambda workspace: workspace.settings.whole("list.limit") == 7,
    ),
]
