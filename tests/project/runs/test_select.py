"""Which run is meant: the one that is named, the session's, the worktree's, or the only one; else all are listed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import Ambiguous, NotFound
from holdfast.core.model import Run
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.sessions import a_worktree, run_of, with_environ


def forget_pointer(project: Workspace) -> None:
    with project.writing() as journal:
        journal.point(project.worktree, None)


@pytest.fixture
def two(project: Workspace) -> tuple[Run, Run]:
    """Two open runs; the second one is current."""
    return holdfast.start(project, "first").run, holdfast.start(project, "second").run


def test_name_counts_most(project: Workspace, two: tuple[Run, Run]) -> None:
    first, second = two
    with with_environ(project, HOLDFAST_RUN=second.id) as workspace:
        assert holdfast.note(workspace, "text", run=first.id).run == first.id


@pytest.mark.parametrize("name", ["ledger", "led", "WHOLE"])
def test_ledger_of_a_worktree_is_no_run_by_any_name(project: Workspace, two: tuple[Run, Run], name: str) -> None:
    """It holds what happens to the worktree itself, and could be switched to, completed and deleted."""
    holdfast.checkpoint(project)
    with project.reading() as journal:
        ledger = journal.ledger_of(project.worktree)
    assert ledger is not None
    for verb in (holdfast.switch, holdfast.delete, holdfast.complete, holdfast.resume):
        with pytest.raises(NotFound, match="There is no run"):
            verb(project, ledger.id if name == "WHOLE" else name)


def test_environment_counts_more_than_session_and_worktree(project: Workspace, two: tuple[Run, Run]) -> None:
    first, second = two
    session = holdfast.join(project, second.id).session
    with with_environ(project, HOLDFAST_RUN=first.id, HOLDFAST_SESSION=session.id) as workspace:
        assert run_of(workspace).id == first.id
    with with_environ(project, HOLDFAST_RUN=first.id[-8:]) as workspace:
        assert run_of(workspace).id == first.id


def test_session_counts_more_than_the_worktree(project: Workspace, two: tuple[Run, Run]) -> None:
    first, second = two
    session = holdfast.join(project, first.id).session
    holdfast.switch(project, second.id)
    with with_environ(project, HOLDFAST_SESSION=session.id) as workspace:
        assert run_of(workspace).id == first.id
    with with_environ(project, HOLDFAST_SESSION="ses-0000000000") as workspace:
        assert run_of(workspace).id == second.id


def test_worktree_remembers_its_run(project: Workspace, two: tuple[Run, Run]) -> None:
    assert run_of(project).id == two[1].id
    holdfast.switch(project, two[0].id)
    assert run_of(project).id == two[0].id


def test_run_of_a_subdirectory_is_that_of_the_worktree(project: Workspace, two: tuple[Run, Run]) -> None:
    (project.root / "a" / "b").mkdir(parents=True)
    with holdfast.open(project.root / "a" / "b") as workspace:
        assert run_of(workspace).id == two[1].id


def test_only_open_run_is_meant(project: Workspace, two: tuple[Run, Run]) -> None:
    holdfast.complete(project)
    assert run_of(project).id == two[0].id


def test_several_open_runs_are_listed_with_what_they_are(project: Workspace, two: tuple[Run, Run]) -> None:
    forget_pointer(project)
    with pytest.raises(Ambiguous) as several:
        holdfast.note(project, "for whom")
    assert dict(several.value.facts) == {two[0].id: "paused, first", two[1].id: "created, second"}
    assert any("holdfast switch" in hint for hint in several.value.hints)
    assert [run_of(project, run.id).notes for run in two] == [[], []]


def test_last_run_is_meant_when_none_is_open(project: Workspace, two: tuple[Run, Run]) -> None:
    for run in (two[1], two[0]):
        holdfast.complete(project, run.id)
    assert run_of(project).id == two[0].id


def test_runs_of_other_worktrees_are_not_meant(project: Workspace, clock: TickingClock, tmp_path: Path) -> None:
    holdfast.start(project, "here")
    with a_worktree(project, tmp_path / "tree", clock) as other:
        with pytest.raises(NotFound, match="No run is open here"):
            run_of(other)
        there = holdfast.start(other, "there").run
        assert run_of(other).id == there.id
    assert run_of(project).goal == "here"


def test_no_run_at_all_says_how_to_begin(project: Workspace) -> None:
    with pytest.raises(NotFound) as none:
        holdfast.brief(project)
    assert any("holdfast start" in hint for hint in none.value.hints)


# names


def test_any_beginning_or_end_that_only_one_has_is_a_name(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    bare = run.removeprefix("run-")
    names = (run, run[:-1], run[:8], bare, bare[:5], bare[1:], bare[-4:], run.upper())
    for name in (name for name in names if not name.isdecimal()):  # one of a hundred ends is a number, so a row
        assert run_of(project, name).id == run, name


def test_name_that_several_have_lists_them(project: Workspace, two: tuple[Run, Run]) -> None:
    for name in ("run-", "r", "RUN"):
        with pytest.raises(Ambiguous) as several:
            run_of(project, name)
        assert {id for id, _ in several.value.facts} == {run.id for run in two}


def test_number_is_a_row_of_the_last_list(project: Workspace, two: tuple[Run, Run]) -> None:
    holdfast.runs(project)
    assert [run_of(project, number).id for number in ("1", "2")] == [two[1].id, two[0].id]
    holdfast.runs(project, status=("paused",))
    assert run_of(project, "1").id == two[0].id
    with pytest.raises((NotFound, Ambiguous)):
        run_of(project, "99999")


def test_row_of_sessions_is_another_list(project: Workspace, two: tuple[Run, Run]) -> None:
    session = holdfast.join(project, two[0].id).session
    holdfast.runs(project)
    holdfast.sessions(project, every=True)
    assert holdfast.leave(project, "1").session.id == session.id
    assert run_of(project, "1").id == two[0].id


def test_list_that_was_damaged_names_nothing(project: Workspace, two: tuple[Run, Run]) -> None:
    holdfast.runs(project)
    for content in (b"", b"{", b"[]", b'{"run": 3}', b"\xff"):
        (project.place / "listed.json").write_bytes(content)
        assert run_of(project).id == two[1].id
        with pytest.raises((NotFound, Ambiguous)):
            run_of(project, "99")


def test_mistyped_name_is_suggested(project: Workspace) -> None:
    run = holdfast.start(project, "goal").run.id
    mistyped = run[:6] + ("z" if run[6] != "z" else "y") + run[7:]
    with pytest.raises(NotFound) as none:
        run_of(project, mistyped)
    assert f"did you mean `{run}`?" in none.value.hints


@pytest.mark.promise(19, 21)
def test_no_name_breaks_a_verb(project: Workspace) -> None:
    holdfast.start(project, "goal")
    before = sorted(project.root.parent.rglob("*"))
    names = [
        "../../etc",
        "/",
        "%",
        "_",
        "\\",
        "a" * 100_000,
        "\0",
        "\n",
        "\udcff",
        "--help",
        "²",
        "'",
        "run-\u202e",
        "-1",
    ]
    for name in names:
        with pytest.raises(NotFound) as none:
            run_of(project, name)
        assert len(none.value.message) < 200, name
    assert sorted(project.root.parent.rglob("*")) == before


def test_deleted_run_is_not_meant_any_more(project: Workspace, two: tuple[Run, Run]) -> None:
    holdfast.delete(project, two[1].id)
    assert run_of(project).id == two[0].id


def test_submodule_belongs_to_the_project_around_it(project: Workspace, tmp_path: Path) -> None:
    holdfast.start(project, "outer")
    git = ["git", "-c", "protocol.file.allow=always", "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q", str(tmp_path / "lib")], check=True)
    subprocess.run([*git, "-C", str(tmp_path / "lib"), "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    add = [*git, "-C", str(project.root), "submodule", "--quiet", "add", str(tmp_path / "lib"), "lib"]
    subprocess.run(add, check=True, capture_output=True)
    with holdfast.open(project.root / "lib") as workspace:
        assert run_of(workspace).goal == "outer"
