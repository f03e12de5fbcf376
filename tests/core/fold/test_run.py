"""What events add up to, kind by kind."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from holdfast.core import event_text
from holdfast.core.fold import activity, run as fold
from holdfast.core.lifecycle import Move
from holdfast.core.model import (
    Environment,
    Event,
    Kept,
    Mishap,
    Process,
    Rollback,
    Run,
    Session,
    Standing,
    Status,
    Step,
    Underway,
    Worker,
)
from tests.strategies import numbered
from tests.tools import NOON, a_session, an_event

RUN = "run-0000000000"
STARTED = ("run.started", {"goal": "a goal", "layout": "native", "worktree": "/project"}, None)
NOTED = ("note.added", {"entry": "n1", "text": "a note"}, None)
DECIDED = ("decision.made", {"entry": "d1", "decision": "one", "because": "a reason"}, None)
TASK = ("task.added", {"entry": "t1", "text": "a task"}, None)

Told = tuple[str, dict[str, Any], str | None]


def at(number: int) -> datetime:
    return NOON + timedelta(seconds=number)


def folded(*told: Told) -> Run:
    return fold.fold(RUN, numbered(list(told)))


def told(kind: str, **body: Any) -> Told:
    return kind, body, None


# kind -> what it makes of a run that has been started: the fields, and their values
FIELDS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("run.renamed", {"name": "Retries"}, {"name": "Retries", "title": "Retries"}),
    ("run.renamed", {"name": ""}, {"name": None, "title": "a goal"}),
    ("run.chosen", {}, {"unasked": False}),
    ("run.moved", {"worktree": "/elsewhere"}, {"worktree": "/elsewhere"}),
    ("run.moved", {"directory": "/there"}, {"worktree": "/project", "directory": "/there"}),
    ("run.moved", {}, {"worktree": "/project"}),
    ("run.tagged", {"added": ["a", "b"], "removed": []}, {"tags": ["a", "b"]}),
    ("run.tagged", {"added": ["a", "a"]}, {"tags": ["a"]}),
    ("run.resumed", {}, {"status": Status.ACTIVE, "status_since": at(2)}),
    ("run.paused", {"reason": "lunch"}, {"status": Status.PAUSED, "status_reason": "lunch"}),
    ("run.interrupted", {"evidence": "gone"}, {"status": Status.INTERRUPTED, "evidence": "gone"}),
    ("run.completed", {}, {"status": Status.COMPLETED, "status_reason": None}),
    ("run.failed", {"reason": "no way"}, {"status": Status.FAILED, "status_reason": "no way"}),
    ("run.aborted", {}, {"status": Status.ABORTED}),
    ("run.abandoned", {}, {"status": Status.ABANDONED}),
    ("run.reopened", {"status": "paused"}, {"status": Status.CREATED}),
    ("session.opened", {"epoch": 3}, {"status": Status.ACTIVE, "sessions": 1, "epoch": 3, "open_sessions": ["ses-1"]}),
    ("session.ended", {"how": "ended"}, {"status": Status.CREATED, "open_sessions": []}),
    ("note.added", {"text": "x"}, {"status": Status.ACTIVE, "entries": {"n": 1}}),
    ("decision.made", {"decision": "x"}, {"status": Status.ACTIVE, "entries": {"d": 1}}),
    ("decision.revoked", {"entry": "d1"}, {"status": Status.CREATED, "decisions": []}),
    ("task.added", {"text": "x"}, {"status": Status.ACTIVE, "entries": {"t": 1}}),
    ("task.done", {"entry": "t9", "files": ["a.py"]}, {"status": Status.CREATED, "files": {"a.py": at(2)}}),
    ("entry.pinned", {"entry": "d1"}, {"pinnable": {}}),
    ("entry.unpinned", {"entry": "d1"}, {"pinnable": {}}),
    ("event.forgotten", {"seq": 9}, {"forgotten": [9], "status": Status.CREATED}),
    ("prompt.given", {"text": "do it"}, {"status": Status.ACTIVE}),
    ("action.taken", {"text": "did it", "files": ["b.py"]}, {"status": Status.ACTIVE, "files": {"b.py": at(2)}}),
    (
        "action.begun",
        {"text": "do", "key": "k"},
        {"status": Status.ACTIVE, "doing": {"k": Underway("do", at(2), "ses-1")}},
    ),
    ("action.begun", {"text": "do"}, {"status": Status.ACTIVE, "doing": {}}),
    ("turn.ended", {"text": "all done"}, {"status": Status.ACTIVE, "reply": "all done", "doing": {}}),
    ("text.said", {"text": "it is the cache"}, {"status": Status.ACTIVE, "reply": None, "talk": [2]}),
    ("error.met", {"text": "overloaded"}, {"errors": [Mishap("overloaded", at(2))]}),
    ("error.met", {"text": "red", "by": "code-1"}, {"errors": [Mishap("red", at(2), "code-1")]}),
    ("subagent.started", {"key": "a", "type": "explorer"}, {"subagents": {"a": "explorer"}}),
    ("subagent.ended", {"key": "a", "type": "explorer", "text": "found"}, {"subagents": {}}),
    ("subagent.told", {"text": "it finished"}, {"subagents": {}}),
    ("context.compacted", {"summary": "so far"}, {"summary": "so far", "compactions": 1, "compacted": at(2)}),
    ("context.compacting", {"trigger": "auto"}, {"compactions": 0, "compacted": at(2)}),
    ("task.dropped", {"entry": "t9"}, {"status": Status.CREATED, "tasks": []}),
    ("goal.changed", {"goal": "another"}, {"status": Status.CREATED, "goal": "another"}),
    ("goal.changed", {"goal": ""}, {"goal": "a goal"}),
    ("mode.chosen", {"mode": "debug"}, {"status": Status.CREATED, "mode": "debug"}),
    ("run.archived", {"path": "history/a.json"}, {"status": Status.CREATED, "archived": "history/a.json"}),
    ("run.archived", {"path": None}, {"archived": None}),
    (
        "agent.started",
        {"entry": "code-1", "type": "code", "task": "x"},
        {"status": Status.ACTIVE, "workers": [Worker("code-1", "code", "x", started=at(2))]},
    ),
    ("agent.started", {"entry": ["code-1"]}, {"workers": []}),
    (
        "agent.progressed",
        {"entry": "code-1", "progress": 60},
        {"workers": [Worker("code-1", "code", started=at(2), progress=60)]},
    ),
    (
        "agent.completed",
        {"entry": "code-1", "result": "green", "tokens": 5},
        {"workers": [Worker("code-1", "code", "", "complete", at(2), at(2), result="green", tokens=5)]},
    ),
    (
        "agent.failed",
        {"entry": "code-1", "error": "red"},
        {
            "workers": [Worker("code-1", "code", "", "failed", at(2), at(2), error="red")],
            "errors": [Mishap("red", at(2), "code-1")],
        },
    ),
    (
        "context.measured",
        {"tokens": 5, "window": 9},
        {"status": Status.CREATED, "context_tokens": 5, "context_window": 9},
    ),
    ("context.measured", {"tokens": -1, "window": 9}, {"context_tokens": None, "context_window": None}),
    (
        "owner.told",
        {"path": "state.json", "digest": "d", "status": "paused", "word": "awaiting_feedback", "goal": "theirs"},
        {"status": Status.PAUSED, "status_since": at(2), "goal": "theirs", "steps": []},
    ),
    (
        "owner.told",
        {"status": "no such", "phases": [["a", "completed"], 7]},
        {"status": Status.CREATED, "steps": [Step("a", "completed", planned=True)]},
    ),
    ("step.planned", {"steps": ["a", 7]}, {"status": Status.ACTIVE, "steps": [Step("a", planned=True)]}),
    ("step.started", {"name": "a"}, {"status": Status.ACTIVE, "steps": [Step("a", "active", started=at(2))]}),
    ("step.completed", {"name": "a"}, {"status": Status.ACTIVE, "steps": [Step("a", "completed", ended=at(2))]}),
    ("step.failed", {"name": "a"}, {"status": Status.ACTIVE, "steps": [Step("a", "failed", ended=at(2))]}),
    ("step.failed", {"name": ["a"]}, {"status": Status.ACTIVE, "steps": []}),
    ("handoff.made", {"agent": "coder"}, {"standing": Standing(agent="coder", trigger="agent_switch")}),
    ("breakpoint.set", {"on": True}, {"standing": Standing(is_waiting=True, trigger="breakpoint")}),
    ("breakpoint.set", {"on": "yes"}, {"standing": Standing()}),
    ("output.given", {"key": "spec", "text": "x"}, {"standing": Standing(outputs={"spec": "x"})}),
    ("output.given", {"key": "files", "items": ["a", 7]}, {"standing": Standing(outputs={"files": ["a"]})}),
    ("output.given", {"key": "../x", "text": "x"}, {"standing": Standing()}),
    ("metric.given", {"key": "coverage", "value": 85}, {"standing": Standing(metrics={"coverage": 85})}),
    ("metric.given", {"key": "coverage", "value": [85]}, {"standing": Standing()}),
    ("loop.limited", {"iterations": 5}, {"standing": Standing(most_iterations=5)}),
    ("loop.limited", {"iterations": -5}, {"standing": Standing()}),
    ("loop.limited", {"turns": 2}, {"standing": Standing(iterations=2)}),
    ("step.judged", {"id": "cp-01-a", "valid": False}, {"standing": Standing()}),
    ("rollback.told", {"id": "r1", "reason": "x"}, {"standing": Standing(rollbacks=[Rollback("r1", at(2), "x")])}),
    ("rollback.told", {"id": 7}, {"standing": Standing()}),
    ("face.edited", {"file": "state.json", "fields": {"state.phase": "x"}}, {"status": Status.CREATED}),
    ("run.recovered", {"type": "live_state"}, {"standing": Standing(recovered="live_state")}),
    (
        "save.told",
        {"saved": "2026-01-01T12:00:00Z", "trigger": "auto"},
        {"standing": Standing(saved=NOON, trigger="auto"), "status": Status.CREATED},
    ),
    ("save.told", {"saved": 7, "trigger": "whim"}, {"standing": Standing()}),
    (
        "step.kept",
        {"id": "cp-01-a", "step": "a", "number": "01", "checkpoint": "cp-1", "seq": 1},
        {"standing": Standing(trigger="checkpoint", kept=[Kept("cp-01-a", "a", "01", at(2), "cp-1", 1)])},
    ),
    ("step.kept", {"id": 7}, {"standing": Standing()}),
    (
        "call.kept",
        {"agent": "robot", "event": "Did", "directory": "/x"},
        {"status": Status.ACTIVE, "calls": 1, "last_call": "robot Did"},
    ),
    ("call.late", {"agent": "robot", "event": "Did"}, {"status": Status.CREATED, "calls": 0, "last_call": None}),
    ("event.blank", {"text": "x"}, {"status": Status.CREATED, "notes": []}),
    ("event.lost", {"text": "x"}, {"status": Status.CREATED, "notes": []}),
    ("restore.began", {"restore": "nonsense"}, {"unfinished": None, "status": Status.CREATED}),
    ("restore.ended", {"restore": {}}, {"unfinished": None, "undoable": [], "redoable": []}),
    ("checkpoint.dropped", {"id": "cp-1"}, {"undoable": [], "redoable": []}),
    ("something.new", {"goal": "other"}, {"status": Status.CREATED, "goal": "a goal"}),
]


@pytest.mark.parametrize(("kind", "body", "expected"), FIELDS)
def test_each_kind_of_event_changes_these_fields(kind: str, body: dict[str, Any], expected: dict[str, Any]) -> None:
    run = folded(STARTED, (kind, body, "ses-1"))
    assert {name: getattr(run, name) for name in expected} == expected
    assert (run.seq, run.updated, run.agents) == (2, at(2), ["robot"])


def test_every_kind_that_is_folded_has_a_row_above_and_a_headline() -> None:
    rows = {kind for kind, _, _ in FIELDS} | {"run.started"}
    assert set(fold.HANDLERS) <= rows
    assert set(fold.HANDLERS) <= set(event_text.HEADLINES)
    assert set(event_text.SEARCHED) <= set(fold.HANDLERS)


def test_the_first_event_says_what_the_run_is() -> None:
    run = folded(STARTED)
    assert (run.id, run.goal, run.layout, run.worktree) == (RUN, "a goal", "native", "/project")
    assert (run.created, run.status, run.status_since, run.title) == (at(1), Status.CREATED, at(1), "a goal")


def test_a_run_without_events_is_empty_and_not_an_error() -> None:
    assert fold.fold(RUN, []) == Run(id=RUN)


def test_entries_carry_their_text_time_and_reason() -> None:
    run = folded(STARTED, NOTED, DECIDED, TASK)
    assert [(note.id, note.text, note.time) for note in run.notes] == [("n1", "a note", at(2))]
    assert [(one.id, one.text, one.because, one.time) for one in run.decisions] == [("d1", "one", "a reason", at(3))]
    assert [(task.id, task.text, task.added, task.done) for task in run.tasks] == [("t1", "a task", at(4), None)]


def test_a_revoked_decision_stays_and_stands_no_more() -> None:
    run = folded(STARTED, DECIDED, told("decision.revoked", entry="d1", because="wrong"))
    assert [(one.revoked, one.revoked_because) for one in run.decisions] == [(at(3), "wrong")]
    assert run.standing_decisions == []


def test_a_task_that_is_done_has_its_outcome_and_touches_its_files() -> None:
    run = folded(STARTED, TASK, told("task.done", entry="t1", outcome="green", files=["a.py", "b.py"]))
    assert [(task.done, task.outcome, task.files) for task in run.tasks] == [(at(3), "green", ["a.py", "b.py"])]
    assert run.open_tasks == []
    assert list(run.files) == ["a.py", "b.py"]


@pytest.mark.parametrize("entry", ["n1", "d1", "t1"])
def test_any_entry_can_be_pinned_and_let_go(entry: str) -> None:
    pinned = folded(STARTED, NOTED, DECIDED, TASK, told("entry.pinned", entry=entry))
    assert [id for id, found in pinned.pinnable.items() if found.pinned] == [entry]
    unpinned = folded(
        STARTED, NOTED, DECIDED, TASK, told("entry.pinned", entry=entry), told("entry.unpinned", entry=entry)
    )
    assert not any(found.pinned for found in unpinned.pinnable.values())


def test_tags_come_and_go_and_keep_their_order() -> None:
    run = folded(STARTED, told("run.tagged", added=["a", "b"]), told("run.tagged", added=["c", "b"], removed=["a"]))
    assert run.tags == ["b", "c"]


def test_sessions_that_open_and_end_leave_the_open_ones() -> None:
    run = folded(
        STARTED,
        ("session.opened", {"epoch": 1}, "ses-1"),
        ("session.opened", {"epoch": 2}, "ses-2"),
        ("session.ended", {"how": "died"}, "ses-1"),
        ("session.opened", {"epoch": 1}, "ses-2"),
    )
    assert (run.open_sessions, run.last_session, run.sessions, run.epoch) == (["ses-2"], "ses-2", 3, 2)


def test_a_step_that_is_not_allowed_counts_and_changes_nothing() -> None:
    run = folded(STARTED, told("run.completed", reason="merged"), told("run.paused", reason="too late"))
    assert (run.status, run.status_since, run.status_reason, run.seq) == (Status.COMPLETED, at(2), "merged", 3)


def test_the_reason_of_a_status_goes_with_the_status() -> None:
    run = folded(STARTED, told("run.paused", reason="lunch"), told("action.taken", text="back", reason="odd"))
    assert (run.status, run.status_reason) == (Status.ACTIVE, None)


def test_the_time_of_a_run_never_goes_back() -> None:
    early = an_event("note.added", {"text": "x"}, 2, time=NOON - timedelta(days=1))
    run = fold.fold(RUN, [an_event("run.started", {}, 1), early])
    assert (run.updated, run.seq) == (NOON, 2)


def test_each_agent_is_named_once_in_the_order_of_their_coming() -> None:
    events = [an_event("call.kept", {}, seq, agent=agent) for seq, agent in enumerate(["b", "a", "b", None, ""], 1)]
    assert fold.fold(RUN, events).agents == ["b", "a"]


# Forgetting

ODD_NUMBERS: list[Any] = [None, True, 2.0, "2", [2], {"a": 2}, [], -2]


def test_a_forgotten_event_keeps_its_place_and_says_nothing() -> None:
    run = folded(STARTED, NOTED, DECIDED, told("event.forgotten", seq=3))
    assert (run.decisions, run.forgotten, run.seq, len(run.notes)) == ([], [3], 4, 1)
    assert (run.updated, run.agents) == (at(4), ["robot"])


def test_a_run_that_forgot_its_only_action_is_as_if_nobody_had_acted() -> None:
    run = folded(STARTED, told("action.taken", text="a secret"), told("event.forgotten", seq=2))
    assert (run.status, run.actions) == (Status.CREATED, [])


@pytest.mark.parametrize("kind", ["note.added", "decision.made", "task.added"])
def test_the_number_of_a_forgotten_entry_is_never_given_again(kind: str) -> None:
    entries = [told(kind, entry=f"{fold.LETTERS[kind]}{number}", text="x") for number in (1, 2)]
    run = folded(STARTED, *entries, told("event.forgotten", seq=2))
    assert fold.entry_id(run, kind) == f"{fold.LETTERS[kind]}3"


@pytest.mark.parametrize("number", ODD_NUMBERS)
def test_forgetting_something_that_is_no_event_forgets_nothing(number: Any) -> None:
    run = folded(STARTED, NOTED, told("event.forgotten", seq=number))
    assert (run.goal, [note.text for note in run.notes]) == ("a goal", ["a note"])


# Entries and their ids


def test_entries_are_numbered_by_kind() -> None:
    run = folded(STARTED, told("note.added", text="x"), told("note.added", text="y"), told("task.added", text="z"))
    assert [note.id for note in run.notes] == ["n1", "n2"]
    assert [fold.entry_id(run, kind) for kind in fold.LETTERS] == ["n3", "d1", "t2"]


def test_an_entry_that_claims_the_name_of_another_gets_one_of_its_own() -> None:
    run = folded(STARTED, NOTED, NOTED, DECIDED, DECIDED)
    assert len({note.id for note in run.notes}) == 2
    assert len({decision.id for decision in run.decisions}) == 2


# Bounds


def test_only_the_newest_prompts_are_kept() -> None:
    given = [told("prompt.given", text=str(number)) for number in range(activity.KEPT_PROMPTS + 5)]
    kept = [prompt.text for prompt in folded(STARTED, *given).prompts]
    assert kept == [str(number) for number in range(5, activity.KEPT_PROMPTS + 5)]


def test_only_the_newest_actions_are_kept() -> None:
    taken = [told("action.taken", text=str(number)) for number in range(activity.KEPT_ACTIONS + 5)]
    kept = [action.text for action in folded(STARTED, *taken).actions]
    assert kept == [str(number) for number in range(5, activity.KEPT_ACTIONS + 5)]


def test_of_a_long_conversation_the_state_has_the_newest_numbers_and_no_long_text() -> None:
    turns = [told("turn.ended", text=str(number) + "x" * 90_000) for number in range(activity.KEPT_TALK + 5)]
    run = folded(STARTED, *turns)
    assert (len(run.talk), run.talk[-1]) == (activity.KEPT_TALK, len(turns) + 1)
    assert run.reply is not None
    assert (len(run.reply), run.reply[:4]) == (activity.PROMPT, "304x")


def test_an_answer_that_was_forgotten_is_not_among_what_was_said() -> None:
    run = folded(
        STARTED, told("prompt.given", text="do it"), told("turn.ended", text="x"), told("event.forgotten", seq=3)
    )
    assert run.talk == [2]


def test_only_the_files_touched_last_are_kept_and_the_newest_stands_last() -> None:
    names = [str(number) for number in range(activity.KEPT_FILES)]
    run = folded(
        STARTED, told("action.taken", files=names), told("action.taken", files=["0"]), told("action.taken", files=["n"])
    )
    assert list(run.files) == [*names[2:], "0", "n"]


def test_no_bound_holds_for_what_people_told_the_run() -> None:
    notes = [told("note.added", text="x") for _ in range(600)]
    assert len(folded(STARTED, *notes).notes) == 600


# Sessions

PROCESS: dict[str, Any] = {"pid": 7, "start": "123", "boot": "b", "namespace": "n", "machine": "m", "host": "h"}


def opened(**body: Any) -> Session:
    found = fold.apply_session(None, an_event("session.opened", body, 2, session="ses-1", agent="robot"))
    assert found is not None
    return found


def test_a_session_opens_with_its_process_and_environment() -> None:
    found = opened(process=PROCESS, environment={"host": "h", "branch": None}, epoch=2, agent_session="abc")
    assert (found.id, found.run, found.agent, found.agent_session, found.epoch) == ("ses-1", RUN, "robot", "abc", 2)
    assert (found.process, found.environment) == (Process(**PROCESS), Environment(host="h"))
    assert (found.opened, found.last_active, found.is_open, found.fenced) == (NOON, NOON, True, False)


@pytest.mark.parametrize("process", [None, 7, [], {}, {"pid": "7"}, {"pid": 7}, "7"])
def test_a_session_whose_process_cannot_be_understood_has_none(process: Any) -> None:
    assert opened(process=process).process is None


def test_every_event_of_a_session_is_its_last_action() -> None:
    found = fold.apply_session(
        a_session(), an_event("action.taken", {"text": "ran it"}, 3, time=at(9), session="ses-0000000000")
    )
    assert found is not None
    assert (found.events, found.last_active, found.last_action) == (1, at(9), "ran it")


@pytest.mark.parametrize(
    ("body", "how", "fenced"),
    [({"how": "ended"}, "ended", False), ({}, "ended", False), ({"how": "died"}, "died", True),
     ({"how": "taken_over"}, "taken_over", True)],
)  # fmt: skip
def test_a_session_that_died_or_was_taken_over_is_fenced(body: dict[str, Any], how: str, fenced: bool) -> None:
    found = fold.apply_session(a_session(), an_event("session.ended", {**body, "reason": "r"}, 3))
    assert found is not None
    assert (found.ended, found.how, found.reason, found.fenced, found.is_open) == (NOON, how, "r", fenced, False)


def test_a_session_that_died_ended_when_it_was_last_seen() -> None:
    body = {"how": "died", "at": "2026-01-01T11:00:00Z"}
    found = fold.apply_session(a_session(), an_event("session.ended", body, 3))
    assert found is not None
    assert found.ended == datetime(2026, 1, 1, 11, tzinfo=UTC)


def test_a_session_that_went_over_names_the_one_that_follows_it() -> None:
    body = {"how": "ended", "followed_by": "ses-1111111111"}
    found = fold.apply_session(a_session(), an_event("session.ended", body, 3))
    assert found is not None
    assert (found.followed_by, found.is_open) == ("ses-1111111111", False)


def test_a_session_is_told_its_conversation_later_which_is_nothing_done() -> None:
    body = {"agent_session": "talk", "transcript": "/talk.jsonl"}
    found = fold.apply_session(a_session(), an_event("session.told", body, 3))
    assert found is not None
    assert (found.agent_session, found.transcript, found.events) == ("talk", "/talk.jsonl", 0)


def test_an_event_of_a_session_that_never_opened_makes_none() -> None:
    assert fold.apply_session(None, an_event("note.added", {"text": "x"}, 3)) is None


# Words

HEADLINES: list[tuple[str, dict[str, Any], str]] = [
    ("run.started", {"goal": "Add retries"}, "started: Add retries"),
    ("run.renamed", {"name": "Retries"}, "renamed to Retries"),
    ("run.chosen", {}, "chosen as the run of its worktree"),
    ("run.moved", {"worktree": "/b"}, "moved to /b"),
    ("run.tagged", {"added": ["a", "b"], "removed": ["c"]}, "tags: +a +b -c"),
    ("run.resumed", {}, "resumed"),
    ("run.paused", {"reason": "lunch"}, "paused: lunch"),
    ("run.interrupted", {"evidence": "process 7 is gone"}, "interrupted: process 7 is gone"),
    ("run.completed", {}, "completed"),
    ("run.failed", {"reason": "no way"}, "failed: no way"),
    ("run.aborted", {}, "aborted"),
    ("run.abandoned", {}, "abandoned"),
    ("run.reopened", {"reason": "not yet"}, "reopened: not yet"),
    ("session.opened", {}, "session opened"),
    ("session.ended", {"how": "died", "reason": "gone"}, "session died: gone"),
    ("session.told", {"agent_session": "talk"}, "the session's conversation is talk"),
    ("save.told", {"saved": "2026-01-01T12:00:00Z"}, "another program saved its live state at 2026-01-01T12:00:00Z"),
    ("brief.given", {"digest": "x", "characters": 900}, "was given a brief of 900 characters"),
    ("command.typed", {"text": "*sessions"}, "typed *sessions"),
    ("note.added", {"text": "two\nlines"}, "note: two lines"),
    ("decision.made", {"decision": "x"}, "decided: x"),
    ("decision.revoked", {"entry": "d1"}, "revoked d1"),
    ("task.added", {"entry": "t1", "text": "x"}, "task t1: x"),
    ("task.done", {"entry": "t1"}, "done t1"),
    ("task.done", {"entry": "t1", "outcome": "green"}, "done t1: green"),
    ("task.dropped", {"entry": "t1"}, "dropped task t1"),
    ("goal.changed", {"goal": "another"}, "the goal is now: another"),
    ("mode.chosen", {"mode": "debug"}, "mode debug"),
    ("run.archived", {"path": "history/a.json"}, "archived as history/a.json"),
    ("run.archived", {"path": None}, "taken out of the archive"),
    ("agent.started", {"entry": "code-1", "task": "x"}, "agent code-1 started: x"),
    ("agent.progressed", {"entry": "code-1", "progress": 60}, "agent code-1: 60 %"),
    ("agent.progressed", {"entry": "code-1", "tokens": 3200}, "agent code-1: 3200 tokens"),
    ("agent.completed", {"entry": "code-1", "result": "green"}, "agent code-1 complete: green"),
    ("agent.completed", {"entry": "code-1"}, "agent code-1 complete"),
    ("agent.failed", {"entry": "code-1", "error": "red"}, "agent code-1 failed: red"),
    ("entry.pinned", {"entry": "d1"}, "pinned d1"),
    ("entry.unpinned", {"entry": "d1"}, "unpinned d1"),
    ("event.forgotten", {"seq": 7}, "forgot event 7"),
    ("event.blank", {"kind": "note.added"}, "forgotten"),
    ("event.lost", {}, "lost, and not recovered by a repair"),
    ("run.returned", {"to": 3}, "went back to its state after event 3"),
    ("checkpoint.made", {"id": "cp-1", "name": "before"}, "checkpoint cp-1: before"),
    ("checkpoint.made", {"id": "cp-1"}, "checkpoint cp-1"),
    ("checkpoint.dropped", {"id": "cp-1"}, "dropped checkpoint cp-1"),
    ("checkpoint.pinned", {"id": "cp-1"}, "pinned checkpoint cp-1"),
    ("checkpoint.unpinned", {"id": "cp-1"}, "unpinned checkpoint cp-1"),
    ("restore.began", {}, "a restore began"),
    ("restore.ended", {}, "a restore ended"),
    ("restore.ended", {"given_up": True}, "a restore was given up"),
    ("prompt.given", {"text": "do it"}, "prompt: do it"),
    ("action.taken", {"text": "ran it"}, "ran it"),
    ("action.taken", {"text": "ran it", "error": "exit 1"}, "ran it failed: exit 1"),
    ("action.begun", {"text": "Bash: make"}, "begins Bash: make"),
    ("turn.ended", {"text": "all done"}, "said: all done"),
    ("text.said", {"text": "it is the cache"}, "said: it is the cache"),
    ("error.met", {"text": "overloaded"}, "error: overloaded"),
    ("owner.told", {"word": "in_progress", "phase": "build", "step": None}, "its file says: in_progress, build"),
    ("context.loaded", {"artifacts": ["a", "b"], "trigger": "manual"}, "loaded a, b (manual)"),
    ("context.loaded", {"artifacts": [], "trigger": "session_start"}, "loaded no artifact (session_start)"),
    ("context.saved", {"record": "s-1", "reason": "normal"}, "Session ended: s-1 (reason: normal)"),
    ("step.planned", {"steps": ["design", "code"]}, "planned: design, code"),
    ("step.started", {"name": "code", "agent": "coder"}, "step code started"),
    ("step.completed", {"name": "code"}, "step code completed"),
    ("step.failed", {"name": "code", "error": "red"}, "step code failed: red"),
    ("step.failed", {"name": "code"}, "step code failed"),
    ("step.kept", {"id": "cp-01-a"}, "kept as cp-01-a"),
    ("step.judged", {"id": "cp-01-a", "valid": False}, "cp-01-a no longer counts"),
    ("step.judged", {"id": "cp-01-a", "valid": True}, "cp-01-a counts again"),
    ("rollback.told", {"to_checkpoint": "cp-01-a"}, "another program went back to cp-01-a"),
    ("face.edited", {"file": "state.json"}, "another program edited state.json"),
    ("handoff.made", {"agent": "coder"}, "handed to coder"),
    ("breakpoint.set", {"on": True}, "waits at a breakpoint"),
    ("breakpoint.set", {"on": False}, "goes on after a breakpoint"),
    ("output.given", {"key": "spec", "text": "x"}, "output spec"),
    ("metric.given", {"key": "coverage", "value": 85}, "metric coverage: 85"),
    ("loop.limited", {"iterations": 5}, "at most 5 turns of the review loop"),
    ("run.recovered", {"type": "checkpoint"}, "went on from checkpoint"),
    ("subagent.started", {"type": "explorer"}, "subagent explorer started"),
    ("subagent.ended", {"type": "explorer", "text": "found"}, "subagent explorer: found"),
    ("subagent.told", {"text": "it finished"}, "subagent: it finished"),
    ("context.compacting", {"trigger": "auto"}, "context is being compacted (auto)"),
    ("context.compacted", {"trigger": "auto"}, "context was compacted (auto)"),
    ("context.measured", {"tokens": 5, "window": 9}, "context: 5 of 9 tokens"),
    ("usage.counted", {"read": 5, "written": 9, "cost": 0.5}, "read 5 tokens, wrote 9"),
    ("call.kept", {"agent": "robot", "event": "Did"}, "robot Did"),
    ("call.late", {"agent": "robot", "event": "Did"}, "late: robot Did"),
    ("something.new", {"text": "x"}, "something.new"),
]


@pytest.mark.parametrize(("kind", "body", "line"), HEADLINES)
def test_an_event_has_this_headline(kind: str, body: dict[str, Any], line: str) -> None:
    assert event_text.headline(an_event(kind, body)) == line


def test_every_headline_has_a_row_above() -> None:
    assert set(event_text.HEADLINES) <= {kind for kind, _, _ in HEADLINES}


SEARCHED: list[tuple[str, dict[str, Any], str]] = [
    ("run.started", {"goal": "Add retries", "worktree": "/secret"}, "Add retries"),
    ("run.renamed", {"name": "Retries"}, "Retries"),
    ("run.tagged", {"added": ["a", "b"], "removed": ["c"]}, "a\nb"),
    ("note.added", {"text": "x", "entry": "n1"}, "x"),
    ("decision.made", {"decision": "x", "because": "y"}, "x\ny"),
    ("decision.made", {"decision": "x", "because": None}, "x"),
    ("task.added", {"text": "x"}, "x"),
    ("task.done", {"outcome": "x", "files": ["a.py", "b.py"]}, "x\na.py\nb.py"),
    ("goal.changed", {"goal": "another"}, "another"),
    ("agent.started", {"entry": "code-1", "task": "x"}, "x"),
    ("agent.completed", {"result": "green", "tokens": 5}, "green"),
    ("prompt.given", {"text": "x"}, "x"),
    ("turn.ended", {"text": "x", "waiting": ["y"]}, "x"),
    ("text.said", {"text": "x"}, "x"),
    ("subagent.ended", {"text": "x", "type": "y"}, "x"),
    ("action.taken", {"text": "x", "files": ["a.py", 7, None]}, "x\na.py"),
    ("action.taken", {"text": "x", "error": "no such file"}, "x\nno such file"),
    ("agent.failed", {"entry": "code-1", "error": "red"}, "red"),
    ("error.met", {"text": "out of tokens", "by": "code-1"}, "out of tokens"),
    ("step.planned", {"steps": ["design", "code"]}, "design\ncode"),
    ("owner.told", {"goal": "theirs", "word": "running"}, "theirs"),
    ("step.failed", {"name": "code", "error": "red"}, "red"),
    ("call.kept", {"text": "x", "agent": "robot"}, ""),
    ("session.opened", {"text": "x"}, ""),
    ("something.new", {"text": "x"}, ""),
]


@pytest.mark.parametrize(("kind", "body", "words"), SEARCHED)
def test_a_run_is_found_by_these_words_of_an_event(kind: str, body: dict[str, Any], words: str) -> None:
    assert event_text.searchable(an_event(kind, body)) == words


def test_every_kind_that_is_searched_has_a_row_above() -> None:
    assert set(event_text.SEARCHED) <= {kind for kind, _, _ in SEARCHED}


def test_every_kind_that_is_searched_is_of_one_sort_and_every_sort_has_its_merit() -> None:
    assert set(event_text.SORT_OF) == set(event_text.SEARCHED)
    assert set(event_text.MERITS) == set(event_text.SORTS)
    assert len(event_text.SORT_OF) == sum(len(kinds) for kinds in event_text.SORTS.values())


@pytest.mark.parametrize("move", [move for move in Move if move not in (Move.TELL, Move.ATTEND, Move.ACT)])
def test_a_move_of_the_lifecycle_is_recorded_as_an_event_that_folds_to_it(move: Move) -> None:
    draft = fold.status_draft(move, "why", "proof")
    assert fold.MOVES[draft.kind] is move
    assert draft.body == {"reason": "why", "evidence": "proof"}
    assert fold.status_draft(move).body == {}


@pytest.mark.parametrize(
    ("status", "after"),
    [("paused", "paused"), ("interrupted", "interrupted"), ("completed", "active"), (None, "active"), ([], "active")],
)
def test_a_reopened_run_has_the_open_status_that_the_event_names(status: Any, after: str) -> None:
    run = folded(STARTED, told("run.aborted"), told("run.reopened", status=status, reason="not yet"))
    assert (run.status, run.status_reason) == (after, "not yet")


def test_a_state_survives_being_stored() -> None:
    run = folded(STARTED, NOTED, DECIDED, TASK, told("action.taken", text="x", files=["b", "a"]))
    stored = msgspec.json.decode(msgspec.json.encode(run), type=Run)
    assert stored == run
    assert list(stored.files) == ["b", "a"]


def test_folding_does_not_touch_the_events() -> None:
    events: list[Event] = numbered([STARTED, TASK, told("task.done", entry="t1", files=["a"])])
    before = msgspec.json.encode(events)
    run = fold.fold(RUN, events)
    run.tasks[0].files.append("b")
    fold.apply(run, an_event("task.done", {"entry": "t1", "files": ["c"]}, 4))
    assert msgspec.json.encode(events) == before


def test_what_was_imported_stands_where_it_happened() -> None:
    early = an_event("prompt.given", {"text": "first", "imported": True}, 3, time=at(0))
    late = an_event("prompt.given", {"text": "second"}, 2, time=at(5))
    run = fold.fold(RUN, [an_event("run.started", {"goal": "x"}, 1, time=at(1)), late, early])
    assert [prompt.text for prompt in run.prompts] == ["first", "second"]


def test_what_a_hook_told_stays_in_the_order_it_was_told() -> None:
    told_late = [an_event("prompt.given", {"text": text}, seq, time=at(9 - seq)) for seq, text in ((2, "a"), (3, "b"))]
    run = fold.fold(RUN, [an_event("run.started", {"goal": "x"}, 1, time=at(1)), *told_late])
    assert [prompt.text for prompt in run.prompts] == ["a", "b"]


def test_files_of_what_was_imported_stand_before_those_touched_since() -> None:
    events = [
        an_event("action.taken", {"text": "x", "files": ["new.py"]}, 1, time=at(9)),
        an_event("action.taken", {"text": "y", "files": ["old.py"], "imported": True}, 2, time=at(1)),
    ]
    assert list(fold.fold(RUN, events).files) == ["old.py", "new.py"]
