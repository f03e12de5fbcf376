"""One's own session is oneself: it refuses no verb, and no take-over fences it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import holdfast
from holdfast.core.errors import Busy
from holdfast.core.fold import run as fold
from holdfast.core.model import Draft, Run, Session
from holdfast.project.workspace import Workspace
from holdfast.system.process import identify
from tests.sessions import a_process, as_session, events_of, run_of, with_environ
from tests.tools import Command

LAYOUTS = ["native", "orchestrator", "go-team"]
UUID = "0a1b2c3d-0000-4000-8000-000000000001"


def opened(project: Workspace, run: Run, pid: int) -> Session:
    """A session of a conversation, as a hook's call of that process opens it."""
    body = {"agent_session": UUID, "process": identify(pid), "epoch": run.epoch}
    with project.writing() as journal:
        journal.append(run.id, Draft(fold.OPENED, body, session="ses-own", agent="claude"))
        found = journal.find_session("ses-own")
    assert found is not None
    return found


@contextmanager
def own_workspace(project: Workspace, run: Run, how: str) -> Iterator[tuple[Workspace, Session]]:
    """The project as a command sees it that the holder of a run has started, known as its own in one of three ways."""
    with a_process() as child:
        session = opened(project, run, os.getppid() if how == "ancestry" else child.pid)
        if how == "ancestry":
            yield project, session
        elif how == "HOLDFAST_SESSION":
            with as_session(project, session.id) as own:
                yield own, session
        else:
            with with_environ(project, CLAUDE_CODE_SESSION_ID=UUID) as own:
                yield own, session


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("how", ["HOLDFAST_SESSION", "conversation", "ancestry"])
@pytest.mark.defect("`continue` inside the client that holds the run was refused, because the client holds it")
def test_going_on_with_the_run_that_one_holds_oneself_is_not_refused(project: Workspace, layout: str, how: str) -> None:
    run = holdfast.start(project, "Add retries", layout=layout).run
    with own_workspace(project, run, how) as (own, session):
        found = holdfast.resume(own)
        assert (found.run.status, found.attended, found.taken_from) == ("active", [], [])
        holdfast.note(own, "still writing")
        assert [known.id for known in holdfast.sessions(own).sessions if known.is_open] == [session.id]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_that_another_process_holds_is_still_refused(project: Workspace, layout: str) -> None:
    run = holdfast.start(project, "Add retries", layout=layout).run
    with a_process() as child:
        opened(project, run, child.pid)
        with with_environ(project, CLAUDE_CODE_SESSION_ID="another") as other, pytest.raises(Busy, match="Another"):
            holdfast.resume(other)


@pytest.mark.parametrize("how", ["HOLDFAST_SESSION", "conversation", "ancestry"])
@pytest.mark.defect("a take-over fenced off the session of the very client that asked for it")
def test_a_take_over_fences_everybody_but_oneself(project: Workspace, how: str) -> None:
    run = holdfast.start(project, "Add retries").run
    with a_process() as another, own_workspace(project, run, how) as (own, session):
        other = holdfast.join(project, run.id, pid=another.pid).session
        assert [taken.id for taken in holdfast.resume(own, take_over=True).taken_from] == [other.id]
        again = holdfast.join(project, run.id, pid=another.pid).session
        joined = holdfast.join(own, run.id, take_over=True)
        assert [taken.id for taken in joined.taken_from] == [again.id]
        with as_session(project, session.id) as held:
            holdfast.note(held, "still writing")
    assert [event.session for event in events_of(project) if event.kind == "note.added"] == [session.id]


@pytest.mark.parametrize("how", ["HOLDFAST_SESSION", "conversation", "ancestry"])
def test_a_command_is_supervised_inside_the_client_that_holds_the_run(project: Workspace, how: str) -> None:
    run = holdfast.start(project, "Add retries").run
    with own_workspace(project, run, how) as (own, _):
        assert holdfast.run(own, ["true"]).run == run.id


def test_deleting_the_run_that_one_works_on_oneself_is_refused_in_these_words(project: Workspace) -> None:
    run = holdfast.start(project, "Add retries").run
    with own_workspace(project, run, "conversation") as (own, _), pytest.raises(Busy) as refused:
        holdfast.delete(own, run.id)
    assert refused.value.message == f"This session works on run {run.id}"


def test_continue_of_the_orchestrator_prints_its_banner_to_the_agent_that_holds_the_session(project: Workspace) -> None:
    run = holdfast.start(project, "Add retries", layout="orchestrator").run
    with a_process() as child:
        opened(project, run, child.pid)
        env = {**os.environ, "CLAUDE_CODE_SESSION_ID": UUID}
        told = Command.run("continue", directory=project.root, env=env).ok()
    assert f"**Session ID**: {run.id}" in told.out
    assert "works on it" not in told.out + told.err


def runs_of(project: Workspace) -> list[str]:
    """The runs of a conversation's sessions, the newest first."""
    with project.reading() as journal:
        return [found.run for found in journal.sessions_of(UUID)]


@pytest.mark.parametrize("how", ["HOLDFAST_SESSION", "conversation", "ancestry"])
@pytest.mark.parametrize("verb", ["start", "switch", "join", "resume"])
@pytest.mark.defect("`start`, `switch`, `join` and `resume` inside a client left its conversation on the run before")
def test_the_conversation_moves_to_the_run_that_is_chosen_inside_it(project: Workspace, verb: str, how: str) -> None:
    other = holdfast.start(project, "Another thing").run
    run = holdfast.start(project, "Add retries").run
    with own_workspace(project, run, how) as (own, _):
        if verb == "start":
            chosen = holdfast.start(own, "The next thing").run
        else:
            Command.run(verb, other.id, *["--yes"] * (verb == "resume"), directory=own.root, env=dict(own.environ)).ok()
            chosen = other
        assert runs_of(own) == [chosen.id, run.id]
        assert run_of(own).id == chosen.id
        assert run_of(project, run.id).status == "paused"


@pytest.mark.parametrize("verb", ["start", "resume"])
def test_a_session_of_the_orchestrator_that_is_followed_keeps_its_status(project: Workspace, verb: str) -> None:
    first = holdfast.start(project, "First", layout="orchestrator").run
    holdfast.add_task(project, "one")
    run = holdfast.start(project, "Second", layout="orchestrator").run
    holdfast.add_task(project, "two")
    with own_workspace(project, run, "conversation") as (own, _):
        if verb == "start":
            holdfast.start(own, "Third", layout="orchestrator")
        else:
            holdfast.resume(own, first.id)
    left = run_of(project, run.id)
    assert (left.status, left.archived) == ("active", f".claude/orchestrator-history/{run.id}.json")


@pytest.mark.defect("commands in a client that `resume` had started meant the run before after a new one was started")
def test_the_run_that_the_environment_names_yields_once_its_conversation_has_left_it(project: Workspace) -> None:
    run = holdfast.start(project, "Add retries").run
    with a_process() as child:
        opened(project, run, child.pid)
        with with_environ(project, CLAUDE_CODE_SESSION_ID=UUID, HOLDFAST_RUN=run.id) as inside:
            assert run_of(inside).id == run.id
            new = holdfast.start(inside, "The next thing").run
            assert run_of(inside).id == new.id
            assert run_of(inside, run.id).id == run.id
        with with_environ(project, HOLDFAST_RUN=run.id) as outside:
            assert run_of(outside).id == run.id


def test_the_run_that_the_environment_names_is_meant_where_the_conversation_never_was_on_it(project: Workspace) -> None:
    other = holdfast.start(project, "Another thing").run
    run = holdfast.start(project, "Add retries").run
    with a_process() as child:
        opened(project, run, child.pid)
        with with_environ(project, CLAUDE_CODE_SESSION_ID=UUID, HOLDFAST_RUN=other.id) as inside:
            assert run_of(inside).id == other.id


def test_a_run_on_which_another_session_works_stays_active_when_the_conversation_leaves(project: Workspace) -> None:
    run = holdfast.start(project, "Add retries").run
    with a_process() as another, own_workspace(project, run, "conversation") as (own, _):
        holdfast.join(project, run.id, pid=another.pid)
        holdfast.start(own, "The next thing")
        assert run_of(project, run.id).status == "active"


@pytest.mark.defect(
    "after `complete` and `start` in one conversation, commands and calls still meant the completed run"
)
def test_a_conversation_whose_run_has_ended_moves_to_the_one_that_is_started_next(project: Workspace) -> None:
    run = holdfast.start(project, "Add retries").run
    with a_process() as child:
        opened(project, run, child.pid)
        with with_environ(project, CLAUDE_CODE_SESSION_ID=UUID, HOLDFAST_RUN=run.id) as inside:
            holdfast.complete(inside)
            new = holdfast.start(inside, "The next thing").run
            assert runs_of(inside) == [new.id, run.id]
            assert run_of(inside).id == new.id
        assert (run_of(project, run.id).status, run_of(project, new.id).status) == ("completed", "active")


def test_a_conversation_whose_run_was_taken_over_is_moved_nowhere(project: Workspace) -> None:
    run = holdfast.start(project, "Add retries").run
    with a_process() as child:
        opened(project, run, child.pid)
        holdfast.join(project, run.id, take_over=True)
        with with_environ(project, CLAUDE_CODE_SESSION_ID=UUID) as inside:
            holdfast.start(inside, "The next thing")
    assert runs_of(project) == [run.id]


@pytest.mark.defect("with two clients in one worktree, a command in one of them was booked on the run of the other")
def test_a_command_in_a_conversation_means_the_run_of_that_conversation(project: Workspace) -> None:
    run = holdfast.start(project, "Add retries").run
    with a_process() as child:
        opened(project, run, child.pid)
        other = holdfast.start(project, "Another thing").run
        with with_environ(project, CLAUDE_CODE_SESSION_ID=UUID) as inside:
            holdfast.decide(inside, "made in the conversation")
        with with_environ(project, CLAUDE_CODE_SESSION_ID="another") as elsewhere:
            holdfast.decide(elsewhere, "made elsewhere")
    assert [made.text for made in run_of(project, run.id).decisions] == ["made in the conversation"]
    assert [made.text for made in run_of(project, other.id).decisions] == ["made elsewhere"]
