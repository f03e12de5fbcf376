"""Two real clients and one session of the orchestrator: the second is told who has it, and may take it over."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import pytest

from holdfast.layouts.orchestrator import SESSION
from tests.agents.conftest import Project
from tests.agents.test_claude import bash


def said(project: Project) -> dict[str, Any]:
    """What the session file says, whenever it was written."""
    found: dict[str, Any] = json.loads((project.directory / SESSION).read_bytes())
    return {**found, "updated": None}


def test_a_second_client_is_told_who_has_the_session_and_once_it_takes_over_the_first_writes_no_more(
    project: Project,
) -> None:
    run = project.holdfast("start", "begin here", "--layout", "orchestrator").out.strip()
    with project.interactive() as first:
        first.type("do it @@say begun")
        project.witness.wait_for("Stop")
        (session,) = project.sessions()
        assert session.process is not None
        told = project.claude("something else @@say done").turns[0].text
        assert re.search(rf"{run} .*; process {session.process.pid} on \S+ since .* works on it", told)
        project.holdfast("join", run, "--take-over")
        before = said(project)
        first.type("and more @@say gone on")
        project.witness.wait_for("Stop", 3)
        late = [event for event in project.log(run) if event.kind == "call.late"]
        assert late
        assert said(project) == before
    taken = next(found for found in project.sessions() if found.id == session.id)
    assert (taken.how, taken.fenced) == ("taken_over", True)


@pytest.mark.parametrize("layout", ["native", "orchestrator", "go-team"])
@pytest.mark.defect("no verb knew the session of the client that had started it, and took it for another one")
def test_the_client_that_holds_a_run_is_not_refused_its_own_run(project: Project, layout: str) -> None:
    run = project.holdfast("start", "begin here", "--layout", layout).out.strip()
    choice = "--from live" if layout == "go-team" else "--yes"
    project.claude(
        "go on " + bash(f"{sys.executable} -m holdfast resume {choice} > told.txt 2>&1; echo $? >> told.txt")
    )
    told = (project.directory / "told.txt").read_text()
    assert told.splitlines()[-1] == "0", told
    assert run in told
    assert "Another session" not in told
    assert "works on it" not in told
    assert {session.run for session in project.sessions()} == {run}
