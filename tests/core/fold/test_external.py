"""A run that another system owns: its file says what it is, and we only know better whether somebody is at work."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from holdfast.core.errors import Refused
from holdfast.core.fold import run as fold
from holdfast.core.fold.external import REMEMBERED, refuse_owned, said
from holdfast.core.model import Event, Run, Status

START = datetime(2026, 1, 7, 16, 0, tzinfo=UTC)


def folded(*events: tuple[str, dict[str, Any]]) -> Run:
    first = ("run.started", {"goal": "a goal", "layout": "faber"})
    numbered = enumerate((first, *events), 1)
    return fold.fold(
        "run-x",
        [
            Event("run-x", seq, f"{seq:032x}", kind, START + timedelta(seconds=seq), "ses-1", None, body)
            for seq, (kind, body) in numbered
        ],
    )


def told(status: str | None = "active", digest: str = "a", **more: Any) -> tuple[str, dict[str, Any]]:
    return "owner.told", {"path": "state.json", "status": status, "word": status, "digest": digest, **more}


@pytest.mark.parametrize("status", list(Status))
def test_the_owner_gives_the_status(status: Status) -> None:
    assert folded(told(status)).status is status


@pytest.mark.parametrize(
    ("kind", "after"),
    [
        ("run.paused", Status.ACTIVE),
        ("run.completed", Status.ACTIVE),
        ("run.failed", Status.ACTIVE),
        ("run.aborted", Status.ACTIVE),
        ("run.abandoned", Status.ABANDONED),
        ("run.interrupted", Status.INTERRUPTED),
    ],
)
def test_of_what_we_say_only_giving_up_and_dying_count(kind: str, after: Status) -> None:
    assert folded(told("active"), (kind, {})).status is after


@pytest.mark.parametrize("owner", ["active", "paused"])
def test_somebody_who_works_again_ends_an_interruption_as_the_owner_says(owner: str) -> None:
    run = folded(told("active"), ("run.interrupted", {}), told(owner, "b"), ("session.opened", {}))
    assert run.status == owner


def test_an_owner_who_only_repeats_himself_does_not_undo_what_we_know_better() -> None:
    assert folded(told("active"), ("run.interrupted", {}), told("active", "b")).status is Status.INTERRUPTED


def test_work_in_a_paused_run_does_not_make_it_active_again() -> None:
    assert folded(told("paused"), ("session.opened", {}), ("note.added", {"text": "x"})).status is Status.PAUSED


def test_phases_are_the_steps_of_the_run() -> None:
    phases = [["frame", "completed"], ["build", "in_progress"], ["evaluate", "failed"], ["release", "odd"]]
    assert [(step.name, step.status) for step in folded(told(phases=phases)).steps] == [
        ("frame", "completed"),
        ("build", "active"),
        ("evaluate", "failed"),
        ("release", "pending"),
    ]


def owned(*events: tuple[str, dict[str, Any]]) -> Any:
    found = folded(*events).owned
    assert found is not None
    return found


def test_records_that_a_file_held_and_lacks_now_are_lost_until_they_are_there_again() -> None:
    before = told(digest="a", sessions=["one", "two"])
    turned = told(digest="b", sessions=["one"])
    assert owned(before).lost == []
    assert owned(before, turned).lost == ["two"]
    assert owned(before, turned, told(digest="c", sessions=["one"])).lost == ["two"]
    assert owned(before, turned, told(digest="d", sessions=["one", "two"])).lost == []


def test_a_file_that_is_taken_as_it_is_has_lost_nothing() -> None:
    assert owned(told(sessions=["one"]), told(digest="b", sessions=[], accepted=True)).lost == []


def test_a_file_that_is_as_it_was_before_is_known_again() -> None:
    versions = [told(digest=name) for name in "abc"]
    assert not owned(*versions).is_older
    assert owned(*versions, told(digest="a")).is_older
    assert not owned(*versions, told(digest="a"), told(digest="d")).is_older


def test_only_the_last_versions_are_remembered() -> None:
    many = [told(digest=f"{number}") for number in range(REMEMBERED + 10)]
    assert len(owned(*many).earlier) == REMEMBERED


def test_what_a_run_went_back_to_does_not_change_what_its_owner_says() -> None:
    phases = [["build", "completed"]]
    run = folded(told("active"), told("completed", "b", phases=phases), ("run.returned", {"to": 2}))
    assert run.owned is not None
    assert (run.status, run.owned.digest, run.steps[0].status) == (Status.COMPLETED, "b", "completed")


def test_what_the_owner_says_is_told_in_one_line() -> None:
    assert (
        said(owned(told("active", phase="build", step="implement"))) == "FABER says active, phase build, step implement"
    )
    assert said(owned(told(None))) == "FABER says no status"


def test_what_is_not_ours_to_decide_is_refused_with_the_way_out() -> None:
    with pytest.raises(Refused) as refused:
        refuse_owned(folded(told("active")), "it cannot be told to pause here")
    assert "FABER's" in refused.value.message
    assert any("/fractary-faber:" in hint for hint in refused.value.hints)
