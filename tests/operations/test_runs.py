"""Looking: lists of runs with filters, search and pages; one run; its events; a run as it was."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import holdfast
from holdfast.core import ids
from holdfast.core.errors import NotFound, WrongUsage
from holdfast.core.fold import run as fold
from holdfast.core.model import Draft, Run, Status
from holdfast.journal import journal
from holdfast.operations.show import RunShown
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import events_of, run_of, stored_events


def goals(runs: list[Run]) -> list[str]:
    return [run.goal for run in runs]


@pytest.fixture
def three(project: Workspace) -> Workspace:
    """Three runs: one completed with a tag, one paused, one active on which a robot works."""
    holdfast.start(project, "alpha retries")
    holdfast.tag(project, ("urgent",))
    holdfast.complete(project)
    holdfast.start(project, "beta")
    holdfast.decide(project, "retry with backoff", because="load")
    holdfast.start(project, "gamma")
    holdfast.join(project, agent="robot")
    return project


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["gamma", "beta", "alpha retries"]),
    ({"status": ("completed",)}, ["alpha retries"]),
    ({"status": ("open",)}, ["gamma", "beta"]),
    ({"status": ("paused", "completed")}, ["beta", "alpha retries"]),
    ({"layout": ("native",)}, ["gamma", "beta", "alpha retries"]),
    ({"layout": ("other",)}, []),
    ({"agent": "robot"}, ["gamma"]),
    ({"agent": "nobody"}, []),
    ({"tag": "urgent"}, ["alpha retries"]),
    ({"here": True, "limit": 1}, ["gamma"]),
    ({"search": "retr*"}, ["alpha retries", "beta"]),
    ({"search": "backoff"}, ["beta"]),
    ({"search": '"with backoff"'}, ["beta"]),
    ({"search": "load", "status": ("completed",)}, []),
    ({"search": "nothing like it"}, []),
]


def test_runs_are_filtered_newest_first_and_searched_best_first(three: Workspace) -> None:
    for filters, expected in FILTERS:
        assert goals(holdfast.runs(three, **filters).runs) == expected, filters


ODD_FILTERS: list[dict[str, Any]] = [
    {"agent": "\udcff"},
    {"tag": "\udcff"},
    {"layout": ("\udcff",)},
    {"search": "\udcff"},
    {"search": "nothing\udcff*"},
    {"search": "\0"},
    {"tag": "%"},
]


@pytest.mark.promise(19)
@pytest.mark.parametrize("filters", ODD_FILTERS, ids=repr)
def test_odd_filter_finds_nothing_and_breaks_nothing(three: Workspace, filters: dict[str, Any]) -> None:
    assert holdfast.runs(three, **filters).runs == []


def test_runs_are_found_by_the_time_they_were_worked_on(three: Workspace) -> None:
    beta = run_of(three, holdfast.runs(three, search="beta").runs[0].id)
    assert beta.updated is not None
    assert goals(holdfast.runs(three, since=beta.updated).runs) == ["gamma", "beta"]
    assert goals(holdfast.runs(three, until=beta.updated).runs) == ["alpha retries"]
    assert goals(holdfast.runs(three, since=beta.updated, until=beta.updated + timedelta(seconds=1)).runs) == ["beta"]


def test_everything_people_would_look_for_finds_a_run(project: Workspace) -> None:
    holdfast.start(project, "goalword")
    holdfast.rename(project, "nameword")
    holdfast.note(project, "noteword")
    holdfast.decide(project, "decisionword", because="reasonword")
    holdfast.add_task(project, "taskword")
    holdfast.finish_task(project, "1", outcome="outcomeword", files=("taskfile.py",))
    holdfast.prompt(project, "promptword")
    holdfast.action(project, "actionword", files=("src/actionfile.py",))
    holdfast.tag(project, ("tagword",))
    kinds = ("goal", "name", "note", "decision", "reason", "task", "outcome", "prompt", "action", "tag")
    for word in [*(f"{kind}word" for kind in kinds), "taskfile.py", "actionfile", "src/actionfile.py"]:
        assert len(holdfast.runs(project, search=word).runs) == 1, word


def pages(project: Workspace, **filters: Any) -> Iterator[list[str]]:
    after = None
    while True:
        page = holdfast.runs(project, after=after, **filters)
        yield goals(page.runs)
        if page.next is None:
            return
        after = page.next


@pytest.mark.parametrize("filters", [{}, {"search": "goal"}, {"status": ("open",)}], ids=["all", "search", "open"])
def test_pages_hold_every_run_exactly_once_while_runs_are_started(project: Workspace, filters: dict[str, Any]) -> None:
    for number in range(9):
        holdfast.start(project, f"goal {number}")
        holdfast.complete(project) if "status" not in filters else holdfast.pause(project)
    seen = []
    for number, page in enumerate(pages(project, limit=2, **filters)):
        seen += page
        holdfast.start(project, f"goal new {number}")
    assert seen == [f"goal {number}" for number in reversed(range(9))]


def test_page_is_as_long_as_the_setting_says(project: Workspace) -> None:
    for number in range(3):
        holdfast.start(project, f"goal {number}")
    holdfast.config_set(project, "list.limit", "2")
    with holdfast.open(project.root) as fresh:
        page = holdfast.runs(fresh)
    assert (len(page.runs), page.next is None) == (2, False)


KEYS = [
    "",
    ".",
    "1",
    "1.",
    ".1",
    "a.b",
    "1.2.3",
    "-1.2",
    "1" * 50 + ".1",
    "99999999999999999999.1",
    "1.99999999999999999999",
    "\udcff",
]


def is_refused(project: Workspace, key: str) -> bool:
    try:
        holdfast.runs(project, after=key)
    except WrongUsage:
        return True
    except Exception:
        return False
    return False


@pytest.mark.promise(19)
def test_key_of_a_page_that_nobody_gave_is_refused(project: Workspace) -> None:
    assert [key for key in KEYS if not is_refused(project, key)] == []


def test_unknown_status_is_refused_with_the_known_ones(project: Workspace) -> None:
    with pytest.raises(WrongUsage) as refused:
        holdfast.runs(project, status=("done",))
    assert "completed" in dict(refused.value.facts)["known"]


# one run


def test_run_is_shown_with_its_sessions(three: Workspace) -> None:
    shown = holdfast.show(three)
    assert isinstance(shown, RunShown)
    assert (shown.run.goal, [session.agent for session in shown.sessions], shown.at) == ("gamma", ["robot"], None)


def test_log_holds_all_events_or_some_of_them(project: Workspace) -> None:
    holdfast.start(project, "goal")
    for number in range(4):
        holdfast.note(project, f"note {number}")
    assert [event.seq for event in holdfast.log(project).events] == [1, 2, 3, 4, 5]
    assert [event.seq for event in holdfast.log(project, newest=2).events] == [4, 5]
    assert [event.seq for event in holdfast.log(project, after=3).events] == [4, 5]
    assert [event.seq for event in holdfast.log(project, after=9).events] == []
    first = holdfast.log(project).events[0]
    assert (first.kind, first.body["goal"]) == ("run.started", "goal")


def test_times_are_those_of_the_clock(project: Workspace, clock: TickingClock) -> None:
    before = clock.time
    holdfast.start(project, "goal")
    holdfast.note(project, "text")
    times = [event.time for event in events_of(project)]
    assert before < times[0] < times[1] <= clock.time


# a run as it was

TEXTS = st.sampled_from(["a", "b", "with spaces", "ünï"])
ENTRIES = st.sampled_from(["d1", "d2", "n1", "n2", "t1", "t2", "x"])
DRAFTS = st.one_of(
    TEXTS.map(lambda text: Draft("note.added", {"text": text})),
    TEXTS.map(lambda text: Draft("decision.made", {"decision": text, "because": text})),
    TEXTS.map(lambda text: Draft("task.added", {"text": text})),
    ENTRIES.map(lambda entry: Draft("task.done", {"entry": entry, "files": [entry]})),
    ENTRIES.map(lambda entry: Draft("decision.revoked", {"entry": entry})),
    ENTRIES.map(lambda entry: Draft("entry.pinned", {"entry": entry})),
    st.integers(1, 12).map(lambda back: Draft(fold.FORGOTTEN, {"seq": -back})),
    TEXTS.map(lambda text: Draft("prompt.given", {"text": text})),
    TEXTS.map(lambda text: Draft("action.taken", {"text": text, "files": [text]})),
    TEXTS.map(lambda text: Draft("run.tagged", {"added": [text], "removed": []})),
    st.sampled_from(sorted(fold.MOVES)).map(Draft),
    st.just(Draft("some.thing", {"nobody": "knows"})),
)


def as_verbs_would(drafts: list[Draft]) -> Iterator[Draft]:
    """Only what was told and has happened can be forgotten; the draft says how many such events ago it was."""
    told: list[int] = []
    for seq, draft in enumerate(drafts, 2):
        if draft.kind != fold.FORGOTTEN:
            told += [] if draft.kind.startswith("run.") else [seq]
            yield draft
        elif told:
            yield Draft(fold.FORGOTTEN, {"seq": told[draft.body["seq"] % len(told)]})
        else:
            yield Draft("some.thing")


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drafts=st.lists(DRAFTS, min_size=1, max_size=14))
def test_run_at_an_event_is_what_the_events_up_to_it_add_up_to(
    project: Workspace, monkeypatch: pytest.MonkeyPatch, drafts: list[Draft]
) -> None:
    monkeypatch.setattr(journal, "MILESTONE", 5)
    run = holdfast.start(project, "goal").run.id
    with project.writing() as writing:
        for draft in as_verbs_would(drafts):
            writing.append(run, draft)
    events = stored_events(project, run)
    assert len(events) == len(drafts) + 1
    forgotten = [event.body["seq"] for event in events if event.kind == fold.FORGOTTEN]
    for seq in range(1, len(events) + 1):
        shown = holdfast.show(project, run, at=str(seq))
        assert isinstance(shown, RunShown)
        assert shown.run == fold.fold(run, events[:seq], forgotten)
    assert run_of(project, run) == fold.fold(run, events)


def test_what_was_forgotten_is_not_known_at_any_earlier_event_either(project: Workspace) -> None:
    holdfast.start(project, "goal")
    note = holdfast.note(project, "text")
    holdfast.forget(project, str(note.seq))
    shown = [holdfast.show(project, at=f"#{seq}").run for seq in (2, 3)]
    assert [len(run.notes) for run in shown] == [0, 0]


def test_status_of_a_run_is_that_of_its_time(project: Workspace) -> None:
    holdfast.start(project, "goal")
    holdfast.note(project, "text")
    holdfast.pause(project)
    holdfast.complete(project)
    statuses = [holdfast.show(project, at=str(seq)).run.status for seq in range(1, 5)]
    assert statuses == [Status.CREATED, Status.ACTIVE, Status.PAUSED, Status.COMPLETED]


def test_event_that_is_not_there_is_refused(project: Workspace) -> None:
    holdfast.start(project, "goal")
    for at, error in (("0", NotFound), ("2", NotFound), ("x", WrongUsage), ("", WrongUsage), ("9" * 30, WrongUsage)):
        with pytest.raises(error):
            holdfast.show(project, at=at)


def test_run_that_is_not_there_is_not_shown(project: Workspace) -> None:
    for name in (ids.make("run"), "%", "\udcff"):
        with pytest.raises(NotFound):
            holdfast.show(project, name)
    with pytest.raises(NotFound):
        holdfast.show(project)
