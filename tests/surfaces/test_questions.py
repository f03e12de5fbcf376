"""What cannot be taken back is asked about, on a terminal; elsewhere nothing happens without `--yes`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core.errors import NotAProject
from tests.surfaces.commands import Known
from tests.surfaces.terminal import Terminal
from tests.tools import Command

ASKED = [
    (
        ("delete", "{earlier}"),
        "Delete {earlier} (Fix the flaky test) with all its events, for good? [y/N]: ",
        "delete {earlier} --yes",
    ),
    (("forget", "6"), "Forget event 6 of {run}? [y/N]: ", "forget 6 --run {run} --yes"),
]


def events_of(say: Callable[..., Command], known: Known) -> int:
    return len(say("log", "--run", known.run).ok().out.splitlines()) + len(say("runs", "-q").ok().out.splitlines())


@pytest.mark.parametrize(("arguments", "question", "way_out"), ASKED, ids=["delete", "forget"])
@pytest.mark.parametrize("answer", ["y", "n", ""])
def test_a_person_is_asked_and_the_answer_counts(
    arguments: tuple[str, ...], question: str, way_out: str, answer: str, worked: Known, repository: Path,
    say: Callable[..., Command],
) -> None:  # fmt: skip
    before = events_of(say, worked)
    with Terminal(*map(worked.fill, arguments), directory=repository) as terminal:
        terminal.wait_for(worked.fill(question))
        terminal.type(answer + "\n")
        code = terminal.finish()
    changed = events_of(say, worked) != before
    assert (code, changed) == ((0, True) if answer == "y" else (1, False)), terminal.text
    assert ("Nothing was changed" in terminal.text) is not changed


@pytest.mark.parametrize(("arguments", "question", "way_out"), ASKED, ids=["delete", "forget"])
def test_where_nobody_can_answer_nothing_happens_and_the_way_out_is_said(
    arguments: tuple[str, ...], question: str, way_out: str, worked: Known, cli: Callable[..., Command],
    say: Callable[..., Command],
) -> None:  # fmt: skip
    before = events_of(say, worked)
    done = cli(*map(worked.fill, arguments), stdin=b"y\n")
    assert (done.code, done.out) == (1, "")
    assert f"`holdfast {worked.fill(way_out)}`" in done.err
    assert events_of(say, worked) == before


def test_ctrl_c_at_a_question_changes_nothing(worked: Known, repository: Path, say: Callable[..., Command]) -> None:
    before = events_of(say, worked)
    with Terminal("delete", worked.earlier, directory=repository) as terminal:
        terminal.wait_for("[y/N]: ")
        terminal.press_control_c()
        assert terminal.finish() == 130
    assert "Traceback" not in terminal.text
    assert events_of(say, worked) == before


@pytest.fixture
def two(repository: Path) -> list[str]:
    """Two open runs, the newest first, and none of them is the current one."""
    with holdfast.open(repository) as workspace:
        runs = [holdfast.start(workspace, goal).run.id for goal in ("One", "Two", "Three")]
        holdfast.complete(workspace)
    return [runs[1], runs[0]]


@pytest.mark.parametrize("arguments", [("note", "x"), ("show",), ("join",)], ids=" ".join)
def test_several_open_runs_are_asked_about_on_a_terminal(
    arguments: tuple[str, ...], two: list[str], repository: Path
) -> None:
    with Terminal(*arguments, "--json", directory=repository, env={"TERM": "dumb"}) as terminal:
        terminal.wait_for("Which one")
        for number, run in enumerate(two, 1):
            assert f"  {number}  {run}  paused, " in terminal.text
        terminal.type("7\n")
        terminal.wait_for("7 is not in the range")
        terminal.type("2\n")
        code = terminal.finish()
    assert code == 0
    assert two[1] in terminal.text.splitlines()[-1]


def test_ctrl_c_at_the_choice_of_a_run_changes_nothing(
    two: list[str], repository: Path, say: Callable[..., Command]
) -> None:
    with Terminal("note", "unheard", directory=repository, env={"TERM": "dumb"}) as terminal:
        terminal.wait_for("Which one")
        terminal.press_control_c()
        assert terminal.finish() == 130
    assert all("unheard" not in say("log", "--run", run).ok().out for run in two)


@pytest.mark.parametrize(("event", "code"), [("nope", 2), ("99", 10), ("1", 1)])
def test_nobody_is_asked_to_forget_what_cannot_be_forgotten(
    event: str, code: int, worked: Known, say: Callable[..., Command]
) -> None:
    done = say("forget", event)
    assert (done.code, "--yes" in done.err) == (code, False)


def test_the_way_out_means_what_was_asked_for_and_can_be_pasted(worked: Known, say: Callable[..., Command]) -> None:
    say("backup", "my store.tar.gz").ok()
    for verb in ("backup", "restore-backup"):
        assert f"`holdfast {verb} 'my store.tar.gz' --yes`" in say(verb, "my store.tar.gz").err
    run = say("start", "a topic", "--layout", "go-team", "-q").ok().out.split()[-1]
    say("complete", "--run", run).ok()
    say("start", "another topic", "--layout", "go-team", "-q").ok()
    assert "`holdfast cleanup --older-than 0 --keep 0 --yes`" in say("cleanup", "--older-than", "0", "--keep", "0").err


@pytest.mark.defect("`init` in the home directory or in `/` made one store for everything below it without a question")
def test_init_asks_before_it_makes_a_store_of_the_home_directory(home: Path, cli: Callable[..., Command]) -> None:
    refused = cli("init", directory=home)
    assert (refused.code, "is no project" in refused.err, "`holdfast init --yes`" in refused.err) == (1, True, True)
    assert not (home / ".holdfast").exists()
    for answer, code in (("n", 1), ("y", 0)):
        with Terminal("init", "--agent", "none", directory=home) as terminal:
            terminal.wait_for("Make a store here? [y/N]: ")
            terminal.type(answer + "\n")
            assert terminal.finish() == code
        assert (home / ".holdfast" / "id").exists() is (answer == "y")
    cli("init", directory=home).ok()  # it was asked once


def test_init_asks_in_the_root_of_the_disk_and_not_in_a_project(repository: Path, cli: Callable[..., Command]) -> None:
    assert cli("init", directory=Path("/")).code == 1
    cli("init", "--print", directory=Path("/")).ok()
    cli("init", directory=repository).ok()


MAKERS = [
    ("start", "x"),
    ("start", "x", "--layout", "go-team"),
    ("start", "x", "--layout", "orchestrator"),
    ("checkpoint",),
    ("checkpoint", "before", "--fence"),  # not on the fast path
    ("guard", "--auto", "--", "touch", "ran"),
    ("run", "--", "touch", "ran"),
    ("command", "*new x"),
    ("import", "{exported}"),
    ("restore-backup", "{backup}", "--yes"),
    ("init", "--agent", "none"),
    ("init", "--plugin"),
]


@pytest.fixture
def parcels(cli: Callable[..., Command], tmp_path: Path) -> Callable[[str], str]:
    """Fill in an exported run and a backup of another project."""
    made = {"exported": str(tmp_path / "run.holdfast"), "backup": str(tmp_path / "backup.tar.gz")}
    run = cli("start", "elsewhere").ok().out.strip()
    cli("export", run, made["exported"]).ok()
    cli("backup", made["backup"]).ok()
    return lambda text: text.format(**made)


@pytest.mark.defect(
    "`start`, `checkpoint` and other verbs made a store in the home directory or in `/` without a question, "
    "and the checkpoint kept the files there"
)
@pytest.mark.parametrize("arguments", MAKERS, ids=" ".join)
def test_no_verb_makes_a_store_of_the_home_directory_unasked(
    arguments: tuple[str, ...], home: Path, parcels: Callable[[str], str], cli: Callable[..., Command]
) -> None:
    before = sorted(home.iterdir())
    refused = cli(*map(parcels, arguments), directory=home)
    assert (refused.code, refused.out) == (1, "")
    assert f"{home} is no project" in refused.err
    assert "`holdfast init --yes`" in refused.err
    assert sorted(home.iterdir()) == before
    cli("init", "--agent", "none", "--yes", directory=home).ok()
    cli(*map(parcels, arguments), directory=home).ok()


@pytest.mark.parametrize("arguments", [("start", "x"), ("checkpoint",)], ids=" ".join)
@pytest.mark.parametrize(("answer", "code"), [("n", 1), ("y", 0)])
def test_a_person_is_asked_before_a_verb_makes_a_store_of_the_home_directory(
    arguments: tuple[str, ...], answer: str, code: int, home: Path
) -> None:
    with Terminal(*arguments, directory=home) as terminal:
        terminal.wait_for("Make a store here? [y/N]: ")
        terminal.type(answer + "\n")
        assert terminal.finish() == code, terminal.text
    assert (home / ".holdfast" / "id").exists() is (answer == "y")


def test_the_library_makes_a_store_of_the_home_directory_only_on_request(home: Path) -> None:
    with holdfast.open(home) as workspace:
        for make in (holdfast.init, holdfast.checkpoint):
            with pytest.raises(NotAProject):
                make(workspace)
        assert holdfast.init(workspace, agent="none", broad=True).created
        holdfast.checkpoint(workspace)


def test_what_another_system_keeps_in_the_home_directory_is_read_without_a_store(
    home: Path, cli: Callable[..., Command]
) -> None:
    (home / ".fractary").mkdir()
    assert cli("runs", directory=home).ok().out == ""
    assert not (home / ".holdfast").exists()


def test_a_repository_in_the_home_directory_needs_no_question(home: Path, cli: Callable[..., Command]) -> None:
    inner = home / "project"
    inner.mkdir()
    subprocess.run(["git", "init", "-q", str(inner)], check=True)
    cli("start", "x", directory=inner).ok()
