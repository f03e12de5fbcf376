"""The real client under `holdfast run`: it is told the brief, changes runs, and how it ended is known."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import psutil
import pytest

from holdfast.core.model import Status
from tests.agents.conftest import PATIENCE, Gate, Project
from tests.agents.test_claude import bash
from tests.agents.test_claude_go_team import clear
from tests.surfaces.test_run import is_there, until

RUN = (sys.executable, "-m", "holdfast", "run", "--")


def supervisor(pid: int) -> psutil.Process:
    """`holdfast run` itself, which the cage may have started in a process of its own."""
    started = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return next(found for found in started if found.cmdline()[1:4] == ["-m", "holdfast", "run"])


def reason(project: Project, run: str) -> str | None:
    recovery = json.loads((project.directory / "checkpoints" / run / "recovery.json").read_text())
    return None if recovery["interrupt_reason"] is None else str(recovery["interrupt_reason"])


def begin(project: Project) -> str:
    return project.holdfast("start", "user-authentication-service", "--layout", "go-team").out.split()[-1]


def test_a_supervised_client_that_loses_its_terminal_is_disconnected(project: Project) -> None:
    run = begin(project)
    with project._terminal(*RUN, str(project.program), begins="startup") as claude:
        claude.type("begin here @@say begun")
        seen = project.witness.wait_for("Stop")
        assert f"# Where run {run} stands" in project.model.turns[-1].told
        claude.wait_until_idle()
        supervisor(claude.process.pid).send_signal(signal.SIGHUP)
        claude.finish()
    (found,) = project.runs()
    assert (found.status, reason(project, run)) == (Status.INTERRUPTED, "disconnect")
    (session,) = project.sessions()
    assert (session.how, session.reason) == ("died", "ended by SIGHUP")
    assert session.agent_session == seen.session


@pytest.mark.parametrize(
    ("number", "status", "reasons"),
    [
        (signal.SIGTERM, Status.PAUSED, None),
        (signal.SIGINT, Status.PAUSED, None),
        (signal.SIGKILL, Status.INTERRUPTED, "crash"),
    ],
)
def test_a_signal_to_a_supervised_client_in_the_middle_of_a_command(
    project: Project, gate: Gate, number: signal.Signals, status: Status, reasons: str | None
) -> None:
    run = begin(project)
    command = project.cage.inside(*RUN, str(project.program), "-p", f"begin here {bash(gate.command)}")
    client = subprocess.Popen(
        command, cwd=project.directory, env=project.env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, text=True
    )
    project.started.append(client)
    gate.wait()
    held = supervisor(client.pid)
    beneath = [found.pid for found in held.children() if "claude" in found.name()]
    held.send_signal(number)
    client.wait(PATIENCE)
    until(lambda: not any(map(is_there, beneath)), "the client is gone")
    gate.open()
    project.wait_until_quiet()
    project.holdfast("status")
    (found,) = project.runs()
    assert (found.status, reason(project, run)) == (status, reasons)


def test_ctrl_c_that_ends_a_supervised_client_pauses(project: Project) -> None:
    begin(project)
    with project._terminal(*RUN, str(project.program), begins="startup") as claude:
        claude.type("begin here @@say begun")
        project.witness.wait_for("Stop")
        claude.wait_until_idle()
        claude.press("\x03")
        claude.wait_for("Press Ctrl-C again to exit")
        claude.press("\x03")
        assert claude.finish() == 0
    (found,) = project.runs()
    assert found.status is Status.PAUSED


def test_a_supervised_conversation_goes_over_to_another_run(project: Project) -> None:
    first = begin(project)
    with project._terminal(*RUN, str(project.program), begins="startup") as claude:
        claude.type("begin here @@say begun")
        claude.wait_until_idle()
        shown = len(claude.screen)
        claude.type("*new payment-gateway")
        claude.wait_for("GO TEAM SESSION STARTED", shown)
        clear(claude)
        claude.type("chapter one @@say written")
        project.witness.wait_for("Stop", 2)
        claude.wait_until_idle()
        claude.type("/exit")
        assert claude.finish() == 0
    after, before = project.runs()
    assert [prompt.text.split(" @@")[0] for prompt in after.prompts] == ["chapter one"]
    assert (after.goal, after.status) == ("payment-gateway", Status.ACTIVE)
    assert (before.id, before.status) == (first, Status.PAUSED)
    assert [found.is_open for found in project.sessions()] == [False, False]
