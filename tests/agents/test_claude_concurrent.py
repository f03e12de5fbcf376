"""Two living clients in one worktree: whose turn a checkpoint belongs to, and whose edits are not overwritten."""

from __future__ import annotations

import time
from collections.abc import Callable

import psutil
import pytest

import holdfast
from holdfast.core.model import Checkpoint, Run
from tests.agents.conftest import PATIENCE, Gate, Project
from tests.agents.interactive import Interactive
from tests.agents.test_claude import bash, tool
from tests.tools import Command

pytestmark = pytest.mark.promise(9)
NAMES = ("one.txt", "two.txt")


def by_tool(project: Project, name: str) -> str:
    return tool("Write", file_path=str(project.directory / name), content="changed\n")


def by_shell(project: Project, name: str) -> str:
    return bash(f"echo changed > {name}")


def run_of(project: Project, goal: str) -> Run:
    return next(run for run in project.runs() if run.goal.startswith(goal))


def session_of(project: Project, goal: str) -> str:
    """The session of a run that is open."""
    run = run_of(project, goal).id
    return next(session.id for session in project.sessions() if session.run == run and session.is_open)


def wait_for_turn(project: Project, name: str) -> Checkpoint:
    """The newest checkpoint of a turn that counts a file as changed, once it was made: nobody waits for that."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with holdfast.open(project.directory) as workspace:
            made = holdfast.checkpoints(workspace, touching=name).checkpoints
        if found := [kept for kept in made if kept.kind == "turn"]:
            return found[0]
    raise AssertionError(f"no checkpoint of a turn with {name}")


def wait_for_detached_work(project: Project) -> None:
    """Until no process works on in the background after a hook call."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        found = psutil.process_iter(["cwd", "cmdline"])
        lines = [a.info["cmdline"] or [] for a in found if a.info["cwd"] == str(project.directory)]
        if not any("later" in line for line in lines):
            return
    raise AssertionError("the work after a hook call does not end")


def keep(project: Project) -> Checkpoint:
    with holdfast.open(project.directory) as workspace:
        return holdfast.checkpoint(workspace).checkpoint


def leave(client: Interactive) -> None:
    client.type("/exit")
    assert client.finish() == 0


def restore(project: Project, made: Checkpoint) -> Command:
    return Command.run("restore", made.id, "--yes", directory=project.directory)


@pytest.mark.defect(
    "With two agents in one worktree, the checkpoint of a turn was booked on the worktree's current run and named no "
    "session, so that a restore blamed the wrong one or overwrote a living session's edit.",
    promise=9,
)
@pytest.mark.parametrize("edit", [by_tool, by_shell])
@pytest.mark.parametrize("first_leaves", [True, False], ids=["the first leaves", "the second leaves"])
def test_an_edit_of_the_client_that_stays_is_not_overwritten(
    project: Project, edit: Callable[[Project, str], str], first_leaves: bool
) -> None:
    for name in NAMES:
        (project.directory / name).write_text("before\n")
    made = keep(project)
    goals = ("this", "that")
    with project.interactive() as one, project.interactive() as two:
        for goal, client, name in zip(goals, (one, two), NAMES, strict=True):
            client.type(f"{goal} {edit(project, name)}")
            client.wait_until_idle()
            kept = wait_for_turn(project, name)
            assert kept.changed == [name]
            assert (kept.run, kept.session) == (run_of(project, goal).id, session_of(project, goal))
        sessions = [session_of(project, goal) for goal in goals]
        leaves, stays = (0, 1) if first_leaves else (1, 0)
        leave((one, two)[leaves])
        done = restore(project, made)
        assert done.code == 11
        assert (sessions[stays] in done.err, NAMES[stays] in done.err) == (True, True)
        assert (sessions[leaves] in done.err, NAMES[leaves] in done.err) == (False, False)
        assert (project.directory / NAMES[stays]).read_text() == "changed\n"
        leave((one, two)[stays])
    project.wait_until_quiet()
    assert restore(project, made).code == 0
    assert [(project.directory / name).read_text() for name in NAMES] == ["before\n"] * 2


def test_an_edit_by_a_command_under_way_is_its_client_s_though_another_one_s_turn_kept_it(
    project: Project, gate: Gate, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = Gate(tmp_path_factory.mktemp("first"))
    (project.directory / "two.txt").write_text("before\n")
    made = keep(project)
    with project.interactive() as one, project.interactive() as two:
        two.type("that " + bash(f"({first.command}); echo changed > two.txt; {gate.command}"))
        first.wait()
        wait_for_detached_work(project)  # else the checkpoint of the prompt could have the edit
        first.close()
        gate.wait()
        one.type("this @@say done")
        one.wait_until_idle()
        assert wait_for_turn(project, "two.txt").run == run_of(project, "this").id
        leave(one)
        done = restore(project, made)
        assert (done.code, session_of(project, "that") in done.err) == (11, True)
        assert (project.directory / "two.txt").read_text() == "changed\n"
        gate.open()
        two.wait_until_idle()
