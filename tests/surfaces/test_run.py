"""`holdfast run`: a command in the user's terminal behaves as the bare command does, and how it ends is judged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Run, Session, Status
from tests.surfaces.terminal import PATIENCE, Terminal
from tests.tools import Command

BASH = ("run", "--", "bash", "--norc", "--noprofile", "-i")
PYTHON = ("run", "--", sys.executable, "-q", "-i", "-c", "import os, sys")
SLOW = {"HOLDFAST_SAVE_INTERVAL": "3600"}


def run_of(directory: Path) -> Run:
    with holdfast.open(directory) as workspace:
        (found,) = holdfast.runs(workspace).runs
    return found


def sessions_of(directory: Path) -> list[Session]:
    with holdfast.open(directory) as workspace:
        return holdfast.sessions(workspace).sessions


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it may go while it is looked at
        return False
    return state not in "ZX"


def until(is_so: Callable[[], bool], what: str) -> None:
    """Look until something is so, giving the processor away in between."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, f"never: {what}"
        os.sched_yield()


@contextmanager
def bash(directory: Path, *, env: dict[str, str] | None = None) -> Iterator[Terminal]:
    with Terminal(*BASH, directory=directory, env={**SLOW, "PS1": "ready> ", **(env or {})}) as terminal:
        terminal.wait_for("ready> ")
        yield terminal


@pytest.mark.parametrize("code", [0, 1, 7, 126])
def test_the_exit_code_is_that_of_the_command_and_the_run_stays_as_it_was(repository: Path, code: int) -> None:
    with bash(repository) as terminal:
        terminal.type(f"exit {code}\n")
        assert terminal.finish() == code
    assert run_of(repository).status is Status.ACTIVE
    (session,) = sessions_of(repository)
    assert (session.is_open, session.reason) == (False, f"exit code {code}")


def test_bash_has_a_terminal_of_its_own_with_job_control(repository: Path) -> None:
    with bash(repository) as terminal:
        terminal.type("test -t 0 && test -t 1 && sh -c 'echo has-$((40 + 2)); exec sleep 1000'\n")
        terminal.wait_for("has-42")
        terminal.type("\x1a")
        terminal.wait_for("Stopped")
        terminal.type("bg; jobs -r | grep -c sleep\n")
        terminal.wait_for("\n1\r")
        terminal.type("kill %1; wait; echo over-$((40 + 2)); exit 3\n")
        terminal.wait_for("over-42")
        assert terminal.finish() == 3


def test_ctrl_c_reaches_what_runs_in_the_foreground_and_the_shell_goes_on(repository: Path) -> None:
    with bash(repository) as terminal:
        terminal.type("sh -c 'echo begun-$((40 + 2)); exec sleep 1000'\n")
        terminal.wait_for("begun-42")
        terminal.type("\x03")
        terminal.wait_for("^C")
        terminal.type("echo went-on-$?\n")
        terminal.wait_for("went-on-130")
        terminal.type("exit 0\n")
        assert terminal.finish() == 0


def test_a_new_size_of_the_window_is_passed_on(repository: Path) -> None:
    with bash(repository) as terminal:
        terminal.type("stty size\n")
        terminal.wait_for("50 200")
        terminal.resize(33, 77)
        terminal.type("stty size\n")
        terminal.wait_for("33 77")
        terminal.type("exit\n")
        assert terminal.finish() == 0


def test_python_reads_what_is_typed_and_its_exit_code_comes_back(repository: Path) -> None:
    with Terminal(*PYTHON, directory=repository, env=SLOW) as terminal:
        terminal.wait_for(">>> ")
        terminal.type("print('is', sys.stdin.isatty(), 'of', os.get_terminal_size().columns)\n")
        terminal.wait_for("is True of 200")
        terminal.type("sys.exit(5)\n")
        assert terminal.finish() == 5


def test_ctrl_d_ends_it_as_it_ends_the_bare_command(repository: Path) -> None:
    with Terminal(*PYTHON, directory=repository, env=SLOW) as terminal:
        terminal.wait_for(">>> ")
        terminal.type("\x04")
        assert terminal.finish() == 0


@pytest.mark.parametrize(
    ("number", "status", "reason"),
    [
        (signal.SIGINT, Status.PAUSED, "Ctrl-C"),
        (signal.SIGTERM, Status.PAUSED, "asked to end"),
        (signal.SIGHUP, Status.INTERRUPTED, "disconnect"),
        (signal.SIGKILL, Status.INTERRUPTED, "SIGKILL"),
        (signal.SIGSEGV, Status.INTERRUPTED, "SIGSEGV"),
    ],
)
def test_g27_death_by_a_signal_is_judged_by_the_signal(
    repository: Path, number: signal.Signals, status: Status, reason: str
) -> None:
    done = Command.run("run", "--", "sh", "-c", f"kill -{int(number)} $$", directory=repository)
    assert done.code == 128 + number
    found = run_of(repository)
    assert found.status is status
    assert reason in f"{found.status_reason} {found.evidence}"


def test_a_signal_to_the_supervisor_is_passed_on(repository: Path) -> None:
    with bash(repository) as terminal:
        terminal.type("trap 'echo told-$((40 + 2)); exit 4' TERM; echo waits-$((40 + 2)); while :; do :; done\n")
        terminal.wait_for("waits-42")
        terminal.process.send_signal(signal.SIGTERM)
        terminal.wait_for("told-42")
        assert terminal.finish() == 4


def test_a_command_does_not_outlive_a_killed_supervisor_on_a_terminal(repository: Path) -> None:
    with bash(repository) as terminal:
        terminal.type("echo pid-$((40 + 2))=$$.\n")
        terminal.wait_for("pid-42=")
        terminal.wait_for(".\r\n")
        pid = int(terminal.text.rpartition("pid-42=")[2].partition(".")[0])
        terminal.process.kill()
        terminal.process.wait(PATIENCE)
        until(lambda: not is_there(pid), "the shell is gone")
    with holdfast.open(repository) as workspace:
        holdfast.sweep(workspace)
    assert run_of(repository).status is Status.INTERRUPTED


def test_a_command_does_not_outlive_a_killed_supervisor_without_a_terminal(repository: Path) -> None:
    script = "import os, time; print(os.getpid(), flush=True); time.sleep(1000)"
    command = [sys.executable, "-m", "holdfast", "run", "--", sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=repository, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        supervisor.kill()
        supervisor.wait(PATIENCE)
        until(lambda: not is_there(pid), "the command is gone")
    with holdfast.open(repository) as workspace:
        holdfast.sweep(workspace)
    assert run_of(repository).status is Status.INTERRUPTED


def test_without_a_terminal_it_has_our_own_descriptors(repository: Path) -> None:
    script = (
        "import sys; data = sys.stdin.read(); print(data.upper(), sys.stdin.isatty()); print('err', file=sys.stderr)"
    )
    done = Command.run("run", "--", sys.executable, "-c", script, directory=repository, stdin=b"text")
    assert (done.code, done.out) == (0, "TEXT False\n")
    assert "err" in done.err


def test_the_command_works_in_the_session_that_it_was_given(repository: Path) -> None:
    script = "import holdfast, os; w = holdfast.open(); holdfast.action(w, 'from inside'); w.close()"
    Command.run("run", "--", sys.executable, "-c", script, directory=repository).ok()
    with holdfast.open(repository) as workspace:
        (event,) = [found for found in holdfast.log(workspace).events if found.body.get("text") == "from inside"]
    assert event.session == sessions_of(repository)[0].id


def test_a_command_that_is_not_there_or_cannot_run_is_an_error_of_ours(repository: Path) -> None:
    assert Command.run("run", "--", "no-such-command", directory=repository).code == 10
    plain = repository / "plain"
    plain.write_text("text")
    assert Command.run("run", "--", str(plain), directory=repository).code == 1
    assert Command.run("run", directory=repository).code == 2
    assert "There is no command" in Command.run("run", "--", "", directory=repository).err
    assert not (repository / ".git" / "holdfast").exists()


def test_a_command_that_is_not_there_leaves_no_session_on_the_run(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "goal")
        assert Command.run("run", "--", "no-such-command", directory=repository).code == 10
        assert holdfast.sessions(workspace).sessions == []


def test_the_files_of_a_team_are_saved_from_time_to_time(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "topic", layout="go-team").run.id
    state = repository / "checkpoints" / run / "state.json"
    with bash(repository, env={"HOLDFAST_SAVE_INTERVAL": "1"}) as terminal:
        until(lambda: '"save_trigger": "auto"' in state.read_text(), "it is saved by itself")
        terminal.type("exit\n")
        assert terminal.finish() == 0


@pytest.mark.defect("a lost connection or a closed window paused the run, as if the user had decided it")
def test_a_disconnect_interrupts_a_team_run_with_its_reason(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "topic", layout="go-team").run.id
    script = "import os, signal; open('half.go', 'w').write('x'); os.kill(os.getpid(), signal.SIGHUP)"
    Command.run("run", "--", sys.executable, "-c", script, directory=repository)
    found = (repository / "checkpoints" / run / "recovery.json").read_text()
    assert '"interrupt_reason": "disconnect"' in found
    assert run_of(repository).status is Status.INTERRUPTED
    with holdfast.open(repository) as workspace:
        made = holdfast.checkpoints(workspace).checkpoints[0]
    assert (made.kind, made.changed) == ("interrupted", ["half.go"])


def test_g31_what_a_killed_command_left_is_kept(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "topic", layout="go-team").run.id
    Command.run("run", "--", "sh", "-c", "echo x > half.go; kill -9 $$", directory=repository)
    with holdfast.open(repository) as workspace:
        made = holdfast.checkpoints(workspace).checkpoints[0]
    assert (made.run, made.kind, made.changed) == (run, "interrupted", ["half.go"])


def test_g30_with_auto_resume_an_interrupted_run_is_gone_on_with_first(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "topic", layout="go-team").run.id
    assert Command.run("run", "--", "sh", "-c", "kill -9 $$", directory=repository).code == 137
    assert "SESSION RESUMED" not in Command.run("run", "--", "true", directory=repository).ok().err
    assert Command.run("run", "--", "sh", "-c", "kill -9 $$", directory=repository).code == 137
    done = Command.run("run", "--", "true", directory=repository, env={"HOLDFAST_RECOVERY_AUTO_RESUME": "on"}).ok()
    assert "✓ SESSION RESUMED" in done.err
    assert '"recovery_type": "experimental"' in (repository / "checkpoints/sessions.json").read_text()
    assert run in done.err


@pytest.mark.defect("`holdfast run` went on with an interrupted Go Team run, and no way to recover could be chosen")
def test_on_a_terminal_it_asks_how_an_interrupted_team_run_is_resumed(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "topic", layout="go-team").run.id
        holdfast.complete_step(workspace, "init")
    assert Command.run("run", "--", "sh", "-c", "touch half.go; kill -9 $$", directory=repository).code == 137
    with Terminal("run", "--", "no-such-program", directory=repository) as terminal:
        terminal.wait_for("no-such-program")
        assert terminal.finish() != 0
        assert "SESSION RECOVERY" not in terminal.text
    with Terminal("run", "--", "sh", "-c", "ls; echo it ran", directory=repository) as terminal:
        terminal.wait_for("SESSION RECOVERY")
        terminal.wait_for("[2]: ")
        terminal.type("1\n")
        terminal.wait_for("Recovered from: checkpoint")
        terminal.wait_for("it ran")
        assert terminal.finish() == 0
    assert not (repository / "half.go").exists()
    assert (run_of(repository).id, run_of(repository).status) == (run, Status.ACTIVE)


def test_what_is_supervised_counts_as_no_action_of_the_run(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "topic", layout="go-team")
        holdfast.action(workspace, "the last one")
    Command.run("run", "--", "true", directory=repository).ok()
    assert [action.text for action in run_of(repository).actions] == ["the last one"]


def test_a_supervised_session_gives_signs_of_life_while_it_lasts(repository: Path) -> None:
    signs = repository / ".git/holdfast/alive"
    with bash(repository, env={"HOLDFAST_SAVE_INTERVAL": "1"}) as terminal:
        until(lambda: signs.is_dir() and bool(list(signs.glob("ses-*"))), "there is a sign")
        terminal.type("exit\n")
        assert terminal.finish() == 0
    assert list(signs.iterdir()) == []


def test_trouble_with_saving_does_not_end_what_is_supervised(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "topic", layout="go-team").run.id
        (workspace.place / "alive").write_text("in the way")
    state = repository / "checkpoints" / run / "state.json"
    with bash(repository, env={"HOLDFAST_SAVE_INTERVAL": "1"}) as terminal:
        until(lambda: '"save_trigger": "auto"' in state.read_text(), "it is saved by itself")
        terminal.type("echo goes-on-$((40 + 2)); exit 6\n")
        terminal.wait_for("goes-on-42")
        assert terminal.finish() == 6


def test_what_stands_after_the_command_is_the_commands_and_json_before_it_is_ours(repository: Path) -> None:
    done = Command.run("run", "--json", "--", "echo", "--json", "-q", directory=repository).ok()
    told, _, answer = done.out.partition("\n")
    assert told == "--json -q"
    assert list(json.loads(answer)) == ["run", "session", "command", "code", "signal", "status"]


@pytest.mark.defect("`holdfast run` made no checkpoint when its command ended by itself.")
@pytest.mark.parametrize("code", [0, 3])
def test_what_a_command_left_that_ended_by_itself_is_kept(repository: Path, code: int) -> None:
    Command.run("run", "--", "sh", "-c", f"echo x > made.go; exit {code}", directory=repository)
    with holdfast.open(repository) as workspace:
        (made,) = holdfast.checkpoints(workspace).checkpoints
    assert (made.run, made.kind, made.changed) == (run_of(repository).id, "ended", ["made.go"])


@pytest.mark.defect("A supervised command that exited with another code than 0 was no error of its run.")
def test_an_exit_code_other_than_0_is_an_error_of_the_run(repository: Path) -> None:
    Command.run("run", "--", "true", directory=repository).ok()
    assert run_of(repository).errors == []
    Command.run("run", "--", "sh", "-c", "exit 3", directory=repository)
    assert [met.text for met in run_of(repository).errors] == ["sh -c 'exit 3': exit code 3"]
    assert "- sh -c 'exit 3': exit code 3" in Command.run("brief", directory=repository).ok().out


def test_an_exit_code_does_not_resume_a_run_that_was_paused_meanwhile(repository: Path) -> None:
    script = f"'{sys.executable}' -m holdfast pause --reason lunch; exit 3"
    Command.run("run", "--", "sh", "-c", script, directory=repository)
    found = run_of(repository)
    assert (found.status, found.status_reason, len(found.errors)) == (Status.PAUSED, "lunch", 1)


@pytest.mark.defect("Refused, `holdfast run` proposed another verb than itself.")
def test_a_command_on_a_run_that_is_held_names_the_way_to_run_it_there(repository: Path) -> None:
    with bash(repository) as terminal:
        run = run_of(repository).id
        refused = Command.run("run", "--", "echo", "two words", directory=repository)
        again = f"holdfast run --run {run} --take-over -- echo 'two words'"
        assert (refused.code, f"`{again}`" in refused.err) == (11, True)
        done = Command.run("run", "--run", run, "--take-over", "--", "echo", "two words", directory=repository)
        assert done.ok().out == "two words\n"
        terminal.type("exit\n")
        terminal.finish()


@pytest.mark.defect("Nothing named the processes that a killed agent had left running.")
def test_processes_that_a_killed_command_left_are_named_and_left_alone(repository: Path) -> None:
    script = "setsid sleep 4321 >/dev/null 2>&1 & echo $! > left; kill -9 $$"
    done = Command.run("run", "--", "sh", "-c", script, directory=repository)
    assert done.code == 128 + signal.SIGKILL
    pid = int((repository / "left").read_text())
    (session,) = sessions_of(repository)
    try:
        told = f"Still running, started by {session.id}: process {pid}  sleep 4321"
        assert told in Command.run("status", directory=repository).ok().out.splitlines()
        asked = json.loads(Command.run("status", "--json", directory=repository).ok().out)["running"]
        assert asked == [{"pid": pid, "command": "sleep 4321", "session": session.id}]
        brief = Command.run("brief", directory=repository).ok().out
        assert f"- process {pid}: sleep 4321 ({session.id})" in brief
        assert is_there(pid)
    finally:
        os.kill(pid, signal.SIGKILL)
    until(lambda: not is_there(pid), "it is gone")
    assert "Still running" not in Command.run("status", directory=repository).ok().out


def test_a_process_that_outlives_a_command_which_ended_by_itself_is_not_named(repository: Path) -> None:
    script = "setsid sleep 4321 >/dev/null 2>&1 & echo $! > left"
    Command.run("run", "--", "sh", "-c", script, directory=repository).ok()
    try:
        assert "Still running" not in Command.run("status", directory=repository).ok().out
    finally:
        os.kill(int((repository / "left").read_text()), signal.SIGKILL)


def test_a_secret_in_the_command_of_a_process_that_was_left_is_hidden(repository: Path) -> None:
    token = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hJ6"
    script = f"setsid sh -c 'sleep 4321; : {token}' >/dev/null 2>&1 & echo $! > left; kill -9 $$"
    Command.run("run", "--", "sh", "-c", script, directory=repository)
    try:
        for verb in ("status", "brief"):
            said = Command.run(verb, directory=repository).ok().out
            assert ("sleep 4321; : [redacted" in said, token in said) == (True, False)
    finally:
        os.killpg(int((repository / "left").read_text()), signal.SIGKILL)
