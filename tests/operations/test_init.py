"""Preparing a project, switching it off and on, its settings."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotFound, Refused, WrongUsage
from holdfast.project import settings
from holdfast.project.workspace import Workspace
from tests.hook_calls import keep_by_hand
from tests.sessions import run_of, with_environ
from tests.tools import Command


def test_init_makes_a_store_once(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        first, second = holdfast.init(workspace), holdfast.init(workspace)
        assert (first.created, second.created) == (True, False)
        assert first.store == str(repository / ".git" / "holdfast")
        assert holdfast.verify(workspace).runs == 0


@pytest.mark.promise(22)
def test_everything_in_a_store_is_the_users_alone(project: Workspace) -> None:
    holdfast.start(project, "goal")
    holdfast.runs(project)
    keep_by_hand(project.inbox, b"not json")
    holdfast.sweep(project)
    holdfast.off(project)
    holdfast.on(project)
    for path in [project.place, *project.place.rglob("*")]:
        if "aside" not in path.parts[-2:]:
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert stat.S_IMODE((project.inbox / "aside").stat().st_mode) == 0o700


def test_store_that_was_left_half_made_is_finished(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        (workspace.place / "inbox").mkdir(parents=True)
        workspace.place.chmod(0o700)
        workspace.inbox.chmod(0o700)
        assert holdfast.init(workspace).created
        holdfast.start(workspace, "goal")
        assert holdfast.verify(workspace).problems == []


@pytest.mark.promise(22)
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_store_that_others_can_write_to_is_refused(project: Workspace, mode: int) -> None:
    project.close()
    project.place.chmod(mode)
    with pytest.raises(Refused, match="Others can write"):
        holdfast.status(project)
    project.place.chmod(0o700)


@pytest.fixture
def copy(repository: Path) -> Path:
    """A copy of a project that has a run."""
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "the original")
    copy = repository.with_name("copy")
    shutil.copytree(repository, copy)
    (copy / ".git" / "holdfast").chmod(0o700)
    return copy


def test_copy_is_believed_once_it_is_adopted(copy: Path) -> None:
    with holdfast.open(copy) as workspace:
        with pytest.raises(Refused, match="not made here"):
            holdfast.status(workspace)
        holdfast.init(workspace, adopt=True)
        assert run_of(workspace).goal == "the original"
        assert holdfast.verify(workspace).problems == []


def test_ways_out_can_be_pasted_where_a_directory_has_a_space_in_its_name(copy: Path) -> None:
    place = copy.rename(copy.with_name("a copy"))
    store = shlex.quote(str(place / ".git" / "holdfast"))
    with holdfast.open(place) as workspace:
        with pytest.raises(Refused) as refused:
            holdfast.status(workspace)
        assert f"`mv {store} {store}.foreign`" in refused.value.hints[1]
        holdfast.init(workspace, adopt=True)
        with pytest.raises(NotFound) as missing:
            holdfast.backup(workspace, str(place.with_name("my backups") / "new" / "store.tar.gz"))
        assert missing.value.hints == [f"`mkdir -p {shlex.quote(str(place.with_name('my backups') / 'new'))}`"]
        keep_by_hand(workspace.inbox, b"not json")
        holdfast.sweep(workspace)
        (aside,) = [check for check in holdfast.doctor(workspace).checks if check.name == "set aside"]
        assert aside.hints == [f"`ls {store}/inbox/aside`"]
    with holdfast.open(place) as workspace:
        workspace.place.chmod(0o770)
        with pytest.raises(Refused) as refused:
            holdfast.status(workspace)
        assert refused.value.hints == [f"`chmod go-w {store}`"]


def test_copy_may_be_adopted_without_losing_the_original(copy: Path, repository: Path) -> None:
    with holdfast.open(copy) as workspace:
        holdfast.init(workspace, adopt=True)
        holdfast.note(workspace, "in the copy")
    with holdfast.open(repository) as workspace:
        assert run_of(workspace).notes == []


def test_directory_that_is_not_there_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        holdfast.open(tmp_path / "missing")


# off and on


def test_off_records_nothing_and_on_records_again(project: Workspace) -> None:
    holdfast.start(project, "goal")
    assert (holdfast.off(project).changed, holdfast.off(project).changed) == (True, False)
    with pytest.raises(Refused, match="off"):
        holdfast.note(project, "text")
    assert run_of(project).notes == []
    assert (holdfast.on(project).changed, holdfast.on(project).changed) == (True, False)
    assert holdfast.note(project, "text").entry == "n1"


def test_what_was_kept_before_stays_until_recording_is_on_again(project: Workspace) -> None:
    holdfast.start(project, "goal")
    keep_by_hand(project.inbox)
    holdfast.off(project)
    assert run_of(project).calls == 0
    holdfast.on(project)
    assert run_of(project).calls == 1


def test_shell_can_switch_recording_off(project: Workspace) -> None:
    holdfast.start(project, "goal")
    with with_environ(project, HOLDFAST="0") as workspace:
        with pytest.raises(Refused, match="off"):
            holdfast.note(workspace, "text")
        assert run_of(workspace).goal == "goal"
    assert holdfast.note(project, "text").entry == "n1"


def test_without_a_store_there_is_nothing_to_switch(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        for switch in (holdfast.off, holdfast.on):
            with pytest.raises(NotFound):
                switch(workspace)


# settings


def test_settings_are_listed_with_their_origin(project: Workspace) -> None:
    holdfast.config_set(project, "list.limit", "7")
    holdfast.config_set(project, "brief.budget", "700", for_project=True)
    with with_environ(project, HOLDFAST_STORE_DEADLINE="3") as workspace:
        found = {
            value.key: (value.value, Path(value.origin).name) for value in holdfast.config_list(workspace).settings
        }
    set_here = {key: value for key, value in found.items() if value[1] != "default"}
    assert set(found) == set(settings.SETTINGS)
    assert set_here == {
        "brief.budget": (700, ".holdfast.toml"),
        "list.limit": (7, "config.toml"),
        "store.deadline": (3.0, "HOLDFAST_STORE_DEADLINE"),
    }


def test_one_setting_is_read_and_set(project: Workspace, home: Path) -> None:
    assert holdfast.config_get(project, "list.limit").value == 20
    done = holdfast.config_set(project, "list.limit", "5")
    assert (done.value, home in Path(done.file).parents) == (5, True)
    with holdfast.open(project.root) as fresh:
        assert holdfast.config_get(fresh, "list.limit").value == 5


def test_project_may_not_set_what_is_the_users(project: Workspace) -> None:
    with pytest.raises(Refused, match="only be set by the user"):
        holdfast.config_set(project, "store.deadline", "1", for_project=True)
    assert os.listdir(project.root) == [".git"]


def test_wrong_settings_are_refused(project: Workspace) -> None:
    for key, value in (("list.limt", "1"), ("list.limit", "x"), ("list.limit", "0"), ("", "")):
        with pytest.raises(WrongUsage):
            holdfast.config_set(project, key, value)
    with pytest.raises(WrongUsage):
        holdfast.config_get(project, "nothing")


def test_store_that_git_init_hides_is_told_of_with_the_way_to_go_on(tmp_path: Path, home: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a.txt").write_text("1\n")
    for line in (("start", "the goal"), ("checkpoint", "one")):
        Command.run(*line, directory=root).ok()
    subprocess.run(["git", "init", "-q", root], check=True)
    told = Command.run("status", directory=root).ok().err
    assert "`.git` hides an earlier store in `.holdfast`" in told
    assert "earlier store" in Command.run("runs", directory=root).err
    assert "earlier store" in Command.run("doctor", directory=root).out
    for _ in range(2):
        assert "earlier store" in Command.run("init", directory=root).ok().err
    way = told.split("`")[5].replace("holdfast ", f"{sys.executable} -m holdfast ")
    subprocess.run(["sh", "-c", f"{way} --yes"], cwd=root, check=True, stdin=subprocess.DEVNULL)
    shutil.rmtree(root / ".holdfast")
    assert Command.run("verify", directory=root).ok().err.count("earlier store") == 0
    assert "the goal" in Command.run("status", directory=root).ok().out
    (root / "a.txt").write_text("2\n")
    Command.run("restore", "one", "--yes", directory=root).ok()
    assert (root / "a.txt").read_text() == "1\n"


@pytest.mark.promise(20)
def test_store_that_came_with_a_repository_is_not_told_of(repository: Path) -> None:
    (repository / ".holdfast").mkdir()
    (repository / ".holdfast/id").write_text("store-0000000000\n")
    assert "earlier store" not in Command.run("status", directory=repository).ok().err
