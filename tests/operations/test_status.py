"""Where we are, in every situation one can be in; and what the next session is told."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound
from holdfast.core.model import Status
from holdfast.project import inbox_writer
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.hook_calls import keep_by_hand
from tests.sessions import a_process, a_worktree, kill, run_of, stop, with_environ


def test_without_a_store_it_says_so_and_makes_none(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        found = holdfast.status(workspace)
    assert (found.directory, found.store, found.run, found.off) == (str(repository), None, None, False)
    assert not (repository / ".git" / "holdfast").exists()


def test_without_a_run_it_says_so(project: Workspace) -> None:
    found = holdfast.status(project)
    assert (found.store, found.run, found.others) == (str(project.place), None, [])


def test_run_is_told_with_those_who_work_on_it(project: Workspace) -> None:
    with a_process() as child:
        started = holdfast.start(project, "goal", pid=child.pid)
        plain = holdfast.join(project).session
        stop(child)
        found = holdfast.status(project)
        assert found.run is not None
        assert (found.run.id, found.run.status) == (started.run.id, Status.ACTIVE)
        assert started.session is not None
        present = {presence.session.id: (presence.alive, presence.evidence) for presence in found.present}
        assert present == {
            started.session.id: (True, f"process {child.pid} is running"),
            plain.id: (None, "no process is known"),
        }


def test_several_open_runs_without_a_current_one_are_listed(project: Workspace) -> None:
    runs = [holdfast.start(project, goal).run.id for goal in ("first", "second")]
    assert [other.id for other in holdfast.status(project).others] == [runs[0]]
    with project.writing() as journal:
        journal.point(project.worktree, None)
    found = holdfast.status(project)
    assert (found.run, {other.id for other in found.others}) == (None, set(runs))


def test_last_session_tells_how_it_ended(project: Workspace) -> None:
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        kill(child)
    found = holdfast.status(project)
    assert found.last_session is not None
    assert (found.last_session.how, found.present) == ("died", [])
    assert str(child.pid) in (found.last_session.reason or "")


def test_named_run_must_be_there(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    found = holdfast.status(project, run=run.id[:9])
    assert found.run is not None
    assert found.run.id == run.id
    with pytest.raises(NotFound):
        holdfast.status(project, run="run-0000000000")
    with with_environ(project, HOLDFAST_RUN="run-0000000000") as workspace, pytest.raises(NotFound):
        holdfast.status(workspace)


def test_troubles_and_what_was_set_aside_are_told(project: Workspace) -> None:
    inbox_writer.note_trouble(str(project.place), "robot", "Did", OSError("no room"))
    strange = keep_by_hand(project.inbox, b"not json")
    found = holdfast.status(project)
    assert found.set_aside == [strange.name]
    (trouble,) = found.troubles
    assert trouble.split(" ", 1)[1] == "robot Did no room"


def test_warnings_about_settings_are_told(project: Workspace) -> None:
    (project.root / ".holdfast.toml").write_text("[store]\ndeadline = 1\n")
    with holdfast.open(project.root) as fresh:
        (warning,) = holdfast.status(fresh).warnings
    assert "store.deadline" in warning


def test_off_is_told(project: Workspace) -> None:
    holdfast.off(project)
    assert holdfast.status(project).off
    holdfast.on(project)
    with with_environ(project, HOLDFAST="0") as workspace:
        assert holdfast.status(workspace).off


def test_status_is_the_state_after_all_kept_calls(project: Workspace) -> None:
    holdfast.start(project, "goal")
    keep_by_hand(project.inbox)
    found = holdfast.status(project)
    assert found.run is not None
    assert (found.run.calls, found.run.last_call) == (1, "robot Did")


# brief


def test_brief_tells_the_state_within_its_budget(project: Workspace) -> None:
    holdfast.start(project, "Add retries")
    holdfast.decide(project, "Use backoff", because="load")
    holdfast.add_task(project, "Write the test")
    for number in range(50):
        holdfast.note(project, f"note {number} " + "x" * 100)
    found = holdfast.brief(project)
    for text in ("Add retries", "Use backoff", "because load", "Write the test", "note 49"):
        assert text in found.text
    assert len(found.text) <= found.budget == 10_000
    short = holdfast.brief(project, budget=600)
    assert len(short.text) <= 600
    assert "Add retries" in short.text
    assert any("Notes" in left for left in short.left_out)


def test_brief_says_why_the_last_session_stopped(project: Workspace) -> None:
    with a_process() as child:
        holdfast.start(project, "goal", pid=child.pid)
        kill(child)
    assert f"process {child.pid} is gone" in holdfast.brief(project).text


def test_brief_of_a_revoked_decision_is_silent(project: Workspace) -> None:
    holdfast.start(project, "goal")
    holdfast.decide(project, "Use a database")
    holdfast.revoke(project, "1")
    assert "database" not in holdfast.brief(project).text


@pytest.mark.promise(24)
def test_brief_holds_nothing_that_acts_instead_of_being_read(project: Workspace) -> None:
    hostile = "\x1b]52;c;AAAA\x07 \u202e \u200b \U000e0041 \x9b31m"
    holdfast.start(project, f"goal {hostile}")
    holdfast.decide(project, f"decision {hostile}", because=hostile + "x")
    holdfast.action(project, f"action {hostile}", files=(f"file {hostile}",))
    text = holdfast.brief(project).text
    assert not [letter for letter in text if letter in "\x1b\x07\u202e\u200b\U000e0041\x9b"]
    assert "decision" in text


def test_brief_of_a_session_is_that_of_its_run(project: Workspace) -> None:
    first = holdfast.start(project, "first").run
    session = holdfast.join(project).session
    holdfast.start(project, "second")
    with with_environ(project, HOLDFAST_SESSION=session.id) as workspace:
        assert holdfast.brief(workspace).run == first.id
    assert holdfast.brief(project).run == run_of(project).id


def test_budget_comes_from_the_settings(project: Workspace) -> None:
    holdfast.start(project, "goal")
    with with_environ(project, HOLDFAST_BRIEF_BUDGET="777") as workspace:
        assert holdfast.brief(workspace).budget == 777
    assert os.environ.get("HOLDFAST_BRIEF_BUDGET") is None


LOST = "Claude Code is not recorded here any more"


def test_it_says_that_the_calls_of_init_are_gone(project: Workspace) -> None:
    holdfast.init(project, agent="claude")
    assert holdfast.status(project).warnings == []
    shutil.rmtree(project.root / ".claude")  # as `git clean -fdx` does
    with with_environ(project) as opened:
        (told,) = holdfast.status(opened).warnings
    assert (LOST in told, "`holdfast init --scope local`" in told) == (True, True)
    holdfast.init(project, agent="claude")
    with with_environ(project) as opened:
        assert holdfast.status(opened).warnings == []


def test_calls_that_were_taken_out_on_purpose_or_stand_elsewhere_are_not_missed(project: Workspace) -> None:
    holdfast.init(project, agent="claude")
    holdfast.uninit(project)
    assert holdfast.status(project).warnings == []
    holdfast.init(project, agent="claude")
    holdfast.init(project, scope="user")
    shutil.rmtree(project.root / ".claude")
    assert holdfast.status(project).warnings == []


def test_a_linked_worktree_misses_the_calls_of_the_main_one(
    project: Workspace, tmp_path: Path, clock: TickingClock
) -> None:
    holdfast.init(project, agent="claude")
    with a_worktree(project, tmp_path / "linked", clock) as linked:
        assert holdfast.status(linked).warnings == []
        shutil.rmtree(project.root / ".claude")
        assert LOST in holdfast.status(linked).warnings[0]
