"""The queue in front of the store: one at a time, nobody waits for ever, and the dead hold nothing."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.core.errors import Busy, Trouble
from holdfast.system import files

HOLD = """
import sys
from pathlib import Path
from holdfast.system import files
with files.lock(Path(sys.argv[1]), 10):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "lock"


@contextmanager
def a_holder(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that has the lock, and keeps it until its standard input is closed."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        try:
            yield holder
        finally:
            holder.kill()


def is_free(path: Path) -> bool:
    try:
        with files.lock(path, 0.05):
            return True
    except Busy:
        return False


def test_whoever_waits_too_long_is_told_who_holds_the_lock(path: Path) -> None:
    with a_holder(path) as holder, pytest.raises(Busy) as busy, files.lock(path, 0.1):
        pytest.fail("two hold it")
    facts = dict(busy.value.facts)
    assert (facts["process"], facts["lock"]) == (str(holder.pid), str(path))
    assert any(f"ps -p {holder.pid}" in hint for hint in busy.value.hints)


def test_lock_that_is_let_go_is_had_by_the_next(path: Path) -> None:
    with a_holder(path) as holder:
        assert not is_free(path)
        holder.communicate(timeout=60)
        assert is_free(path)


def test_waiting_ends_when_the_holder_lets_go(path: Path) -> None:
    waiting = [sys.executable, "-c", HOLD, str(path)]
    with (
        a_holder(path) as holder,
        subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ) as waiter,
    ):
        holder.communicate(timeout=60)
        assert waiter.stdout
        assert waiter.stdout.readline() == b"held\n"
        waiter.communicate(timeout=60)


@pytest.mark.promise(1, 12)
@pytest.mark.parametrize("stopped_before", [False, True])
def test_lock_of_a_killed_process_is_free(path: Path, stopped_before: bool) -> None:
    with a_holder(path) as holder:
        if stopped_before:
            holder.send_signal(signal.SIGSTOP)
            os.waitpid(holder.pid, os.WUNTRACED)
            assert not is_free(path)
        holder.send_signal(signal.SIGKILL)
        holder.wait(60)
        assert is_free(path)


def test_lock_is_let_go_when_its_holder_fails(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), files.lock(path, 1):
        1 / 0  # noqa: B018
    assert is_free(path)


def test_lock_of_one_process_excludes_itself(path: Path) -> None:
    with files.lock(path, 1):
        assert not is_free(path)


def test_child_does_not_inherit_the_lock(path: Path) -> None:
    with files.lock(path, 1):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    try:
        assert is_free(path)
    finally:
        child.communicate(b"\n", timeout=60)


@pytest.mark.promise(22)
def test_lock_file_is_private_and_never_a_link(path: Path, tmp_path: Path) -> None:
    with files.lock(path, 1):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Trouble), files.lock(tmp_path / "link", 1):
        pytest.fail("a link was followed")
    assert not (tmp_path / "elsewhere").exists()


def test_a_lock_that_cannot_be_opened_is_named_by_its_whole_path(path: Path) -> None:
    path.mkdir()
    with pytest.raises(Trouble) as trouble, files.lock(path, 0.1):
        pytest.fail("it is held")
    assert dict(trouble.value.facts)["path"] == str(path)
