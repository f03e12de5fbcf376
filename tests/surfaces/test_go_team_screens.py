"""The Go Team's screens on a terminal and elsewhere: what is shown, what is asked, and what follows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from tests.go_team_project import demonstration
from tests.sessions import a_process
from tests.surfaces.terminal import Terminal
from tests.tools import Command

Cli = Callable[..., Command]


@pytest.fixture
def interrupted(repository: Path, cli: Cli) -> str:
    """A run whose supervised command was killed after its first step."""
    run = cli("start", "topic", "--layout", "go-team").ok().out.strip()
    cli("step", "complete", "init").ok()
    assert cli("run", "--", "sh", "-c", "echo x > half.go; kill -9 $$").code == 137
    return run


def status_of(repository: Path, run: str) -> str:
    with holdfast.open(repository) as workspace:
        return next(found.status.value for found in holdfast.runs(workspace).runs if found.id == run)


def test_without_a_terminal_resume_lists_the_choices_and_stops(interrupted: str, cli: Cli, repository: Path) -> None:
    done = cli("resume")
    assert done.code == 1
    assert "[2] Resume from auto-save (RECOMMENDED)" in done.out
    assert f"`holdfast resume {interrupted} --from checkpoint`" in done.err
    assert status_of(repository, interrupted) == "interrupted"


@pytest.mark.promise(24)
def test_whoever_asks_for_a_command_gets_no_screen_to_run(interrupted: str, cli: Cli) -> None:
    """What is printed may be given to a shell, and a screen has the goal in it."""
    done = cli("resume", "--print", "--yes")
    assert (done.code, done.out) == (1, "")
    assert "[2] Resume from auto-save (RECOMMENDED)" in done.err


def test_with_yes_the_recommended_way_is_taken(interrupted: str, cli: Cli, repository: Path) -> None:
    done = cli("resume", "--yes").ok()
    assert "Recovered from: live_state" in done.out
    assert (repository / "half.go").exists()
    assert status_of(repository, interrupted) == "active"


@pytest.mark.parametrize(
    ("answer", "way", "is_left"), [("1", "checkpoint", False), ("", "live_state", True), ("3", "fresh_start", True)]
)
def test_on_a_terminal_it_asks_and_does_what_was_chosen(
    interrupted: str, repository: Path, answer: str, way: str, is_left: bool
) -> None:
    with Terminal("resume", directory=repository) as terminal:
        terminal.wait_for("Enter choice [1/2/3]:")
        terminal.wait_for("[2]: ")
        terminal.type(f"{answer}\n")
        terminal.wait_for(f"Recovered from: {way}")
        assert terminal.finish() == 0
    assert (repository / "half.go").exists() is is_left


@pytest.mark.defect(
    "the recovery screen of a session that a living process held was shown, and refused after the choice"
)
def test_a_session_that_a_living_process_holds_is_busy_before_any_choice(cli: Cli, repository: Path) -> None:
    with a_process() as holder:
        run = cli("start", "topic", "--layout", "go-team", "--pid", str(holder.pid)).ok().out.strip()
        for words in (("resume",), ("resume", run, "--print"), ("resume", "--from", "checkpoint")):
            done = cli(*words)
            assert (done.code, done.out) == (11, "")
            assert f"process {holder.pid}" in done.err
        with Terminal("resume", run, directory=repository) as terminal:
            terminal.wait_for(f"`holdfast resume {run} --take-over`")
            assert terminal.finish() == 11
            assert "SESSION RECOVERY" not in terminal.text
    assert "SESSION RECOVERY" in cli("resume").out


@pytest.mark.defect("`*resume` on a terminal took the live state at once instead of showing the ways to go on")
def test_the_observer_command_resume_shows_the_menu_on_a_terminal(interrupted: str, repository: Path) -> None:
    with Terminal("command", "*resume", directory=repository) as terminal:
        terminal.wait_for("SESSION RECOVERY")
        terminal.wait_for("[2]: ")
        terminal.type("1\n")
        terminal.wait_for("Recovered from: checkpoint")
        assert terminal.finish() == 0
    assert not (repository / "half.go").exists()


@pytest.mark.defect("`*resume` on a terminal asked nothing for another program's session where there was no store")
def test_the_observer_command_resume_shows_the_menu_before_there_is_a_store(repository: Path) -> None:
    demonstration(repository / "checkpoints")
    with Terminal("command", "*resume", directory=repository) as terminal:
        terminal.wait_for("SESSION RECOVERY")
        terminal.wait_for("[2]: ")
        terminal.type("3\n")
        terminal.wait_for("Recovered from: fresh_start")
        assert terminal.finish() == 0
    assert status_of(repository, "test-session-001") == "active"


@pytest.mark.parametrize(
    ("typed", "way", "is_left"),
    [
        ("*resume", "live_state", True),
        ("*resume checkpoint", "checkpoint", False),
        ("*resume:{} fresh", "fresh_start", True),
    ],
)
def test_the_observer_command_resume_takes_the_way_that_is_named(
    interrupted: str, repository: Path, cli: Cli, typed: str, way: str, is_left: bool
) -> None:
    done = cli("command", typed.format(interrupted)).ok()
    assert f"Recovered from: {way}" in done.out
    taken_back = {"checkpoint": "`holdfast undo`", "fresh_start": "`holdfast restore cp-"}
    assert taken_back.get(way, f"`*resume:{interrupted} checkpoint`") in done.out
    assert (repository / "half.go").exists() is is_left
    assert status_of(repository, interrupted) == "active"


def test_a_run_of_another_kind_is_not_recovered_by_the_observer_command(cli: Cli) -> None:
    run = cli("start", "topic").ok().out.strip()
    done = cli("command", f"*resume:{run} fresh")
    assert done.code == 2
    assert "`holdfast resume --from fresh` in a terminal" in done.err


def test_a_start_shows_what_could_be_resumed_and_goes_on_where_nobody_is(interrupted: str, cli: Cli) -> None:
    done = cli("start", "another", "--layout", "go-team").ok()
    assert "RESUMABLE SESSIONS FOUND" in done.err
    assert f"`holdfast resume {interrupted}`" in done.err
    assert "GO TEAM SESSION STARTED" in done.err
    assert done.out.startswith("session-")


def test_a_start_on_a_terminal_asks_and_can_go_on_with_an_earlier_one(interrupted: str, repository: Path) -> None:
    with Terminal("start", "another", "--layout", "go-team", directory=repository) as terminal:
        terminal.wait_for("Resume # (Enter: a new session)")
        terminal.type("1\n")
        terminal.wait_for("SESSION RECOVERY")
        terminal.wait_for("[2]: ")
        terminal.type("2\n")
        terminal.wait_for("✓ SESSION RESUMED")
        assert terminal.finish() == 0
    assert status_of(repository, interrupted) == "active"


@pytest.mark.promise(20)
def test_a_start_that_goes_on_with_an_earlier_one_runs_no_module_of_the_project(
    interrupted: str, repository: Path, tmp_path: Path
) -> None:
    """A directory of our name in the project was run in our place."""
    owned = tmp_path / "owned"
    (repository / "holdfast").mkdir()
    for name in ("__init__", "__main__"):
        (repository / f"holdfast/{name}.py").write_text(f"open({str(owned)!r}, 'w')\n")
    program = [sys.executable, "-I", "-m", "holdfast"]
    with Terminal("start", "another", "--layout", "go-team", directory=repository, program=program) as terminal:
        terminal.wait_for("Resume # (Enter: a new session)")
        terminal.type("1\n")
        terminal.wait_for("SESSION RECOVERY")
    assert not owned.exists()


@pytest.mark.defect(
    "The question of `start --layout go-team` refused `*new`, which its own screen proposes, and a blank"
)
@pytest.mark.parametrize(
    ("answer", "topic"), [("", "another"), ("  ", "another"), ("*new", "another"), ("*new payment", "payment")]
)
def test_a_start_on_a_terminal_begins_a_new_one(interrupted: str, repository: Path, answer: str, topic: str) -> None:
    with Terminal("start", "another", "--layout", "go-team", directory=repository) as terminal:
        terminal.wait_for("Resume # (Enter: a new session)")
        terminal.type(f"{answer}\n")
        terminal.wait_for("GO TEAM SESSION STARTED")
        terminal.wait_for(f"Topic: {topic}")
        assert terminal.finish() == 0
    assert status_of(repository, interrupted) == "interrupted"


@pytest.mark.parametrize("answer", ["*resume", "*resume:1", "*resume:{}", "{}", "*resume:1 live", "*resume live"])
def test_a_start_on_a_terminal_goes_on_with_the_session_that_is_answered(
    interrupted: str, repository: Path, answer: str
) -> None:
    with Terminal("start", "another", "--layout", "go-team", directory=repository) as terminal:
        terminal.wait_for("Resume # (Enter: a new session)")
        terminal.type(f"{answer.format(interrupted)}\n")
        if not answer.endswith("live"):
            terminal.wait_for("[2]: ")
            terminal.type("2\n")
        terminal.wait_for(f"Session: {interrupted}")
        terminal.wait_for("Recovered from: live_state")
        assert terminal.finish() == 0


@pytest.mark.parametrize("answer", ["*nonsense", "*help"])
def test_a_start_on_a_terminal_refuses_another_command(interrupted: str, repository: Path, answer: str) -> None:
    with Terminal("start", "another", "--layout", "go-team", directory=repository) as terminal:
        terminal.wait_for("Resume # (Enter: a new session)")
        terminal.type(f"{answer}\n")
        terminal.wait_for("a number, `*resume:ID`, or `*new`")
        assert terminal.finish() == 2


def test_with_auto_resume_a_start_on_a_terminal_does_not_ask(interrupted: str, repository: Path) -> None:
    environ = {"HOLDFAST_RECOVERY_AUTO_RESUME": "on"}
    with Terminal("start", "another", "--layout", "go-team", directory=repository, env=environ) as terminal:
        terminal.wait_for("✓ SESSION RESUMED")
        assert terminal.finish() == 0
        assert "Resume #" not in terminal.text


def test_g30_with_auto_resume_a_start_takes_the_recommended_way_without_asking(interrupted: str, cli: Cli) -> None:
    done = cli("start", "another", "--layout", "go-team", env={"HOLDFAST_RECOVERY_AUTO_RESUME": "on"}).ok()
    assert "✓ SESSION RESUMED" in done.out
    assert interrupted in done.out


def test_the_last_step_shows_that_the_session_is_completed(cli: Cli) -> None:
    run = cli("start", "topic", "--layout", "go-team", "--steps", "one").ok().out.strip()
    cli("metric", "test_coverage", "85").ok()
    cli("metric", "build_pass", "pass").ok()
    cli("metric", "lint_clean", "no").ok()
    done = cli("step", "complete", "one").ok()
    for line in (
        "✓ SESSION COMPLETED",
        f"Session: {run}",
        "- Build: PASS",
        "- Coverage: 85%",
        "- Lint: NOT CLEAN",
        "- Security: not measured",
    ):
        assert line in done.err


def test_checkpoints_can_be_shown_compared_validated_and_exported(interrupted: str, cli: Cli, repository: Path) -> None:
    cli("resume", "--yes").ok()
    cli("step", "complete", "requirements").ok()
    assert "cp-01-init" in cli("checkpoints", "show", "1").ok().out
    assert "+x" in cli("checkpoints", "diff", "1", "2").ok().out
    assert cli("checkpoints", "validate").ok().out.count("whole") == 2
    path = cli("checkpoints", "export").ok().out.strip()
    assert (repository / path).exists()
    first = next((repository / "checkpoints" / interrupted).glob("cp-01-*.json"))
    first.write_text("{}")
    assert cli("checkpoints", "validate").code == 12
    assert cli("checkpoints", "show").code == 2
    assert cli("checkpoints", "show", "1", "--run", "session-other").code == 2, "it would be a step of this run"


def test_an_output_comes_from_a_file_or_from_standard_input(cli: Cli, repository: Path) -> None:
    cli("start", "topic").ok()
    (repository / "spec.md").write_text("# Spec\n")
    assert (
        cli("output", "spec", "spec.md").ok().err
        == "Kept 7 characters on " + cli("status", "--json").json["run"]["id"] + "\n"
    )
    assert cli("output", "code_files", "-", "--json", stdin=b"a.go\nb.go\n").ok().json["value"] == ["a.go", "b.go"]
    assert cli("output", "spec", "nowhere.md").code == 10


WAIT = 'first=$(grep updated_at {0}); while [ "$first" = "$(grep updated_at {0})" ]; do :; done'


def test_a_supervised_command_that_does_nothing_keeps_its_session_fresh_in_the_registry(cli: Cli) -> None:
    """The command ends as soon as another reader of the registry has seen a sign of life."""
    cli("start", "topic", "--layout", "go-team").ok()
    wait = WAIT.format("checkpoints/sessions.json")
    cli("run", "--", "sh", "-c", wait, env={"HOLDFAST_SAVE_INTERVAL": "1"}).ok()


@pytest.mark.defect("the first `start` without a store did not show interrupted sessions of another program")
def test_the_first_start_shows_the_sessions_that_another_program_left(repository: Path, cli: Cli) -> None:
    demonstration(repository / "checkpoints")
    done = cli("start", "another", "--layout", "go-team").ok()
    assert "RESUMABLE SESSIONS FOUND" in done.err
    assert "`holdfast resume test-session-001` goes on with it" in done.err
    assert status_of(repository, "test-session-001") == "interrupted"


def test_the_first_start_on_a_terminal_asks_whether_to_go_on_with_one(repository: Path) -> None:
    demonstration(repository / "checkpoints")
    with Terminal("start", "another", "--layout", "go-team", directory=repository) as terminal:
        terminal.wait_for("- *resume:test-session-001")
        terminal.wait_for("Resume # (Enter: a new session)")
        terminal.type("1\n")
        terminal.wait_for("SESSION RECOVERY")


@pytest.mark.defect("`*new` without a topic, which the screen of sessions proposes, was answered with an error")
def test_new_without_a_topic_asks_for_one(repository: Path, cli: Cli) -> None:
    cli("start", "topic", "--layout", "go-team").ok()
    assert "What is the topic? `*new TOPIC`" in cli("command", "*new").ok().out
    with Terminal("command", "*new", directory=repository) as terminal:
        terminal.wait_for("What is it about: ")
        terminal.type("payment-gateway\n")
        terminal.wait_for("Topic: payment-gateway")
        assert terminal.finish() == 0
