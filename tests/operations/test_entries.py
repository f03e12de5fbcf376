"""What a run is told: notes, decisions, tasks, pins, names, tags, prompts and actions; and what it forgets."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.core.model import Draft, Status
from holdfast.project.workspace import Workspace
from tests.sessions import as_session, events_of, kinds_of, run_of


@pytest.fixture
def begun(project: Workspace) -> Workspace:
    holdfast.start(project, "goal")
    return project


# telling


def test_notes_are_numbered_and_wake_the_run(begun: Workspace) -> None:
    assert [holdfast.note(begun, text).entry for text in ("first", "second")] == ["n1", "n2"]
    run = run_of(begun)
    assert [(note.id, note.text, note.pinned) for note in run.notes] == [
        ("n1", "first", False),
        ("n2", "second", False),
    ]
    assert run.status is Status.ACTIVE


def test_note_does_not_wake_a_run_that_rests(begun: Workspace) -> None:
    holdfast.pause(begun)
    holdfast.note(begun, "by the way")
    assert run_of(begun).status is Status.PAUSED


def test_decision_keeps_its_reason_and_can_be_taken_back(begun: Workspace) -> None:
    assert holdfast.decide(begun, "Use backoff", because="the server sheds load").entry == "d1"
    assert holdfast.decide(begun, "Use jitter").entry == "d2"
    assert run_of(begun).decisions[0].because == "the server sheds load"
    assert holdfast.revoke(begun, "1", because="it was wrong").changed
    run = run_of(begun)
    assert [decision.id for decision in run.standing_decisions] == ["d2"]
    assert (run.decisions[0].revoked_because, run.decisions[0].text) == ("it was wrong", "Use backoff")


def test_tasks_are_added_and_done(begun: Workspace) -> None:
    assert [holdfast.add_task(begun, text).entry for text in ("one", "two")] == ["t1", "t2"]
    assert holdfast.finish_task(begun, "t1", outcome="it works", files=("a.py", "b.py")).changed
    tasks = holdfast.list_tasks(begun).tasks
    assert [(task.id, task.done is not None, task.outcome, task.files) for task in tasks] == [
        ("t1", True, "it works", ["a.py", "b.py"]),
        ("t2", False, None, []),
    ]
    run = run_of(begun)
    assert ([task.id for task in run.open_tasks], list(run.files)) == (["t2"], ["a.py", "b.py"])


def test_outcome_can_be_added_to_a_task_that_is_done(begun: Workspace) -> None:
    holdfast.add_task(begun, "one")
    holdfast.finish_task(begun, "1")
    assert not holdfast.finish_task(begun, "1", outcome="after all").changed
    assert run_of(begun).tasks[0].outcome == "after all"


@pytest.mark.parametrize(("name", "pinned"), [("d1", "d1"), ("1", "d1"), ("n1", "n1"), ("t1", "t1")])
def test_entry_is_pinned_and_let_go(begun: Workspace, name: str, pinned: str) -> None:
    holdfast.decide(begun, "a decision")
    holdfast.note(begun, "a note")
    holdfast.add_task(begun, "a task")
    assert holdfast.pin(begun, name).entry == pinned
    assert [id for id, entry in run_of(begun).pinnable.items() if entry.pinned] == [pinned]
    assert holdfast.pin(begun, name, off=True).changed
    assert not any(entry.pinned for entry in run_of(begun).pinnable.values())


def test_run_is_renamed(begun: Workspace) -> None:
    assert holdfast.rename(begun, "retries").run.title == "retries"
    assert (run_of(begun).name, run_of(begun).goal) == ("retries", "goal")


def test_tags_are_added_and_taken_off(begun: Workspace) -> None:
    assert holdfast.tag(begun, ("a", "b", "a")).run.tags == ["a", "b"]
    assert holdfast.tag(begun, ("c",), remove=("a", "unknown")).run.tags == ["b", "c"]
    assert [run.id for run in holdfast.runs(begun, tag="c").runs] == [run_of(begun).id]
    assert holdfast.runs(begun, tag="a").runs == []


def test_prompts_and_actions_are_what_an_agent_does(begun: Workspace) -> None:
    holdfast.pause(begun)
    holdfast.prompt(begun, "please")
    assert run_of(begun).status is Status.ACTIVE
    holdfast.action(begun, "edited", files=("a.py",))
    run = run_of(begun)
    assert [prompt.text for prompt in run.prompts] == ["please"]
    assert [(action.text, action.files) for action in run.actions] == [("edited", ["a.py"])]
    assert list(run.files) == ["a.py"]


ANYTHING = [
    "\x1b]0;title\x07",
    "line\nline",
    "\u202etxet",
    "lone \udcff",
    "NUL \0",
    "'; DROP TABLE run; --",
    '{"$blob": "00"}',
]


def test_any_text_can_be_told(begun: Workspace) -> None:
    for text in [*ANYTHING, "x" * 20_000]:
        holdfast.note(begun, text)
    stored = [note.text for note in run_of(begun).notes]
    assert stored == [text.replace("\udcff", "\ufffd") for text in [*ANYTHING, "x" * 20_000]]


# nothing to do

AGAIN: dict[str, Callable[[Workspace], object]] = {
    "revoke": lambda project: holdfast.revoke(project, "d1"),
    "finish_task": lambda project: holdfast.finish_task(project, "t1"),
    "pin": lambda project: holdfast.pin(project, "n2"),
    "rename": lambda project: holdfast.rename(project, "name"),
    "tag": lambda project: holdfast.tag(project, ("one",), remove=("two",)),
    "forget": lambda project: holdfast.forget(project, "3"),
}


def test_asking_again_is_nothing_to_do(begun: Workspace) -> None:
    holdfast.decide(begun, "a decision")
    holdfast.note(begun, "to be forgotten")
    holdfast.note(begun, "a note")
    holdfast.add_task(begun, "a task")
    for again in AGAIN.values():
        again(begun)
    before = kinds_of(begun)
    for name, again in AGAIN.items():
        assert not getattr(again(begun), "changed", False), name
    assert kinds_of(begun) == before


# refusals

LONG = "x" * 20_001


def tag_it(project: Workspace, tag: str) -> object:
    return holdfast.tag(project, (tag,))


WRONG: list[tuple[Callable[[Workspace, str], object], type[Exception], list[str]]] = [
    (holdfast.note, WrongUsage, ["", "  \n", "\u200b", LONG]),
    (holdfast.decide, WrongUsage, ["", LONG]),
    (holdfast.add_task, WrongUsage, ["", LONG]),
    (holdfast.action, WrongUsage, ["", LONG]),
    (holdfast.prompt, WrongUsage, ["", "x" * 1_000_001]),
    (holdfast.rename, WrongUsage, ["", "x" * 201]),
    (tag_it, WrongUsage, ["", "two words", "a,b", "x" * 65]),
    (holdfast.revoke, NotFound, ["d9", "n1", "", "x", "\udcff"]),
    (holdfast.finish_task, NotFound, ["t9", "0", "-1", "d1"]),
    (holdfast.pin, NotFound, ["d9", "z1", ""]),
    (holdfast.forget, WrongUsage, ["x", "", "-1", "1" * 16, "1.5", "#"]),
    (holdfast.forget, NotFound, ["0", "99", "#99"]),
    (holdfast.forget, Refused, ["1"]),
]


def test_what_cannot_be_done_is_refused_and_changes_nothing(begun: Workspace) -> None:
    holdfast.note(begun, "a note")
    before = events_of(begun)
    for verb, error, arguments in WRONG:
        for argument in arguments:
            with pytest.raises(error) as refused:
                verb(begun, argument)
            assert getattr(refused.value, "message", ""), (verb, argument)
    assert events_of(begun) == before


# forgetting


def test_forgotten_event_says_nothing_any_more(begun: Workspace) -> None:
    holdfast.note(begun, "keep this")
    secret = holdfast.note(begun, "hunter2 is the password")
    holdfast.note(begun, "and this")
    assert holdfast.forget(begun, f"#{secret.seq}").changed
    run = run_of(begun)
    assert [note.text for note in run.notes] == ["keep this", "and this"]
    assert run.forgotten == [secret.seq]
    assert holdfast.runs(begun, search="hunter2").runs == []
    assert [found.id for found in holdfast.runs(begun, search="keep").runs] == [run.id]
    assert "hunter2" not in holdfast.brief(begun).text


def test_forgotten_event_keeps_its_place_in_the_journal(begun: Workspace) -> None:
    note = holdfast.note(begun, "text")
    holdfast.forget(begun, str(note.seq))
    assert [event.seq for event in events_of(begun)] == [1, 2, 3]
    assert kinds_of(begun) == ["run.started", "event.blank", "event.forgotten"]
    assert "text" not in str(events_of(begun)[1].body)


def test_what_followed_from_a_forgotten_event_is_undone(begun: Workspace) -> None:
    holdfast.add_task(begun, "a task")
    done = len(events_of(begun)) + 1
    holdfast.finish_task(begun, "t1", files=("secret.py",))
    holdfast.forget(begun, str(done))
    run = run_of(begun)
    assert ([task.id for task in run.open_tasks], run.files) == (["t1"], {})


def test_names_go_on_after_an_entry_was_forgotten(begun: Workspace) -> None:
    first = holdfast.note(begun, "one")
    holdfast.note(begun, "two")
    holdfast.forget(begun, str(first.seq))
    third = holdfast.note(begun, "three").entry
    entries = [note.id for note in run_of(begun).notes]
    assert len(set(entries)) == len(entries) == 2
    assert third == entries[-1]


def test_session_forgets_too(begun: Workspace) -> None:
    session = holdfast.join(begun).session
    with as_session(begun, session.id) as mine:
        note = holdfast.note(mine, "the secret")
    assert holdfast.sessions(begun).sessions[0].last_action == "note: the secret"
    holdfast.forget(begun, str(note.seq))
    assert "secret" not in str(holdfast.sessions(begun).sessions)
    assert "secret" not in str(holdfast.show(begun, session.id))


def test_forgetting_and_telling_can_be_one_step(begun: Workspace) -> None:
    note = holdfast.note(begun, "wrong")
    drafts = [Draft("event.forgotten", {"seq": note.seq}), Draft("note.added", {"entry": "n2", "text": "right"})]
    with begun.writing() as journal:
        added = journal.append(note.run, *drafts)
    assert [event.seq for event in added] == [3, 4]
    assert [entry.text for entry in run_of(begun).notes] == ["right"]
