"""Which run a command means: by name, by environment, by session, by worktree; and what it says where that is open."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import holdfast
from holdfast.operations.commands import COMMANDS
from holdfast.surfaces.cli.parser import holdfast as application
from tests.surfaces.commands import Known
from tests.surfaces.in_process import call
from tests.tools import Command, hook


def run_of(done: Command) -> str:
    return str(done.ok().json["run"])


def test_a_run_can_be_named_by_option_and_by_environment(
    worked: Known, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_of(say("note", "x", "--json")) == worked.run
    assert run_of(say("note", "x", "--run", worked.earlier, "--json")) == worked.earlier
    monkeypatch.setenv("HOLDFAST_RUN", worked.earlier)
    assert run_of(say("note", "x", "--json")) == worked.earlier
    assert run_of(say("note", "x", "--run", worked.run, "--json")) == worked.run


def test_the_session_of_the_environment_means_its_run(
    worked: Known, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    say("switch", worked.earlier).ok()
    monkeypatch.setenv("HOLDFAST_SESSION", worked.session)
    assert run_of(say("note", "from the session", "--json")) == worked.run
    shown = say("show", worked.session, "--json").ok().json
    assert shown["events"][-1]["body"]["text"] == "from the session"
    assert say("leave").ok().out == f"{worked.session}\n"


def test_a_session_that_was_taken_over_cannot_write_any_more(
    worked: Known, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    say("join", worked.run, "--take-over").ok()
    monkeypatch.setenv("HOLDFAST_SESSION", worked.session)
    done = say("note", "too late")
    assert done.code == 1
    assert f"`holdfast join {worked.run}`" in done.err
    assert "too late" not in say("log").ok().out


SHORTER: dict[str, Callable[[str], str]] = {
    "without the first part": lambda name: name[4:],
    "by a beginning": lambda name: name[:11],
    "by a beginning without the first part": lambda name: name[4:11],
    "by an end": lambda name: name[-7:],
    "in capitals": lambda name: name.upper(),
}


@pytest.mark.parametrize("way", SHORTER)
def test_an_id_can_be_shortened(way: str, worked: Known, say: Callable[..., Command]) -> None:
    for run in (worked.run, worked.earlier):
        assert say("show", SHORTER[way](run), "--json").ok().json["run"]["id"] == run


def test_a_session_can_be_shortened(worked: Known, say: Callable[..., Command]) -> None:
    assert say("show", worked.session[:11], "--json").ok().json["session"]["id"] == worked.session
    assert say("leave", worked.session[-7:]).ok().out == f"{worked.session}\n"


def test_a_number_is_a_row_of_the_last_list(worked: Known, say: Callable[..., Command]) -> None:
    say("runs").ok()
    for number, run in (("1", worked.run), ("2", worked.earlier)):
        assert say("show", number, "--json").ok().json["run"]["id"] == run
    say("runs", "--search", "flaky").ok()
    assert say("show", "1", "--json").ok().json["run"]["id"] == worked.earlier
    assert say("show", "99999").code == 10
    say("sessions").ok()
    assert say("leave", "1").ok().out == f"{worked.session}\n"


def test_what_fits_several_runs_is_answered_with_the_choices(worked: Known, say: Callable[..., Command]) -> None:
    done = say("show", "run-", "--json")
    assert (done.code, done.json["error"]["kind"]) == (1, "ambiguous")
    assert set(done.json["error"]["facts"]) == {worked.run, worked.earlier}


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        ("stauts", "status"),
        ("strat", "start"),
        ("logs", "log"),
        ("verfy", "verify"),
        ("Decide", "decide"),
        ("tasks", "task"),
    ],
)
def test_a_mistyped_verb_is_answered_with_a_suggestion(mistyped: str, meant: str, say: Callable[..., Command]) -> None:
    assert meant in COMMANDS
    done = say(mistyped)
    assert done.code == 2
    assert f'There is no verb "{mistyped}"' in done.err
    assert f"did you mean `holdfast {meant}`?" in done.err
    assert "`holdfast help --all` lists them" in done.err


@pytest.mark.parametrize(("mistyped", "meant"), [(("task", "lst"), "list"), (("config", "sett"), "set")])
def test_a_mistyped_verb_of_a_group_is_answered_with_a_suggestion(
    mistyped: tuple[str, str], meant: str, say: Callable[..., Command]
) -> None:
    done = say(*mistyped)
    assert done.code == 2
    assert "id you mean" in done.err
    assert meant in done.err


def test_a_mistyped_option_and_setting_are_answered_with_a_suggestion(
    worked: Known, say: Callable[..., Command]
) -> None:
    assert "--because" in say("decide", "x", "--becuase", "y").err
    assert "did you mean `brief.budget`?" in say("config", "get", "brief.buget").err


@pytest.mark.parametrize("place", [4, 8, 13])
def test_a_mistyped_run_is_answered_with_a_suggestion(place: int, worked: Known, say: Callable[..., Command]) -> None:
    wrong = worked.run[:place] + ("x" if worked.run[place] != "x" else "y") + worked.run[place + 1 :]
    done = say("switch", wrong)
    assert done.code == 10
    assert f'There is no run "{wrong}"' in done.err
    assert f"did you mean `{worked.run}`?" in done.err


def test_every_directory_inside_the_project_will_do(worked: Known, repository: Path) -> None:
    below = repository / "src" / "deep" / "er"
    below.mkdir(parents=True)
    assert call("status", "--json", directory=below).ok().json["run"]["id"] == worked.run
    call("note", "from below", directory=below).ok()
    assert "from below" in call("show", directory=repository).ok().out
    hook(below, event="Below")
    assert "robot Below" in call("log", directory=repository).ok().out


def test_a_linked_worktree_has_runs_of_its_own(worked: Known, repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git = ["git", "-C", str(repository), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], check=True)
    assert call("status", directory=linked).ok().out.startswith("No run here yet.")
    own = call("start", "Work beside it", directory=linked).ok().out.strip()
    assert call("status", "--json", directory=linked).ok().json["run"]["id"] == own
    assert call("status", "--json", directory=repository).ok().json["run"]["id"] == worked.run
    assert own in call("runs", directory=repository).ok().out, "the store is one"
    assert own not in call("runs", "--here", directory=repository).ok().out
    moved = call("switch", worked.earlier, directory=linked).ok()
    assert f"It moved here from {repository}" in moved.err


def test_a_project_without_a_repository_has_a_store_beside_its_files(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    (plain / "sub").mkdir(parents=True)
    assert (
        call("status", directory=plain).ok().out.startswith("No run here yet.\n`holdfast init` prepares this project")
    )
    assert call("note", "x", directory=plain).code == 10
    assert list(plain.iterdir()) == [plain / "sub"], "only start and init make a store"
    run = call("start", "goal", directory=plain).ok().out.strip()
    assert (plain / ".holdfast" / ".gitignore").read_text() == "*\n"
    assert call("status", "--json", directory=plain / "sub").ok().json["run"]["id"] == run


def test_no_run_at_all_is_said_and_is_no_failure(repository: Path, say: Callable[..., Command]) -> None:
    assert say("status").ok().out.startswith("No run here yet.")
    say("init").ok()
    assert say("status").ok().out.startswith("No run here yet.")
    done = say("brief")
    assert done.code == 10
    assert '`holdfast start "GOAL"`' in done.err


def test_several_open_runs_are_listed_where_nobody_can_be_asked(three: list[str], say: Callable[..., Command]) -> None:
    done = say("note", "x")
    assert (done.code, done.out) == (1, "")
    assert "Several runs are open here" in done.err
    for run in three[:2]:
        assert f"  {run}  paused, " in done.err
    assert three[2] not in done.err
    assert "try: name one of them" in done.err
    assert "`holdfast switch RUN`" in done.err
    status = say("status").ok()
    assert "Several runs are open here" in status.out


@pytest.fixture
def three(repository: Path) -> list[str]:
    """Three runs: two are open, the third, which was the current one, is completed."""
    with holdfast.open(repository) as workspace:
        runs = [holdfast.start(workspace, goal).run.id for goal in ("One", "Two", "Three")]
        holdfast.complete(workspace)
    return runs


def test_off_records_nothing_and_on_records_again(worked: Known, repository: Path, say: Callable[..., Command]) -> None:
    events = len(say("log").ok().out.splitlines())
    say("off").ok()
    assert "Holdfast is off here" in say("status").ok().out
    refused = say("note", "unheard")
    assert refused.code == 1
    assert "`holdfast on`" in refused.err
    hook(repository, event="Unheard")
    assert "It was off already" in say("off").ok().err
    say("on").ok()
    assert len(say("log").ok().out.splitlines()) == events
    hook(repository, event="Heard")
    assert "robot Heard" in say("log").ok().out


def test_off_in_one_shell_records_nothing_there(
    worked: Known, repository: Path, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    events = say("log").ok().out
    monkeypatch.setenv("HOLDFAST", "0")
    refused = say("note", "unheard")
    assert refused.code == 1
    assert "Holdfast is off here" in refused.err
    hook(repository, event="Unheard")
    monkeypatch.delenv("HOLDFAST")
    assert say("log").ok().out == events


def test_what_switched_it_off_is_what_switches_it_on(
    worked: Known, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST", "0")
    for done in (say("note", "x"), say("status")):
        shown = done.out + done.err
        assert "off here" in shown
        assert "`holdfast on`" not in shown, "that would not help: the environment says it"
        assert "HOLDFAST" in shown


@pytest.mark.defect("`search --help` said that `--run` means the current run by default, though all runs are searched")
def test_the_help_of_a_filter_by_run_says_what_goes_without_it(say: Callable[..., Command]) -> None:
    shown = " ".join(say("search", "--help").ok().out.split())
    assert "--run RUN Only in this run; else in all runs." in shown
    shown = " ".join(say("checkpoints", "--help").ok().out.split())
    assert "--run RUN Only of this run; else of this worktree." in shown


@pytest.mark.defect(
    "Suggestions for mistyped words were far: `list` gave bisect, `--limt` also --quiet, `st` step alone"
)
@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        ("list", ["holdfast runs", "holdfast checkpoints", "holdfast sessions"]),
        ("st", ["holdfast start", "holdfast status", "holdfast step"]),
        ("statsu", ["holdfast status"]),
        ("x", []),
        ("runs --limt 3", ["holdfast runs --limit"]),
        ("runs --lim 3", ["holdfast runs --limit"]),
        ("log -x", []),
        ("config st", ["holdfast config set"]),
        ("checkpoints lst", ["list"]),
        ("checkpoint show cp-1", ["holdfast checkpoints"]),
        ("search x --kind decisoin", ["decision"]),
    ],
)
def test_suggestions_for_typos_are_near(mistyped: str, meant: list[str], say: Callable[..., Command]) -> None:
    done = say(*mistyped.split())
    assert done.code == 2
    assert [line.split("`")[1] for line in done.err.splitlines() if "did you mean" in line] == meant
    assert "Did you mean" not in done.err


@pytest.mark.defect("`checkpoint --name x` proposed a command that would make a checkpoint called `name`")
@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        ("checkpoint --name x", ["holdfast checkpoint NAME"]),
        ("start --goal x", ["holdfast start GOAL"]),
        ("rollback --checkpoint 3", ["holdfast rollback CHECKPOINT"]),
    ],
)
def test_an_option_that_is_an_argument_is_answered_with_its_place(
    mistyped: str, meant: list[str], say: Callable[..., Command]
) -> None:
    done = say(*mistyped.split())
    assert done.code == 2
    assert [line.split("`")[1] for line in done.err.splitlines() if "did you mean" in line] == meant


@pytest.mark.defect("The help listed `step begin`, which is no command")
def test_the_subcommands_that_the_help_names_exist() -> None:
    with click.Context(application) as context:
        for name, verb in COMMANDS.items():
            command = application.get_command(context, name)
            named = verb.about.partition(": ")[2]
            if isinstance(command, click.Group) and named:
                assert set(named.split(", ")) <= set(command.commands), name
