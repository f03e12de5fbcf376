"""Taking back a mistaken end: the run is open again as it was before, in the journal and in the files of its system."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.errors import NotFound
from holdfast.core.model import Status
from holdfast.layouts.orchestrator import HISTORY
from holdfast.operations.lifecycle import Settled
from holdfast.project.workspace import Workspace
from tests.orchestrator_project import agree, archived, edit, orchestrate, session_of, session_path
from tests.sessions import a_process, kill, run_of
from tests.tools import Command

ENDINGS: list[Callable[..., Settled]] = [holdfast.complete, holdfast.fail, holdfast.abort, holdfast.abandon]


def interrupted(project: Workspace, run: str) -> None:
    with a_process() as child:
        holdfast.join(project, run, pid=child.pid)
        kill(child)
    holdfast.sweep(project)


@pytest.mark.defect("A mistaken `complete`, `fail` or `abort` could not be taken back.")
@pytest.mark.parametrize("end", ENDINGS)
def test_an_end_that_was_a_mistake_is_taken_back(project: Workspace, end: Callable[..., Settled]) -> None:
    run = holdfast.start(project, "Fix it").run.id
    holdfast.note(project, "begun")
    end(project)
    found = holdfast.reopen(project, reason="not yet")
    assert (found.run.id, found.run.status, found.run.status_reason, found.changed) == (run, "active", "not yet", True)
    holdfast.note(project, "and on")
    assert (run_of(project).id, len(run_of(project).notes)) == (run, 2)


def test_it_has_the_status_again_that_it_had_before_its_end(project: Workspace) -> None:
    for status in (Status.CREATED, Status.PAUSED, Status.INTERRUPTED):
        run = holdfast.start(project, f"It is {status}").run.id
        if status is Status.PAUSED:
            holdfast.pause(project, run, reason="lunch")
        elif status is Status.INTERRUPTED:
            interrupted(project, run)
        before = run_of(project, run)
        holdfast.complete(project, run)
        after = holdfast.reopen(project, run).run
        assert (before.status, after.status) == (status, status)
        assert (after.status_reason, after.evidence) == (before.status_reason, before.evidence)


@pytest.mark.defect("A failed run of the orchestrator that had not begun was active after `reopen`.")
@pytest.mark.parametrize("layout", ["native", "orchestrator", "go-team"])
@pytest.mark.parametrize("end", [holdfast.fail, holdfast.abort, holdfast.abandon])
def test_a_run_that_had_not_begun_has_not_begun_after_it_is_reopened(
    project: Workspace, end: Callable[..., Settled], layout: str
) -> None:
    before = holdfast.start(project, "Fix it", layout=layout).run
    end(project, reason="by mistake")
    assert holdfast.reopen(project).run.status is before.status
    if layout == "orchestrator":
        assert session_of(project)["status"] == "created"


def test_a_failed_session_of_the_orchestrator_has_its_error_once(project: Workspace) -> None:
    run = orchestrate(project)
    holdfast.fail(project, reason="the API is gone")
    holdfast.fail(project, reason="the API is gone")
    failed = run_of(project, run.id)
    assert (failed.status, [met.text for met in failed.errors]) == (Status.FAILED, ["the API is gone"])
    assert [met["error"] for met in archived(project)[f"{run.id}.json"]["errors"]] == ["the API is gone"]


def test_sessions_that_the_end_has_ended_stay_so(project: Workspace) -> None:
    run = holdfast.start(project, "Fix it").run.id
    with a_process() as child:
        holdfast.join(project, run, pid=child.pid)
        holdfast.complete(project, run)
        assert holdfast.reopen(project, run).run.open_sessions == []
        kill(child)


def test_reopening_twice_opens_no_other_run(project: Workspace) -> None:
    first = holdfast.start(project, "first").run.id
    holdfast.complete(project)
    second = holdfast.start(project, "second").run.id
    holdfast.complete(project)
    assert holdfast.reopen(project).run.id == second
    again = holdfast.reopen(project)
    assert (again.run.id, again.changed) == (second, False)
    assert run_of(project, first).status is Status.COMPLETED


def test_a_run_that_is_named_is_open_again_beside_the_current_one(project: Workspace) -> None:
    first = holdfast.start(project, "first").run.id
    holdfast.complete(project)
    second = holdfast.start(project, "second").run.id
    assert holdfast.reopen(project, first).run.status.is_open
    assert run_of(project).id == second
    assert any(f"`holdfast switch {first}`" in told for told in project.warnings)
    assert holdfast.switch(project, first).run.id == first


def test_without_a_run_there_is_nothing_to_reopen(project: Workspace) -> None:
    with pytest.raises(NotFound):
        holdfast.reopen(project)


def test_a_refusal_because_of_an_end_names_the_way_to_take_it_back(project: Workspace) -> None:
    run = holdfast.start(project, "Fix it").run.id
    holdfast.complete(project)
    assert "`holdfast reopen --run RUN`" in Command.run("resume", run, directory=project.root).err
    assert Command.run("reopen", "--run", run, directory=project.root).ok().err == f"{run} is created: Fix it\n"


@pytest.mark.parametrize("end", ENDINGS)
def test_the_file_of_the_orchestrator_shows_a_reopened_session(project: Workspace, end: Callable[..., Settled]) -> None:
    run = orchestrate(project).id
    holdfast.resume(project, run)
    edit(project, theirs={"kept": True})
    holdfast.status(project)
    end(project)
    assert (session_path(project).exists(), list(archived(project))) == (False, [f"{run}.json"])
    holdfast.reopen(project)
    file = session_of(project)
    assert (file["session_id"], file["status"], file["theirs"]) == (run, "in_progress", {"kept": True})
    assert archived(project) == {}
    holdfast.status(project)
    assert agree(project, run).status is Status.ACTIVE


def test_a_session_reopened_after_another_one_keeps_what_its_file_held_beside(project: Workspace) -> None:
    first = orchestrate(project, "first").id
    edit(project, theirs={"kept": True})
    holdfast.abort(project)
    second = orchestrate(project, "second").id
    holdfast.abort(project)
    holdfast.reopen(project, first)
    assert (session_of(project)["session_id"], session_of(project)["theirs"]) == (first, {"kept": True})
    assert list(archived(project)) == [f"{second}.json"]


def test_a_session_reopened_beside_another_one_stands_in_the_history_with_its_status(project: Workspace) -> None:
    first = orchestrate(project, "first").id
    holdfast.resume(project, first)
    holdfast.complete(project)
    second = orchestrate(project, "second").id
    holdfast.reopen(project, first)
    assert session_of(project)["session_id"] == second
    assert archived(project)[f"{first}.json"]["status"] == "in_progress"
    assert run_of(project, first).archived == f"{HISTORY}/{first}.json"


def team_file(project: Workspace, *parts: str) -> Any:
    return json.loads(Path(project.root, "checkpoints", *parts).read_bytes())


@pytest.mark.parametrize("end", ENDINGS)
def test_the_files_of_the_go_team_show_a_reopened_session(project: Workspace, end: Callable[..., Settled]) -> None:
    run = holdfast.start(project, "Fix it", layout="go-team").run.id
    holdfast.action(project, "wrote main.go")
    before = team_file(project, "sessions.json")["sessions"][0]["status"]
    end(project)
    assert team_file(project, "sessions.json")["sessions"][0]["status"] != before
    holdfast.reopen(project)
    assert team_file(project, "sessions.json")["sessions"][0]["status"] == before
    holdfast.status(project)
    assert (run_of(project, run).status, project.warnings) == (Status.ACTIVE, [])


def test_an_interrupted_session_of_the_go_team_has_its_recovery_data_again(project: Workspace) -> None:
    run = holdfast.start(project, "Fix it", layout="go-team").run.id
    holdfast.action(project, "wrote main.go")
    interrupted(project, run)
    holdfast.abort(project, run)
    recovery = project.root / "checkpoints" / run / "recovery.json"
    assert not recovery.exists()
    assert holdfast.reopen(project, run).run.status is Status.INTERRUPTED
    assert recovery.exists()


def test_a_session_of_the_go_team_that_was_cleaned_up_has_files_again(project: Workspace) -> None:
    run = holdfast.start(project, "Fix it", layout="go-team").run.id
    holdfast.complete(project)
    holdfast.start(project, "another", layout="go-team")
    holdfast.cleanup(project, days=0, keep=0)
    assert not (project.root / "checkpoints" / run / "state.json").exists()
    holdfast.reopen(project, run)
    assert (project.root / "checkpoints" / run / "state.json").exists()
