"""Which run a conversation belongs to, and which session: whatever is told twice, late, or never."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

import holdfast
from holdfast.agents.claude import events
from holdfast.core.model import Process, Run, Session, Status
from holdfast.ingest.routing import CallContext, route_call
from holdfast.maintenance.background import run_pending
from holdfast.project.inbox import Call
from holdfast.project.workspace import Workspace
from holdfast.system import process
from tests.tools import Command

NUMBERS = itertools.count(1)
DAY = timedelta(days=1)


@contextmanager
def a_client() -> Iterator[Process]:
    """A process that lives as a client does; gone at the end."""
    started = subprocess.Popen(["sleep", "60"])
    found = process.identify(started.pid)
    assert found is not None
    try:
        yield found
    finally:
        started.kill()
        started.wait()


def tell(
    workspace: Workspace, event: str, conversation: str, client: Process | None, after: timedelta = timedelta(0),
    environment: dict[str, str] | None = None, name: str | None = None, **payload: Any,
) -> int:  # fmt: skip
    """One call of the client, taken in."""
    call = Call(
        name=name or f"{next(NUMBERS):020d}-abcdef01-1-00000000",
        agent="claude",
        event=event,
        time=workspace.clock.now() + after,
        boot=client.boot if client else "",
        monotonic=0,
        directory=str(workspace.root),
        environment=environment or {},
        process=client,
        payload={"hook_event_name": event, "session_id": conversation, "cwd": str(workspace.root), **payload},
    )
    with workspace.writing(for_session=False) as journal:
        return route_call(journal, call, events.read_call(call), CallContext(workspace.worktree, DAY))


def prompt(workspace: Workspace, conversation: str, client: Process, text: str, **more: Any) -> None:
    tell(workspace, "UserPromptSubmit", conversation, client, prompt=text, prompt_id=text, **more)


def runs(workspace: Workspace) -> list[Run]:
    return holdfast.runs(workspace).runs


def sessions(workspace: Workspace, conversation: str) -> list[Session]:
    with workspace.reading() as journal:
        return journal.sessions_of(conversation)


def test_a_conversation_that_only_began_is_no_run(project: Workspace) -> None:
    with a_client() as client:
        tell(project, "SessionStart", "a", client, source="startup")
        assert (runs(project), sessions(project, "a")) == ([], [])
        tell(project, "SessionEnd", "a", client, reason="other")
    assert runs(project) == []


def test_the_first_prompt_is_the_goal_of_a_run(project: Workspace) -> None:
    with a_client() as client:
        tell(project, "SessionStart", "a", client, source="startup")
        prompt(project, "a", client, "Fix the login bug")
        prompt(project, "a", client, "No, the other one")
        (run,) = runs(project)
        assert (run.goal, [given.text for given in run.prompts]) == (
            "Fix the login bug",
            ["Fix the login bug", "No, the other one"],
        )
        (session,) = sessions(project, "a")
        assert (session.run, session.is_open, session.process) == (run.id, True, client)


def test_a_new_conversation_joins_the_open_run_that_nobody_works_on(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
    with a_client() as client:
        tell(project, "SessionStart", "b", client, source="startup")
        (session,) = sessions(project, "b")
        assert [session.run] == [run.id for run in runs(project)]


def test_it_joins_what_somebody_started_by_hand(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
    chosen = holdfast.start(project, "What I want").run.id
    with a_client() as client:
        tell(project, "SessionStart", "b", client, source="startup")
        assert [session.run for session in sessions(project, "b")] == [chosen]


def test_it_joins_nothing_that_was_left_too_long_ago(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
    with a_client() as client:
        tell(project, "SessionStart", "b", client, source="startup", after=2 * DAY)
        assert sessions(project, "b") == []
        prompt(project, "b", client, "Something else", after=2 * DAY)
    assert {run.goal for run in runs(project)} == {"Fix it", "Something else"}


def test_two_that_live_in_one_worktree_are_two_runs(project: Workspace) -> None:
    with a_client() as one, a_client() as other:
        prompt(project, "a", one, "This")
        tell(project, "SessionStart", "b", other, source="startup")
        prompt(project, "b", other, "That")
        assert {run.goal for run in runs(project)} == {"This", "That"}


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_a_conversation_that_goes_on_stays_in_its_run(project: Workspace, source: str) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
        before = sessions(project, "a")
        tell(project, "SessionStart", "a", client, source=source)
        assert [found.id for found in sessions(project, "a")] == [found.id for found in before]


def test_one_that_is_resumed_by_another_process_closes_what_the_dead_one_left(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
    with a_client() as client:
        tell(project, "SessionStart", "a", client, source="resume")
        new, old = sessions(project, "a")
        assert (new.is_open, old.how, new.run) == (True, "died", old.run)
        assert len(runs(project)) == 1


def test_two_processes_on_one_conversation_are_two_sessions_of_one_run(project: Workspace) -> None:
    with a_client() as one, a_client() as other:
        prompt(project, "a", one, "Fix it")
        tell(project, "SessionStart", "a", other, source="resume")
        assert [found.is_open for found in sessions(project, "a")] == [True, True]
        assert len(runs(project)) == 1


def test_what_follows_a_clear_is_found_by_its_process(project: Workspace) -> None:
    with a_client() as one, a_client() as other:
        prompt(project, "a", one, "This")
        prompt(project, "b", other, "That")
        tell(project, "SessionEnd", "a", one, reason="clear")
        tell(project, "SessionStart", "c", one, source="clear")
        assert [found.run for found in sessions(project, "c")] == [sessions(project, "a")[0].run]


def test_a_fork_goes_on_in_the_run_that_was_worked_on_last(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
    with a_client() as client:
        tell(project, "SessionStart", "b", client, source="fork")
        assert [found.run for found in sessions(project, "b")] == [sessions(project, "a")[0].run]


def test_a_start_and_an_end_that_are_told_again_and_again_are_one(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
        for _ in range(3):
            tell(project, "SessionStart", "a", client, source="startup")
        for _ in range(3):
            tell(project, "SessionEnd", "a", client, reason="other")
        (session,) = sessions(project, "a")
        assert (session.how, session.reason) == ("ended", "other")


def test_a_late_word_does_not_open_what_has_ended(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
        tell(project, "SessionEnd", "a", client, reason="other")
        tell(project, "Stop", "a", client, last_assistant_message="done")
        (session,) = sessions(project, "a")
        assert not session.is_open
        assert runs(project)[0].reply == "done"


def test_an_action_that_is_told_twice_and_late_is_counted_once(project: Workspace) -> None:
    asked = {"file_path": str(project.root / "x")}
    done: dict[str, Any] = {"tool_name": "Write", "tool_use_id": "t1", "tool_input": asked}
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
        tell(project, "PostToolBatch", "a", client, tool_calls=[done])
        tell(project, "PreToolUse", "a", client, **done)
        tell(project, "PostToolUse", "a", client, **done)
        (run,) = runs(project)
        assert ([action.text for action in run.actions], run.doing, list(run.files)) == (["Write: x"], {}, ["x"])


def test_what_was_begun_and_never_ended_is_known(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
        tell(project, "PreToolUse", "a", client, tool_name="Bash", tool_use_id="t", tool_input={"command": "make"})
    assert "- interrupted in: Bash: make [" in holdfast.brief(project).text


@pytest.mark.defect(
    "`status` and the brief told what a session was in the middle of that had died as if the living one were doing it"
)
def test_what_a_dead_session_was_interrupted_in_is_told_apart_from_what_a_living_one_does(project: Workspace) -> None:
    begun: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make"}}
    with a_client() as living:
        with a_client() as dying:
            prompt(project, "a", dying, "Fix it")
            (run,) = runs(project)
            prompt(project, "b", living, "Help", environment={"HOLDFAST_RUN": run.id})
            tell(project, "PreToolUse", "a", dying, tool_use_id="t1", **begun)
            tell(project, "PreToolUse", "b", living, tool_use_id="t2", **begun)
            (first,), (second,) = sessions(project, "a"), sessions(project, "b")
            assert told_by_status(project) == [
                f"In the middle of: Bash: make ({first.id})",
                f"In the middle of: Bash: make ({second.id})",
            ]
        broken_off = f"Interrupted in: Bash: make ({first.id})"
        assert told_by_status(project) == [broken_off, f"In the middle of: Bash: make ({second.id})"]
        brief = holdfast.brief(project).text
        assert f"- interrupted in: Bash: make ({first.id}) [" in brief
        assert f"- in the middle of: Bash: make ({second.id}) [" in brief
        tell(project, "Stop", "b", living, last_assistant_message="done")
        assert told_by_status(project) == [broken_off]
        with a_client() as next_one:
            prompt(project, "a", next_one, "go on")
            assert told_by_status(project) == [broken_off]
            tell(project, "Stop", "a", next_one, last_assistant_message="done")
            assert told_by_status(project) == []


def told_by_status(project: Workspace) -> list[str]:
    said = Command.run("status", directory=project.root).ok().out.splitlines()
    return [line for line in said if line.startswith(("In the middle of: ", "Interrupted in: "))]


def test_a_run_that_the_environment_names_wins(project: Workspace) -> None:
    chosen = holdfast.start(project, "Chosen").run.id
    holdfast.start(project, "Another")
    with a_client() as client:
        prompt(project, "a", client, "Fix it", environment={"HOLDFAST_RUN": chosen})
    with project.reading() as journal:
        found = journal.find_run(chosen)
    assert found is not None
    assert [given.text for given in found.prompts] == ["Fix it"]


def begin(workspace: Workspace, client: Process, conversation: str = "new", **more: Any) -> list[str]:
    """A conversation begins; answers with the runs of its sessions."""
    tell(workspace, "SessionStart", conversation, client, source="startup", **more)
    return [session.run for session in sessions(workspace, conversation)]


def status(workspace: Workspace, run: str) -> Status:
    return next(found.status for found in runs(workspace) if found.id == run)


def choose_by_switch(workspace: Workspace, run: str) -> None:
    holdfast.switch(workspace, run)


def choose_by_resume(workspace: Workspace, run: str) -> None:
    holdfast.resume(workspace, run)
    holdfast.pause(workspace, run)


@pytest.mark.defect(
    "A new conversation started a run of its own although a paused run had been chosen with `switch` or `resume`."
)
@pytest.mark.parametrize("choose", [choose_by_switch, choose_by_resume])
@pytest.mark.parametrize("after", [timedelta(0), 30 * DAY])
def test_it_joins_the_paused_run_that_was_chosen_however_old(
    project: Workspace, choose: Callable[[Workspace, str], None], after: timedelta
) -> None:
    first = holdfast.start(project, "first").run.id
    holdfast.start(project, "second")
    choose(project, first)
    with a_client() as client:
        assert begin(project, client, after=after) == [first]
        assert status(project, first) is Status.PAUSED
        tell(project, "UserPromptSubmit", "new", client, prompt="*status")
        assert status(project, first) is Status.PAUSED
        prompt(project, "new", client, "Go on")
        assert status(project, first) is Status.ACTIVE
    assert len(runs(project)) == 2


def test_a_run_that_a_conversation_began_is_chosen_by_switch(project: Workspace) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Fix it")
        tell(project, "SessionEnd", "a", client, reason="other")
    (run,) = runs(project)
    assert run.unasked
    holdfast.switch(project, run.id)
    assert not runs(project)[0].unasked
    with a_client() as client:
        assert begin(project, client, after=30 * DAY) == [run.id]


def test_a_chosen_run_that_a_living_process_works_on_is_not_joined(project: Workspace) -> None:
    run = holdfast.start(project, "Fix it").run.id
    with a_client() as one, a_client() as other:
        assert begin(project, one, "a") == [run]
        assert begin(project, other, "b") == []


def test_a_look_at_how_to_resume_chooses_nothing(project: Workspace) -> None:
    first = holdfast.start(project, "first").run.id
    second = holdfast.start(project, "second").run.id
    holdfast.resume(project, first, dry_run=True)
    with a_client() as client:
        assert begin(project, client) == [second]


def test_the_run_of_the_conversation_that_was_killed_is_joined_beside_others_that_are_paused(
    project: Workspace,
) -> None:
    with a_client() as client:
        prompt(project, "a", client, "Old", after=-3 * DAY)
    (old,) = runs(project)
    with a_client() as client:
        prompt(project, "b", client, "Fix it")
    holdfast.pause(project, old.id)
    with a_client() as client:
        assert begin(project, client) == [sessions(project, "b")[0].run]


@pytest.mark.defect("A paused run was active again once the client had ended.")
@pytest.mark.parametrize("layout", ["native", "orchestrator", "go-team"])
def test_a_run_that_was_paused_stays_paused_when_the_client_ends(project: Workspace, layout: str) -> None:
    run = holdfast.start(project, "Fix it", layout=layout).run.id
    with a_client() as client:
        begin(project, client)
        prompt(project, "new", client, "Fix it")
        tell(project, "PreToolUse", "new", client, tool_name="Bash", tool_use_id="t", tool_input={"command": "x"})
        holdfast.pause(project)
        tell(project, "PostToolUse", "new", client, tool_name="Bash", tool_use_id="t", tool_input={"command": "x"})
        tell(project, "Stop", "new", client, last_assistant_message="It is paused")
        tell(project, "Notification", "new", client, notification_type="idle_prompt")
        tell(project, "SessionEnd", "new", client, reason="prompt_input_exit")
    holdfast.sweep(project)
    assert status(project, run) is Status.PAUSED


@pytest.mark.parametrize(("event", "is_its_turn"), [("Stop", True), ("SessionEnd", True), ("UserPromptSubmit", False)])
def test_a_checkpoint_after_a_call_belongs_to_the_run_of_that_call(
    project: Workspace, event: str, is_its_turn: bool
) -> None:
    name = f"{10**15:020d}-abcdef01-1-00000000"
    with a_client() as one, a_client() as other:
        prompt(project, "a", one, "This")
        prompt(project, "b", other, "That")
        (project.root / "made-by-bash").write_text("x")
        tell(project, event, "b", other, name=name, prompt="Go on")
        (first,), (session,) = sessions(project, "a"), sessions(project, "b")
        with project.reading() as journal:
            assert journal.view.pointer(project.worktree) == first.run != session.run
        assert run_pending(project, name) == 1
        (made,) = holdfast.checkpoints(project).checkpoints
    assert (made.run, made.session) == (session.run, session.id if is_its_turn else None)


BASH: dict[str, Any] = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make"}}


@pytest.mark.defect(
    "A quick edit that was in the checkpoint of its own prompt was attributed to no session.", promise=9
)
@pytest.mark.parametrize(("conversation", "is_author"), [("a", False), ("b", True)])
def test_the_checkpoint_of_a_prompt_belongs_to_its_session_once_that_has_acted(
    project: Workspace, conversation: str, is_author: bool
) -> None:
    name = f"{10**15:020d}-abcdef01-1-00000000"
    with a_client() as one, a_client() as other:
        prompt(project, "a", one, "This")
        tell(project, "UserPromptSubmit", "b", other, name=name, prompt="That")
        tell(project, "PreToolUse", conversation, one if conversation == "a" else other, **BASH)
        (session,) = sessions(project, "b")
        (project.root / "made-by-bash").write_text("x")
        assert run_pending(project, name) == 1
        (made,) = holdfast.checkpoints(project).checkpoints
    assert (made.run, made.session) == (session.run, session.id if is_author else None)


@pytest.mark.defect(
    "Calls of a conversation whose start and prompt were not recorded were kept, but no command showed them."
)
def test_the_first_action_of_a_conversation_starts_a_run_whose_goal_is_its_first_prompt(project: Workspace) -> None:
    with a_client() as client:
        tell(project, "PostToolUse", "a", client, **BASH)
        (run,) = runs(project)
        assert (run.goal, run.status, [action.text for action in run.actions]) == (
            "Work of claude",
            Status.ACTIVE,
            ["Bash: make"],
        )
        assert [(session.run, session.is_open) for session in sessions(project, "a")] == [(run.id, True)]
        prompt(project, "a", client, "Fix it")
        prompt(project, "a", client, "Then that")
        (run,) = runs(project)
        assert run.goal == "Fix it"


def test_the_first_action_of_a_conversation_joins_the_chosen_run_and_wakes_it(project: Workspace) -> None:
    first = holdfast.start(project, "first").run.id
    holdfast.start(project, "second")
    holdfast.switch(project, first)
    with a_client() as client:
        tell(project, "PreToolUse", "a", client, **BASH)
        assert [session.run for session in sessions(project, "a")] == [first]
        assert (status(project, first), runs(project)[0].goal) == (Status.ACTIVE, "first")


def test_the_first_action_beside_a_living_client_starts_a_run_of_its_own(project: Workspace) -> None:
    with a_client() as one, a_client() as other:
        prompt(project, "a", one, "This")
        tell(project, "PostToolUse", "b", other, **BASH)
        assert {run.goal for run in runs(project)} == {"This", "Work of claude"}


@pytest.mark.parametrize(
    ("event", "payload"),
    [
        ("SessionStart", {"source": "startup"}),
        ("UserPromptSubmit", {"prompt": "*status"}),
        ("Notification", {"notification_type": "idle_prompt"}),
        ("Stop", {}),
        ("SessionEnd", {"reason": "other"}),
    ],
)
def test_a_conversation_that_has_done_nothing_starts_no_run(
    project: Workspace, event: str, payload: dict[str, Any]
) -> None:
    with a_client() as client:
        tell(project, event, "a", client, **payload)
        assert runs(project) == []
