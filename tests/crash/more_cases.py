"""The verbs that change something and are called less often: before, command, and what must be true afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import holdfast
from holdfast.project.trust import Grants
from holdfast.project.workspace import Workspace
from tests.crash.cases import (
    GOAL,
    Case,
    a_project_with_a_run,
    adopt,
    an_empty_project,
    environment,
    in_project,
    of_run,
    opened,
    the_run,
    verb,
)
from tests.transcripts import Transcript, folder

SESSION = "the session of the run"
TRUST = """
import sys
import holdfast
try:
    with holdfast.open() as project:
        for brought in holdfast.trust(project).files:
            print(*holdfast.trust(project, seen=brought.digest).allowed)
except holdfast.HoldfastError as error:
    sys.exit(f"holdfast: {error.message}")
"""


def a_project_with_two_runs(directory: Path) -> None:
    """The first one rests, and 2 names it."""
    a_project_with_a_run(directory)
    with opened(directory) as workspace:
        holdfast.start(workspace, "second")
        holdfast.runs(workspace)


def a_project_with_an_ended_run(directory: Path) -> None:
    a_project_with_a_run(directory)
    with opened(directory) as workspace:
        holdfast.abort(workspace)


def a_project_with_a_checkpoint(directory: Path) -> None:
    """The second of two is named `wrong`."""
    a_project_with_a_run(directory)
    with opened(directory) as workspace:
        for name in ("right", "wrong"):
            (workspace.root / "file").write_text(name)
            holdfast.checkpoint(workspace, name)


def a_project_with_a_session(directory: Path) -> None:
    """On a run with a step that has begun and an agent at work."""
    an_empty_project(directory)
    with opened(directory) as workspace:
        holdfast.start(workspace, GOAL)
        holdfast.start_step(workspace, "build")
        holdfast.start_agent(workspace, "code", "Write it")
        session = holdfast.join(workspace, agent="robot").session
    (directory / "project" / "given.txt").write_text("what a step has given\n")
    (directory / SESSION).write_text(session.id)


def leave(directory: Path) -> Sequence[str]:
    return verb("leave", (directory / SESSION).read_text())(directory)


def a_project_that_is_off(directory: Path) -> None:
    a_project_with_a_run(directory)
    with opened(directory) as workspace:
        holdfast.off(workspace)


def import_claude(directory: Path) -> Sequence[str]:
    """The conversation is written here, because it has to name the copy's own project."""
    told = Transcript(str(directory / "project"))
    told.prompt("Fix the login bug")
    told.say("It is fixed")
    told.write(folder(directory / "home", directory / "project") / "c1.jsonl")
    return verb("import", "--claude")(directory)


def a_project_that_brings_a_command(directory: Path) -> None:
    a_project_with_a_run(directory)
    path = directory / "project" / ".fractary" / "faber" / "workflows" / "default.json"
    path.parent.mkdir(parents=True)
    order = {"id": "issue", "type": "skill", "command": "echo fetched"}
    path.write_text(json.dumps({"id": "default", "critical_artifacts": {"always_load": [order]}}))


def trust(directory: Path) -> Sequence[str]:
    """As a terminal would allow it: what was seen, by its digest."""
    adopt(directory)
    return [*in_project(directory), sys.executable, "-c", TRUST]


def untrust(directory: Path) -> Sequence[str]:
    """The grant is given here, for it names the copy's own path."""
    subprocess.run(trust(directory), check=True, capture_output=True)
    return verb("untrust")(directory)


def grants(workspace: Workspace) -> int:
    return len(Grants(Path(workspace.environ["HOME"], ".local/share/holdfast/trust"), [workspace.root]).every())


class _Then:
    """A clock that stands still, long ago."""

    def now(self) -> datetime:
        return datetime(2020, 1, 1, tzinfo=UTC)


def a_team_that_is_over(directory: Path) -> None:
    an_empty_project(directory)
    with holdfast.open(directory / "project", environ=environment(directory), clock=_Then()) as workspace:
        run = holdfast.start(workspace, GOAL, layout="go-team").run
        holdfast.complete_step(workspace, "init")
        holdfast.complete(workspace, run.id)
        holdfast.start(workspace, "another", layout="go-team")


def has_no_files(workspace: Workspace) -> bool:
    directory = workspace.root / "checkpoints" / the_run(workspace).id
    return not (directory / "state.json").exists() and the_run(workspace).status == "completed"


def is_drawn(workspace: Workspace) -> bool:
    path = workspace.root / "run.svg"
    return path.exists() and path.read_text().rstrip().endswith("</svg>")


def settings_call_us(workspace: Workspace) -> bool:
    path = workspace.root / ".claude" / "settings.local.json"
    return path.exists() and b"holdfast" in path.read_bytes()


def an_installed_project(directory: Path) -> None:
    a_project_with_a_run(directory)
    with opened(directory) as workspace:
        holdfast.init(workspace, agent="claude")


def steps(*expected: str) -> Callable[[holdfast.Run], bool]:
    return lambda run: [step.status for step in run.steps] == list(expected)


RUN, TWO, WORK = a_project_with_a_run, a_project_with_two_runs, a_project_with_a_session
ENDED = a_project_with_an_ended_run
MORE = [
    Case("switch", TWO, verb("switch", "2"), lambda workspace: _meant(workspace) == GOAL),
    Case("resume", TWO, verb("resume", "2", "--yes"), of_run(lambda run: run.status == "active")),
    Case("continue", TWO, verb("continue", "2", "--yes"), of_run(lambda run: run.status == "active")),
    Case("command", RUN, verb("command", "*abort"), of_run(lambda run: run.status == "aborted")),
    Case("leave", WORK, leave, of_run(lambda run: run.open_sessions == [])),
    Case("fail", RUN, verb("fail"), of_run(lambda run: run.status == "failed")),
    Case("abort", RUN, verb("abort"), of_run(lambda run: run.status == "aborted")),
    Case("abandon", RUN, verb("abandon"), of_run(lambda run: run.status == "abandoned")),
    Case("reopen", ENDED, verb("reopen"), of_run(lambda run: run.status == "active")),
    Case("run", RUN, verb("run", "--", "true"), of_run(lambda run: run.sessions == 1 and run.open_sessions == [])),
    Case("agent start", WORK, verb("agent", "start", "test", "Try"), of_run(lambda run: len(run.workers) == 2)),
    Case(
        "agent progress", WORK, verb("agent", "progress", "code-1", "60"),
        of_run(lambda run: run.workers[0].progress == 60),
    ),
    Case(
        "agent fail", WORK, verb("agent", "fail", "code-1", "--error", "red"),
        of_run(lambda run: run.workers[0].error == "red"),
    ),
    Case("step start", WORK, verb("step", "start", "ship"), of_run(steps("active", "active"))),
    Case("step fail", WORK, verb("step", "fail", "build", "--error", "red"), of_run(steps("failed"))),
    Case("done", RUN, verb("done", "1"), of_run(lambda run: run.open_tasks == [])),
    Case("error", RUN, verb("error", "e"), of_run(lambda run: run.errors[-1].text == "e")),
    Case("handoff", WORK, verb("handoff", "tester"), of_run(lambda run: run.standing.agent == "tester")),
    Case("breakpoint", WORK, verb("breakpoint", "on"), of_run(lambda run: run.standing.is_waiting)),
    Case("output", WORK, verb("output", "spec", "given.txt"), of_run(lambda run: "spec" in run.standing.outputs)),
    Case("metric", WORK, verb("metric", "coverage", "85"), of_run(lambda run: "coverage" in run.standing.metrics)),
    Case("compressed", RUN, verb("compressed"), of_run(lambda run: run.compactions == 1)),
    Case("budget", RUN, verb("budget", "--used", "9", "--window", "99"), of_run(lambda run: run.context_tokens == 9)),
    Case(
        "checkpoints delete", a_project_with_a_checkpoint, verb("checkpoints", "delete", "wrong", "--yes"),
        lambda workspace: [made.name for made in holdfast.checkpoints(workspace).checkpoints] == ["right"],
    ),
    Case("show", RUN, verb("show", "--svg", "run.svg"), is_drawn),
    Case("on", a_project_that_is_off, verb("on"), lambda workspace: not workspace.is_off),
    Case("trust", a_project_that_brings_a_command, trust, lambda workspace: grants(workspace) == 1),
    Case("untrust", a_project_that_brings_a_command, untrust, lambda workspace: grants(workspace) == 0),
    Case("cleanup", a_team_that_is_over, verb("cleanup", "--yes"), has_no_files),
    Case("init", an_empty_project, verb("init", "--agent", "claude"), settings_call_us),
    Case("uninit", an_installed_project, verb("uninit"), lambda workspace: not settings_call_us(workspace)),
    Case(
        "import --claude", RUN, import_claude,
        lambda workspace: "Fix the login bug" in [run.goal for run in holdfast.runs(workspace).runs],
    ),
]  # fmt: skip


def _meant(workspace: Workspace) -> str | None:
    run = holdfast.status(workspace).run
    return run.goal if run else None
