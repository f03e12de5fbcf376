"""What each run takes on the disk, and that it adds up to what is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import WrongUsage
from holdfast.core.model import Draft
from holdfast.project.workspace import Workspace
from tests.maintenance.test_quota import words, worked
from tests.tools import Command
from tests.worktrees import put, take


def on_disk(root: Path) -> int:
    """All files of the store, and our packs."""
    store = [path for path in (root / ".git/holdfast").rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in [*store, *(root / ".git/objects/pack").iterdir()])


def test_the_largest_run_comes_first_and_all_adds_up_to_what_is_on_the_disk(project: Workspace) -> None:
    small = worked(project, "small", calls=1, size=2_000)
    large = worked(project, "large", calls=10)
    coded = holdfast.start(project, "code").run.id
    put(project.root, {"noise": os.urandom(150_000)})
    take(project)
    found = holdfast.sizes(project)
    assert [run.run for run in found.runs] == [coded, large, small]
    assert found.runs[0].checkpoints > 150_000 > found.runs[0].events
    assert found.runs[1].values > 100_000
    assert [run.total for run in found.runs] == [run.events + run.values + run.checkpoints for run in found.runs]
    assert sum(run.total for run in found.runs) + found.others + sum(found.rest.values()) == found.room.total
    assert found.room.total == on_disk(project.root)
    assert all(size >= 0 for size in found.rest.values()), found.rest
    assert found.rest["indexes, search and free pages"] < 600_000


def test_runs_that_are_not_listed_are_counted(project: Workspace) -> None:
    for number in range(3):
        worked(project, f"goal {number}", calls=number + 1)
    every, first = holdfast.sizes(project), holdfast.sizes(project, limit=1)
    assert every.others == 0
    assert first.runs == every.runs[:1]
    assert first.others == sum(run.total for run in every.runs[1:])
    with pytest.raises(WrongUsage):
        holdfast.sizes(project, limit=0)


def test_what_runs_share_belongs_to_none_of_them(project: Workspace) -> None:
    shared = words(5, 50_000)
    for goal in ("one", "other"):
        run = holdfast.start(project, goal).run.id
        with project.writing() as journal:
            journal.append(run, Draft("call.kept", {"agent": "a", "event": "b", "call": shared}))
    found = holdfast.sizes(project)
    assert [run.values for run in found.runs] == [0, 0]
    assert found.rest["values that several runs share"] > 30_000


def test_the_command_shows_a_table_and_where_the_rest_goes(project: Workspace) -> None:
    run = worked(project, "large", calls=10)
    told = Command.run("runs", "--size", directory=project.root).ok()
    assert told.out.splitlines()[1].startswith(f"{run}  0.1 MB")
    assert "No run's own: indexes, search and free pages" in told.err
    assert "All together: 0." in told.err
    assert Command.run("runs", "--size", "--json", directory=project.root).ok().json["runs"][0]["run"] == run


@pytest.mark.parametrize("option", [["--here"], ["--status", "open"], ["--all-projects"], ["--since", "3d"]], ids=str)
def test_it_is_about_all_runs_so_filters_are_refused(project: Workspace, option: list[str]) -> None:
    assert Command.run("runs", "--size", *option, directory=project.root).code == 2
