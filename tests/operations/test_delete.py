"""Deleting a run: all that is its own goes, what it shares stays, and nobody is robbed of the run he works on."""

from __future__ import annotations

import apsw
import pytest
from msgspec import structs

import holdfast
from holdfast.core.errors import Busy, NotFound
from holdfast.project.workspace import Workspace
from holdfast.system import process
from tests.go_team_project import Team
from tests.hook_calls import keep_by_hand
from tests.sessions import a_process, as_session, kill, kinds_of, run_of, stop

LARGE = "a large text " * 200


TABLES = ("run", "event", "session", "snapshot", "blob", "blob_use", "label", "pointer")


def rows(project: Workspace) -> dict[str, int]:
    """How many rows each table of the store has."""
    connection = apsw.Connection(str(project.place / "journal.db"), flags=apsw.SQLITE_OPEN_READWRITE)
    found = {table: len(list(connection.execute(f"SELECT 1 FROM {table}"))) for table in TABLES}
    connection.close()
    return found


def fill(project: Workspace, goal: str) -> str:
    run = holdfast.start(project, goal, agent="robot").run
    holdfast.join(project, agent="robot")
    holdfast.tag(project, ("one",))
    holdfast.decide(project, LARGE)
    holdfast.note(project, f"about {goal}")
    return run.id


def test_nothing_is_left_of_a_deleted_run(project: Workspace) -> None:
    before = rows(project)
    run = fill(project, "goal")
    deleted = holdfast.delete(project, run)
    assert (deleted.run, deleted.goal) == (run, "goal")
    assert deleted.events == 6
    assert rows(project) == before
    assert holdfast.runs(project, search="about").runs == []
    for look in (lambda: holdfast.show(project, run), lambda: holdfast.log(project, run=run)):
        with pytest.raises(NotFound):
            look()


def test_what_two_runs_share_stays_with_the_other(project: Workspace) -> None:
    first, second = fill(project, "first"), fill(project, "second")
    holdfast.delete(project, first)
    assert run_of(project, second).decisions[0].text == LARGE
    holdfast.delete(project, second)
    assert rows(project)["blob"] == 0


@pytest.mark.promise(11)
@pytest.mark.parametrize("stopped", [False, True])
def test_run_on_which_somebody_alive_works_is_not_deleted(project: Workspace, stopped: bool) -> None:
    with a_process() as child:
        started = holdfast.start(project, "goal", pid=child.pid)
        if stopped:
            stop(child)
        with pytest.raises(Busy) as busy:
            holdfast.delete(project, started.run.id)
        assert dict(busy.value.facts)["process"] == str(child.pid)
        assert run_of(project).seq == 2
        kill(child)
        holdfast.delete(project, started.run.id)
    assert holdfast.runs(project).runs == []


@pytest.mark.promise(11)
def test_run_on_which_somebody_may_work_elsewhere_is_given_up_before_it_is_deleted(
    project: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with a_process() as child:
        run = holdfast.start(project, "goal", pid=child.pid).run.id
        in_a_container = structs.replace(process.here(), namespace="another")
        monkeypatch.setattr(process, "here", lambda: in_a_container)
        with pytest.raises(Busy) as busy:
            holdfast.delete(project, run)
        assert any("holdfast abandon" in hint for hint in busy.value.hints)
        holdfast.abandon(project, run)
        assert holdfast.delete(project, run).run == run


def test_session_without_a_process_refuses_nobody(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    holdfast.join(project)
    assert holdfast.delete(project, run.id).run == run.id


def test_session_may_delete_its_own_run(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    session = holdfast.join(project).session
    with as_session(project, session.id) as mine:
        holdfast.delete(mine, run.id)
    assert holdfast.runs(project).runs == []


def test_call_of_a_deleted_run_is_still_kept(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run
    session = holdfast.join(project).session
    holdfast.delete(project, run.id)
    keep_by_hand(project.inbox, b'{"a": 1}', env__HOLDFAST_SESSION=session.id, env__HOLDFAST_RUN=run.id)
    holdfast.sweep(project)
    (found,) = holdfast.runs(project).runs
    assert found.id != run.id
    assert kinds_of(project, found.id) == ["run.started", "call.kept"]


def test_run_must_be_named(project: Workspace) -> None:
    holdfast.start(project, "goal")
    for name in ("", "run-0000000000", "\udcff", "%"):
        with pytest.raises(NotFound):
            holdfast.delete(project, name)
    assert len(holdfast.runs(project).runs) == 1


def test_a_deleted_run_of_a_go_team_does_not_come_back_by_its_files(project: Workspace) -> None:
    """It came back when the registry was lost, and was then rebuilt from the directories that are there."""
    team = Team(project)
    stays, goes = team.begin("stays").id, team.begin("goes").id
    (team.root / goes / "theirs.txt").write_text("not ours")
    holdfast.delete(project, goes)
    (team.root / "sessions.json").unlink()
    holdfast.status(project)
    assert [run.id for run in holdfast.runs(project).runs] == [stays]
    assert [path.name for path in (team.root / goes).iterdir()] == ["theirs.txt"]
