"""Two real clients and one session of the orchestrator: the second is told who has it, and may take it over."""

from __future__ import annotations

import json
import re
from typing import Any

from holdfast.layouts.orchestrator import SESSION
from tests.agents.conftest import Project


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
