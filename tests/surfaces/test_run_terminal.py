"""`holdfast run` on a terminal where it is hard: stopping, typing ahead, pasting, floods, raw keys, a closed window."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Status
from holdfast.system import files
from tests.surfaces.terminal import PATIENCE, Terminal
from tests.surfaces.test_run import BASH, PYTHON, SLOW, bash, is_there, run_of, until

SHELL = ["bash", "--norc", "--noprofile", "-i"]
HOLDFAST = f"{sys.executable} -m holdfast"
RAW = """
import os, tty
tty.setraw(0)
os.write(1, b"listens")
while (key := os.read(0, 1)) != b"q":
    os.write(1, b"<%d>" % key[0])
"""
ECHO = """
import os, tty
tty.setraw(0)
os.write(1, b"listens")
left = int(os.environ["LEFT"])
while left:
    data = os.read(0, 1000)
    left -= len(data)
    while data:
        data = data[os.write(1, data):]
os.write(1, b"over")
"""


def a_shell(directory: Path) -> Terminal:
    """Somebody's own shell, in which he starts things."""
    terminal = Terminal(directory=directory, program=SHELL, env={**SLOW, "PS1": "outer> "})
    terminal.wait_for("outer> ")
    return terminal


def test_ctrl_z_stops_it_with_us_and_fg_goes_on_with_both(repository: Path) -> None:
    with a_shell(repository) as shell:
        shell.type(f"{HOLDFAST} run -- {sys.executable} -q -i -c 'x = 41'\n")
        shell.wait_for(">>> ")
        shell.type("\x1a")
        shell.wait_for("Stopped")
        shell.type("echo outside-$((40 + 2))\n")
        shell.wait_for("outside-42")
        shell.type("fg; echo code-$?\n")
        shell.type("print('inside', x + 1)\n")
        shell.wait_for("inside 42")
        shell.type("raise SystemExit(3)\n")
        shell.wait_for("code-3")


def test_what_nobody_could_start_again_is_not_stopped(repository: Path) -> None:
    with Terminal(*PYTHON, directory=repository, env=SLOW) as terminal:
        terminal.wait_for(">>> ")
        terminal.type("\x1a")
        terminal.type("print('went', 40 + 2)\n")
        terminal.wait_for("went 42")
        terminal.type("sys.exit(5)\n")
        assert terminal.finish() == 5


def test_what_was_typed_before_it_listened_is_not_lost(repository: Path) -> None:
    with Terminal(*BASH, directory=repository, env=SLOW) as terminal:
        terminal.type("echo ahead-$((40 + 2)); exit 3\n")
        assert terminal.finish() == 3
        assert "ahead-42" in terminal.text


def test_raw_keys_are_passed_on_as_they_are(repository: Path) -> None:
    with Terminal("run", "--", sys.executable, "-c", RAW, directory=repository, env=SLOW) as terminal:
        terminal.wait_for("listens")
        terminal.type("\x03\x1a\x04\x1b[A")
        terminal.wait_for("<3><26><4><27><91><65>")
        terminal.type("q")
        assert terminal.finish() == 0


def test_a_long_paste_into_something_that_answers_does_not_stand_still(repository: Path) -> None:
    size = 300_000
    environ = {**SLOW, "LEFT": str(size)}
    with Terminal("run", "--", sys.executable, "-c", ECHO, directory=repository, env=environ) as terminal:
        terminal.wait_for("listens")
        paste = threading.Thread(target=terminal.type, args=("x" * size,), daemon=True)
        paste.start()
        terminal.wait_for("over")
        assert terminal.finish() == 0
        assert terminal.text.count("x") == size
        paste.join(PATIENCE)


def test_a_flood_comes_through_without_loss_and_waiting_costs_nothing(repository: Path) -> None:
    script = "stty raw; yes 1234567 | head -c 1000000; stty -raw; echo over; read line"
    with Terminal("run", "--", "bash", "-c", script, directory=repository, env=SLOW) as terminal:
        terminal.wait_for("over\r\n")
        assert terminal.seen == b"1234567\n" * 125_000 + b"over\r\n"
        spent = processor_time(terminal.process.pid)
        for _ in range(2_000):
            os.sched_yield()
        assert processor_time(terminal.process.pid) - spent <= 1  # hundredths of a second
        terminal.type("\n")
        assert terminal.finish() == 0


def processor_time(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_what_it_said_before_it_ended_is_shown_also_when_we_come_late(repository: Path) -> None:
    gate = repository / "gate"
    os.mkfifo(gate)
    script = "echo =$PPID=; read line < gate; echo last words; exit 4"
    with Terminal("run", "--", "sh", "-c", script, directory=repository, env=SLOW) as terminal:
        terminal.wait_for("=\r\n")
        leader = int(terminal.text.split("=")[1])
        terminal.process.send_signal(signal.SIGSTOP)
        gate.write_text("go\n")
        until(lambda: not is_there(leader), "both are gone")
        terminal.process.send_signal(signal.SIGCONT)
        assert terminal.finish() == 4
        assert terminal.text.endswith("last words\r\n")


def test_whoever_is_left_behind_is_neither_waited_for_nor_hung_up(repository: Path) -> None:
    script = "sleep 1000 & echo $!; printf '%060000d' 7; exit 4"
    with Terminal("run", "--", "sh", "-c", script, directory=repository, env=SLOW) as terminal:
        assert terminal.finish() == 4
        first, _, rest = terminal.text.partition("\r\n")
    assert is_there(int(first))
    os.kill(int(first), 9)
    assert (len(rest), rest[-1]) == (60_000, "7")


def test_a_closed_window_is_a_disconnect(repository: Path) -> None:
    with holdfast.open(repository) as workspace:
        run = holdfast.start(workspace, "topic", layout="go-team").run.id
    with Terminal(*BASH, directory=repository, env={**SLOW, "PS1": "ready> "}) as terminal:
        terminal.wait_for("ready> ")
        terminal.close_window()
        terminal.process.wait(PATIENCE)
    found = run_of(repository)
    assert (found.status, found.evidence) == (Status.INTERRUPTED, "disconnect: its command was ended by SIGHUP")
    assert '"interrupt_reason": "disconnect"' in (repository / "checkpoints" / run / "recovery.json").read_text()


def test_a_job_in_the_background_has_our_own_descriptors_and_is_not_stopped(repository: Path) -> None:
    with a_shell(repository) as shell:
        shell.type(f"{HOLDFAST} run -- sh -c 'echo behind-$((40 + 2)); exit 5' & wait $!; echo code-$?\n")
        shell.wait_for("behind-42")
        shell.wait_for("code-5")


@pytest.mark.parametrize("before", [[], ["nohup"]])
def test_signals_that_are_ignored_are_those_of_the_bare_command(repository: Path, before: list[str]) -> None:
    def ignored(*command: str) -> str:
        script = ["sh", "-c", "grep SigIgn /proc/$$/status"]
        done = subprocess.run(
            [*before, *command, *script], cwd=repository, check=True, capture_output=True, stdin=subprocess.DEVNULL
        )
        return done.stdout.decode()

    assert ignored(sys.executable, "-m", "holdfast", "run", "--") == ignored("env")


def test_whoever_leads_the_terminal_can_die_and_the_run_is_interrupted(repository: Path) -> None:
    with Terminal(*BASH, directory=repository, env={**SLOW, "PS1": "ready> "}) as terminal:
        terminal.wait_for("ready> ")
        terminal.type("echo of-$((40 + 2))=$PPID=$$=end\n")
        terminal.wait_for("of-42=")
        terminal.wait_for("=end\r\n")
        _, leader, shell, _ = terminal.text.rpartition("of-42")[2].split("=", 3)
        os.kill(int(leader), 9)
        assert terminal.finish() == 137
        until(lambda: not is_there(int(shell)), "the shell is gone")
    assert run_of(repository).status is Status.INTERRUPTED


def test_a_save_that_waits_for_another_writer_holds_up_no_key(repository: Path) -> None:
    """A save once ran between two keys, and a writer that did not finish froze the terminal for ten seconds."""
    with holdfast.open(repository) as workspace:
        holdfast.start(workspace, "topic", layout="go-team")
        signs, taken = workspace.place / "alive", workspace.place / "team.lock"
    with bash(repository, env={"HOLDFAST_SAVE_INTERVAL": "1", "HOLDFAST_STORE_DEADLINE": "600"}) as terminal:
        with files.lock(taken, 0):
            until(lambda: signs.is_dir() and any(signs.iterdir()), "a save has begun")
            terminal.type("echo goes-on-$((40 + 2))\n")
            terminal.wait_for("goes-on-42")
        terminal.type("exit 6\n")
        assert terminal.finish() == 6
