"""Observer commands: a table over the verbs, answered with text that a client can show."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.agents import registry
from holdfast.core import chat_commands
from holdfast.core.errors import Ambiguous, NotFound, Refused, WrongUsage
from holdfast.core.model import Draft, Process, Status
from holdfast.core.text import visible
from holdfast.operations.chat_command import ACTIONS
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.ingest.test_routing import a_client, prompt, sessions, tell
from tests.orchestrator_files import schema_1_0
from tests.orchestrator_project import archived, orchestrate, put_session, session_of
from tests.sessions import kinds_of, run_of
from tests.tools import unfenced
from tests.worktrees import picture, put, take


@pytest.fixture
def begun(project: Workspace) -> Workspace:
    holdfast.start(project, "Add retries", steps=("design", "code"))
    put(project.root, {"a.txt": "one\n"})
    return project


def say(project: Workspace, text: str) -> str:
    found = holdfast.command(project, text)
    assert found.known
    assert visible(found.text) == found.text
    assert len(found.text) <= chat_commands.LIMIT
    return found.text


# what is a command


def test_every_form_has_an_action() -> None:
    assert set(ACTIONS) == set(chat_commands.FORMS)


@pytest.mark.parametrize("text", ["*nothing", "a prompt", "*emphasis* first", "*status of the build?"])
def test_what_is_no_command_is_nobodys_business(begun: Workspace, text: str) -> None:
    before = kinds_of(begun)
    found = holdfast.command(begun, text)
    assert (found.known, found.text) == (False, "")
    assert kinds_of(begun) == before


@pytest.mark.parametrize("word", [word for word, form in chat_commands.FORMS.items() if form.needed])
def test_a_command_that_needs_an_argument_says_so(begun: Workspace, word: str) -> None:
    with pytest.raises(WrongUsage, match="needs an argument") as caught:
        holdfast.command(begun, f"*{word}")
    assert any(chat_commands.typed(word) in hint for hint in caught.value.hints)


def test_help_names_every_command(begun: Workspace) -> None:
    text = say(begun, "*help")
    assert all(f"*{word}" in text for word in chat_commands.FORMS)


# looking


def test_status_and_info_say_where_a_run_stands(begun: Workspace) -> None:
    holdfast.add_task(begun, "Write the tests\x1b[2J")
    holdfast.decide(begun, "Use backoff")
    holdfast.complete_step(begun, "design")
    for text in (say(begun, "*status"), say(begun, "*session-info"), say(begun, f"*session-info:{run_of(begun).id}")):
        for part in ("Add retries", "1 of 2 steps completed", "next: code", "Next: t1  Write the tests", "Use backoff"):
            assert part in text


def test_without_a_run_status_says_so(project: Workspace) -> None:
    assert "No run is open here" in say(project, "*status")
    assert "No run yet" in say(project, "*sessions")
    assert "No checkpoint yet" in say(project, "*checkpoints")


def test_brief_is_what_the_next_session_would_be_told(begun: Workspace) -> None:
    for number in range(300):
        holdfast.note(begun, f"note {number} " + "x" * 100)
    text = say(begun, "*brief")
    assert unfenced(text).startswith(f"# Where run {run_of(begun).id} stands")
    assert text.endswith(f"</history {text.partition('<history ')[2][:10]}>")


# naming a run: the exact id, then a row of the list last shown, then an end of an id


def with_ids(project: Workspace, *names: str) -> None:
    with project.writing() as journal:
        for name in names:
            body = {"goal": name, "worktree": project.worktree, "directory": str(project.root)}
            journal.start(name, Draft("run.started", body, time=project.clock.now()))


def test_a_row_of_the_list_last_shown_names_a_run(begun: Workspace) -> None:
    first = run_of(begun).id
    second = holdfast.start(begun, "Another").run.id
    listed = say(begun, "*sessions").splitlines()
    assert [line.split()[:2] for line in listed[:2]] == [["1", second], ["2", first]]
    say(begun, "*resume:2")
    assert run_of(begun).id == first


def test_an_id_goes_before_a_row_and_a_row_before_an_end(project: Workspace) -> None:
    with_ids(project, "1", "run-x2", "run-y7")
    say(project, "*sessions")
    assert say(project, "*session-info:1").splitlines()[0] == "1"
    assert say(project, "*session-info:2").splitlines()[0] == "run-x2"
    assert say(project, "*session-info:7").splitlines()[0] == "run-y7"


def test_an_end_that_several_have_is_refused_with_the_choices(project: Workspace) -> None:
    with_ids(project, "run-a77", "run-b77", "run-adef456", "run-bdef456", "run-c5")
    for name in ("77", "def456"):
        with pytest.raises(Ambiguous) as caught:
            holdfast.command(project, f"*resume:{name}")
        assert len(caught.value.facts) == 2
    with pytest.raises(NotFound):
        holdfast.command(project, "*resume:3")  # no list was shown, and no id ends so
    say(project, "*resume:5")
    assert run_of(project).id == "run-c5"


# going on


@pytest.fixture
def client() -> Iterator[Process]:
    with a_client() as found:
        yield found


def in_conversation(project: Workspace, conversation: str) -> Workspace:
    """The project as the answering hook sees it: it knows whose conversation it is in."""
    (session, *_) = sessions(project, conversation)
    environ = {**os.environ, "CLAUDE_CODE_SESSION_ID": conversation}
    found = Workspace(
        project.root, project.place, clock=project.clock, environ=environ, rules_of=project.rules_of, clients=registry
    )
    found.session = session.id
    return found


def test_a_conversation_goes_over_to_the_run_that_it_resumes(project: Workspace, client: Process) -> None:
    earlier = holdfast.start(project, "Earlier").run.id
    holdfast.pause(project)
    holdfast.decide(project, "Use backoff", run=earlier)
    with project.writing() as journal:
        journal.point(project.worktree, None)
    other = holdfast.start(project, "Other").run.id
    tell(project, "SessionStart", "a", client, source="startup")
    prompt(project, "a", client, "Fix the login bug")
    assert sessions(project, "a")[0].run == other
    with in_conversation(project, "a") as inside:
        text = say(inside, f"*resume:{earlier}")
    assert f"holdfast resume {earlier}" in text
    assert "Use backoff" in text
    prompt(project, "a", client, "and now this")
    assert [given.text for given in run_of(project, earlier).prompts] == ["and now this"]
    assert [given.text for given in run_of(project, other).prompts] == ["Fix the login bug"]
    assert (run_of(project, earlier).status, run_of(project, other).status) == (Status.ACTIVE, Status.PAUSED)
    new, old = sessions(project, "a")
    assert (new.run, new.is_open, new.process) == (earlier, True, client)
    assert (old.run, old.is_open, old.reason) == (other, False, f"moved to {earlier}")


def test_a_run_on_which_somebody_else_works_is_not_put_to_rest(project: Workspace, client: Process) -> None:
    prompt(project, "a", client, "Fix the login bug")
    run = sessions(project, "a")[0].run
    holdfast.join(project, run, pid=os.getpid())
    project.owns_session = False
    with in_conversation(project, "a") as inside:
        say(inside, "*new Something else")
    assert run_of(project, run).status is Status.ACTIVE


def test_new_begins_a_run_and_takes_the_conversation_along(project: Workspace, client: Process) -> None:
    prompt(project, "a", client, "Fix the login bug")
    before = sessions(project, "a")[0].run
    with in_conversation(project, "a") as inside:
        assert "*new GOAL" in say(inside, "*new")
        say(inside, "*new Write the manual")
        again = say(inside, "*status")
    assert "Write the manual" in again
    prompt(project, "a", client, "chapter one")
    after = sessions(project, "a")[0].run
    assert after != before
    assert run_of(project, after).goal == "Write the manual"
    assert [given.text for given in run_of(project, after).prompts] == ["chapter one"]
    assert run_of(project, before).status is Status.PAUSED


def test_pause_saves_and_rests_and_continue_goes_on(begun: Workspace) -> None:
    text = say(begun, "*pause")
    (made,) = holdfast.checkpoints(begun).checkpoints
    assert (made.kind, run_of(begun).status) == ("saved", Status.PAUSED)
    assert made.id in text
    say(begun, "*continue")
    assert run_of(begun).status is Status.ACTIVE
    assert "/exit" in say(begun, "*exit")
    assert run_of(begun).status is Status.PAUSED


def test_abort_and_abandon_end_a_run_for_good(begun: Workspace) -> None:
    first = run_of(begun).id
    holdfast.start(begun, "Another")
    say(begun, f"*abandon:{first}")
    assert run_of(begun, first).status is Status.ABANDONED
    second = run_of(begun).id
    say(begun, "*abort")
    assert run_of(begun, second).status is Status.ABORTED
    with pytest.raises(Refused):
        holdfast.command(begun, "*continue")


# checkpoints


def test_checkpoints_are_listed_shown_and_compared(begun: Workspace) -> None:
    first = take(begun, "first")
    put(begun.root, {"a.txt": "two\n"})
    second = take(begun)
    put(begun.root, {"a.txt": "three\n"})
    assert first.id in say(begun, "*cp-show:2"), "no list was shown, so it counts from the newest"
    listed = say(begun, "*checkpoints")
    assert listed == say(begun, "*cp-list")
    assert [line.split()[:2] for line in listed.splitlines()[:2]] == [["1", second.id], ["2", first.id]]
    assert "-two\n+three" in say(begun, "*cp-diff:1")
    assert "-one\n+two" in say(begun, "*cp-diff:2:1")
    assert "-two\n+one" in say(begun, f"*cp-diff:1:{first.id}")
    assert "a.txt" in say(begun, "*cp-show:1")
    assert "2 checkpoints, all whole" in say(begun, "*cp-validate")


def test_a_large_difference_is_cut(begun: Workspace) -> None:
    take(begun)
    put(begun.root, {"a.txt": "".join(f"line {number}\n" for number in range(5000))})
    assert "there is more" in say(begun, "*cp-diff:1")


def test_a_checkpoint_that_is_not_whole_is_named(begun: Workspace) -> None:
    made = take(begun)
    with begun.writing() as journal:
        body = {"id": "cp-broken", "worktree": begun.worktree, "number": 9, "tree": "1" * 40, "beside": "2" * 40}
        journal.append(journal.ledger(begun.worktree).id, Draft("checkpoint.made", body))
    text = say(begun, "*cp-validate")
    assert "cp-broken: " in text
    assert made.id not in text
    with begun.writing() as journal:
        journal.append(journal.ledger(begun.worktree).id, Draft("checkpoint.dropped", {"id": "cp-broken"}))


def test_rollback_says_what_it_would_do_and_does_it_only_with_a_yes(begun: Workspace) -> None:
    first = take(begun)
    put(begun.root, {"a.txt": "two\n", "b.txt": "new\n"})
    holdfast.decide(begun, "a decision")
    before = picture(begun.root)
    asked = say(begun, "*rollback:1")
    assert f"`*rollback:{first.id} yes`" in asked
    assert "remove  b.txt" in asked
    assert "last 1 event" in asked
    assert picture(begun.root) == before
    done = say(begun, f"*rollback:{first.id} yes")
    assert "holdfast undo" in done
    assert ((begun.root / "a.txt").read_text(), run_of(begun).decisions) == ("one\n", [])
    assert "Nothing to do" not in done
    holdfast.undo(begun)
    assert picture(begun.root) == before


def test_names_that_a_repository_brings_cannot_act_in_an_answer(begun: Workspace) -> None:
    first = take(begun)
    put(begun.root, {"evil\x1b[2J\u202e.txt": "x\x1b]0;title\x07\n"})
    for text in ("*cp-diff:1", f"*rollback:{first.id}", "*checkpoints", "*status"):
        say(begun, text)


def test_a_store_is_not_made_by_looking(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        assert "No run is open here" in say(workspace, "*status")
        assert chat_commands.parse("*sessions")
        with pytest.raises(NotFound):
            holdfast.command(workspace, "*sessions")
        assert not workspace.place.exists()


@pytest.mark.defect("`*exit` was refused after `*abort`, and in a run that cannot pause, though leaving needs no pause")
@pytest.mark.parametrize("word", ["abort", "complete", "fail", "abandon"])
def test_the_client_can_be_left_after_the_run_has_ended(begun: Workspace, word: str) -> None:
    run = run_of(begun)
    getattr(holdfast, word)(begun)
    before = kinds_of(begun, run.id)
    shown = say(begun, "*exit")
    assert run_of(begun, run.id).status.value in shown
    assert "/exit" in shown
    assert kinds_of(begun, run.id) == before


def test_the_client_can_be_left_where_nothing_can_pause(project: Workspace) -> None:
    assert "/exit" in say(project, "*exit")
    run = holdfast.start(project, "goal", layout="orchestrator").run
    shown = say(project, "*exit")
    assert f"{run.id} stays created: A session of the orchestrator that is created cannot pause" in shown
    assert "/exit" in shown
    assert run_of(project).status is Status.CREATED


@pytest.mark.defect("`*new GOAL` in a project of the orchestrator began a run that its session file does not show")
def test_a_new_run_is_one_of_the_projects_layout(project: Workspace) -> None:
    first = orchestrate(project, "First")
    shown = say(project, "*new Second")
    second = run_of(project)
    assert (second.goal, second.layout, session_of(project)["session_id"]) == ("Second", "orchestrator", second.id)
    assert f"Archived {first.id}" in shown
    assert list(archived(project)) == [f"{first.id}.json"]
    holdfast.abort(project)
    say(project, "*new Third")
    assert (run_of(project).goal, run_of(project).layout) == ("Third", "orchestrator")
    holdfast.start(project, "a native one")
    say(project, "*new Fourth")
    assert (run_of(project).goal, run_of(project).layout) == ("Fourth", "native")


def test_a_new_run_beside_a_session_file_without_a_store_follows_its_session(
    repository: Path, clock: TickingClock
) -> None:
    with holdfast.open(repository, clock=clock) as workspace:
        put_session(workspace, schema_1_0())
        say(workspace, "*new Second")
        assert run_of(workspace).layout == "orchestrator"
        assert list(archived(workspace)) == [f"{schema_1_0()['session_id']}.json"]
