"""The exit codes that scripts rely on, each shown for real: 0, 1, 2, 3, 10, 11, 12, 130."""

from __future__ import annotations

import fcntl
import functools
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs

import holdfast
from holdfast.operations.commands import get_verb
from holdfast.operations.registry import VERBS
from tests.surfaces.commands import Known
from tests.tools import Command, hook

CALLS = 4000  # far more than are taken in before somebody can press Ctrl-C


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("status",), 0),
        (("on",), 0),  # nothing to do
        (("delete", "{run}"), 1),
        (("forget", "1", "--yes"), 1),
        (("stauts",), 2),
        (("log", "-n", "0"), 2),
        (("show", "nowhere"), 10),
        (("revoke", "7"), 10),
    ],
)
def test_a_command_ends_with_its_documented_code(
    arguments: tuple[str, ...], code: int, worked: Known, cli: Callable[..., Command]
) -> None:
    assert cli(*(worked.fill(argument) for argument in arguments)).code == code


def test_a_wrong_setting_ends_with_2(worked: Known, cli: Callable[..., Command]) -> None:
    done = cli("status", env={"HOLDFAST_STORE_DEADLINE": "soon"})
    assert done.code == 2
    assert "HOLDFAST_STORE_DEADLINE" in done.err


def break_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    verb = get_verb("note")
    function = functools.wraps(verb.function)(broken)
    monkeypatch.setitem(VERBS, "note", structs.replace(verb, function=function))


@pytest.mark.promise(19)
def test_a_bug_ends_with_3_and_a_report_without_anything_of_the_users(
    worked: Known, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_note(monkeypatch)
    done = say("note", "my secret text")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("holdfast: This is a bug in Holdfast; what was acknowledged is kept\n")
    assert f"holdfast {holdfast.__version__}, Python {sys.version.split()[0]}, {sys.platform}" in done.err
    assert "RuntimeError: boom" in done.err
    assert re.search(r"where .*test_exit_codes\.py:\d+ broken", done.err)
    assert "Traceback" not in done.err
    assert "my secret text" not in done.err


def test_a_bug_in_json_says_3(worked: Known, say: Callable[..., Command], monkeypatch: pytest.MonkeyPatch) -> None:
    break_note(monkeypatch)
    done = say("note", "text", "--json")
    assert (done.code, done.err) == (3, "")
    assert done.json["error"]["code"] == 3
    assert "RuntimeError: boom" in done.json["error"]["facts"]["error"]


def test_a_store_that_somebody_holds_ends_with_11(worked: Known, repository: Path, cli: Callable[..., Command]) -> None:
    with open(repository / ".git/holdfast/lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{os.getpid():<20}\n")
        lock.flush()
        done = cli("note", "text", env={"HOLDFAST_STORE_DEADLINE": "0.1"})
    assert done.code == 11
    assert str(os.getpid()) in done.err
    assert "run the command again" in done.err


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "overwritten": lambda data: b"\xa5" * len(data),
    "header": lambda data: b"not a database, " + data[16:],
    "pages": lambda data: data[:4096] + b"\xa5" * (len(data) - 4096),
    "cut": lambda data: data[: len(data) // 2],
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("verb", ["status", "verify"])
def test_a_damaged_store_ends_with_12(damage: str, verb: str, repository: Path, say: Callable[..., Command]) -> None:
    say("start", "goal").ok()
    journal = repository / ".git/holdfast/journal.db"
    _write_the_log_back(journal)
    journal.write_bytes(DAMAGES[damage](journal.read_bytes()))
    done = say(verb)
    assert done.code == 12, done.err
    assert "amaged" in done.err
    assert say(verb, "--json").code == 12


def _write_the_log_back(journal: Path) -> None:
    """Let the database file hold everything, so that damaging it matters."""
    script = "import apsw, sys; base = apsw.Connection(sys.argv[1]); base.pragma('user_version'); base.close()"
    subprocess.run([sys.executable, "-c", script, str(journal)], check=True)
    assert not journal.with_name("journal.db-wal").exists()


@pytest.mark.promise(1)
def test_ctrl_c_in_the_middle_of_long_work_ends_with_130_and_loses_nothing(
    repository: Path, say: Callable[..., Command]
) -> None:
    say("start", "goal").ok()
    inbox = repository / ".git/holdfast/inbox"
    _keep_many_calls(repository, inbox)
    process = subprocess.Popen(
        [sys.executable, "-m", "holdfast", "sweep"], cwd=repository, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while len(os.listdir(inbox)) == CALLS:
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode().endswith("Interrupted. What was acknowledged is kept.\n")
    assert b"Traceback" not in err
    assert any(name[0] != "." for name in os.listdir(inbox)), "it was over before Ctrl-C was pressed"
    say("sweep").ok()
    assert say("verify").ok().out.startswith(f"Whole: 1 run, {CALLS + 1:,} events")


def _keep_many_calls(repository: Path, inbox: Path) -> None:
    hook(repository, call=b'{"n": 1}')
    (first,) = os.listdir(inbox)
    stamp, rest = first.split("-", 1)
    for number in range(1, CALLS):
        os.link(inbox / first, inbox / f"{int(stamp) + number:020d}-{rest}")


def test_ctrl_c_while_waiting_for_another_writer_ends_with_130(worked: Known, repository: Path) -> None:
    with open(repository / ".git/holdfast/lock", "r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast", "note", "text"],
            cwd=repository,
            env={**os.environ, "HOLDFAST_STORE_DEADLINE": "60"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while not _has_open(process.pid, repository / ".git/holdfast/lock"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def _has_open(pid: int, path: Path) -> bool:
    descriptors = Path(f"/proc/{pid}/fd")
    return any(_leads_to(descriptors / name, path) for name in os.listdir(descriptors))


def _leads_to(descriptor: Path, path: Path) -> bool:
    try:
        return os.readlink(descriptor) == str(path)
    except FileNotFoundError:
        return False


def test_a_run_that_is_being_worked_on_is_busy(say: Callable[..., Command]) -> None:
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE) as agent:
        run = say("start", "goal", "--pid", str(agent.pid)).ok().out.strip()
        done = say("delete", run, "--yes")
    assert done.code == 11
    assert str(agent.pid) in done.err
    say("delete", run, "--yes").ok()


def test_choices_that_share_a_name_are_all_told_in_json(repository: Path) -> None:
    """A new user saw one of eleven: the facts were a dictionary, and all had the same name."""
    (repository / "a").write_text("a")
    made = {Command.run("checkpoint", directory=repository).ok().out.strip() for _ in range(3)}
    done = Command.run("restore", "cp-", "--yes", "--json", directory=repository)
    assert set(done.json["error"]["facts"]["checkpoint"]) == made


@pytest.mark.parametrize("arguments", [("status",), ("checkpoint",), ("restore", "x", "y"), ("undo",)])
def test_a_directory_that_was_removed_under_us_is_told_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    """It was a traceback, for every command: also for the `undo` that would have brought the directory back."""
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$0" -m holdfast "$@"'
    done = subprocess.run(
        ["sh", "-c", script, sys.executable, *arguments], cwd=tmp_path, capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stdout) == (10, "")
    assert done.stderr.startswith("holdfast: The directory that you are in was removed\n")
