"""A project that has a session file of the orchestrator and no store yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.model import Status
from holdfast.workspace import Workspace
from tests.conftest import TickingClock
from tests.operations.orchestras import agree, archived, put_session, session_of
from tests.operations.people import run_of
from tests.orchestrator_files import schema_1_0

OLD = schema_1_0()["session_id"]


@pytest.fixture
def fresh(repository: Path, clock: TickingClock) -> Iterator[Workspace]:
    """A workspace without a store, beside the file of the document's example."""
    with holdfast.open(repository, clock=clock) as workspace:
        put_session(workspace, schema_1_0())
        yield workspace
        assert holdfast.verify(workspace).problems == []


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
