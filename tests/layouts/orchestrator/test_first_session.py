"""A project that has a session file of the orchestrator and no store yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Status
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.orchestrator_files import schema_1_0
from tests.orchestrator_project import agree, archived, put_session, session_of, session_path
from tests.sessions import run_of
from tests.tools import Command

OLD = schema_1_0()["session_id"]


@pytest.fixture
def fresh(repository: Path, clock: TickingClock) -> Iterator[Workspace]:
    """A workspace without a store, beside the file of the document's example."""
    with holdfast.open(repository, clock=clock) as workspace:
        put_session(workspace, schema_1_0())
        yield workspace
        assert not workspace.exists or holdfast.verify(workspace).problems == []


@pytest.mark.defect("the first `start` beside an orchestrator's session file archived the new session, not the old one")
def test_the_first_start_archives_the_session_of_the_file_and_not_the_new_one(fresh: Workspace) -> None:
    started = holdfast.start(fresh, "Second goal", layout="orchestrator")
    assert started.archived == [OLD]
    assert list(archived(fresh)) == [f"{OLD}.json"]
    assert archived(fresh)[f"{OLD}.json"]["status"] == "in_progress"
    holdfast.start_agent(fresh, "code", "the new work")
    assert session_of(fresh)["session_id"] == started.run.id
    assert [worker.task for worker in agree(fresh).workers] == ["the new work"]


@pytest.mark.defect("the first native `start` beside an orchestrator's session file left the file's session current")
def test_the_first_native_start_pauses_the_session_of_the_file_and_is_what_commands_mean(fresh: Workspace) -> None:
    started = holdfast.start(fresh, "Second goal")
    assert started.paused == [OLD]
    assert [run.id for run in started.resumable] == [OLD]
    holdfast.decide(fresh, "made in the new run")
    assert run_of(fresh).id == started.run.id
    assert [made.text for made in run_of(fresh).decisions] == ["made in the new run"]
    assert (run_of(fresh, OLD).status, session_of(fresh)["status"]) == (Status.PAUSED, "paused")


@pytest.mark.parametrize("layout", ["native", "orchestrator"])
def test_the_first_start_does_the_same_as_one_after_init(fresh: Workspace, layout: str) -> None:
    holdfast.init(fresh)
    after = holdfast.start(fresh, "Second goal", layout=layout)
    assert (after.archived, after.paused) == (([OLD], []) if layout == "orchestrator" else ([], [OLD]))


def test_the_first_checkpoint_belongs_to_the_session_of_the_file(fresh: Workspace) -> None:
    assert holdfast.checkpoint(fresh).checkpoint.run == OLD


def test_the_first_supervised_command_works_on_the_session_of_the_file(fresh: Workspace) -> None:
    assert holdfast.run(fresh, ["true"]).run == OLD


@pytest.mark.defect("`continue` beside a session file and without a store offered nothing but to make a store")
def test_continue_without_a_store_goes_on_with_the_session_of_the_file(fresh: Workspace) -> None:
    told = Command.run("continue", directory=fresh.root).ok()
    assert f"**Session ID**: {OLD}" in told.out
    assert "**Resuming from code-1...**" in told.out
    assert run_of(fresh).id == OLD


def test_a_damaged_file_without_a_store_is_recovered_as_with_one(fresh: Workspace) -> None:
    put_session(fresh, b'{"session_id": "x", "goal": "Torn", ')
    told = Command.run("continue", directory=fresh.root)
    assert (told.code, "**Start fresh**" in told.out, "Last good copy" in told.out) == (1, True, False)
    assert "**Goal**: Torn" in Command.run("continue", "--choose", "manual", directory=fresh.root).ok().out


@pytest.mark.parametrize("has_store", [False, True])
@pytest.mark.defect("`continue` without any session named a missing store or run instead of saying so")
def test_with_nothing_to_go_on_with_there_is_no_session_to_resume(repository: Path, has_store: bool) -> None:
    if has_store:
        Command.run("init", "--agent", "none", directory=repository).ok()
    told = Command.run("continue", directory=repository)
    assert (told.code, told.err.splitlines()[0]) == (10, "holdfast: No session to resume")
    assert (repository / ".git" / "holdfast").exists() == has_store


@pytest.mark.parametrize("has_store", [False, True])
@pytest.mark.defect("`continue` beside a session file of another major version did not say so")
def test_continue_names_another_version_and_leaves_the_file_alone(fresh: Workspace, has_store: bool) -> None:
    data = put_session(fresh, {**schema_1_0(), "schema_version": "2.0"})
    if has_store:
        holdfast.init(fresh)
    told = Command.run("continue", directory=fresh.root)
    assert told.code == 1
    assert "The session file is of another version and is left alone" in told.err
    assert "schema_version 2.0 is not 1.0" in told.err
    assert (session_path(fresh).read_bytes(), fresh.exists) == (data, has_store)


@pytest.mark.defect("A `start` beside a session file of another version claimed to have archived a run that it had not")
def test_beside_a_file_of_another_version_nothing_is_said_to_be_archived(fresh: Workspace) -> None:
    put_session(fresh, {**schema_1_0(), "schema_version": "2.0"})
    first = holdfast.start(fresh, "First", layout="orchestrator").run
    second = holdfast.start(fresh, "Second", layout="orchestrator")
    assert (second.archived, second.paused, [run.id for run in second.resumable]) == ([], [], [first.id])
    holdfast.resume(fresh, first.id)
    third = holdfast.start(fresh, "Third", layout="orchestrator")
    assert (third.archived, third.paused) == ([], [first.id])
    assert run_of(fresh, first.id).status is Status.PAUSED
    assert archived(fresh) == {}
    session_path(fresh).unlink()
    holdfast.status(fresh)
    assert session_of(fresh)["session_id"] == third.run.id
    assert sorted(archived(fresh)) == sorted([f"{first.id}.json", f"{second.run.id}.json"])
