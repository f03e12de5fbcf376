"""Who is alive: told by evidence alone, never by a clock, and never by a number that was used again."""

from __future__ import annotations

import functools
import os
import posix
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from holdfast.core.model import Process
from holdfast.system import boot, process
from tests.environments import in_namespace

pytestmark = pytest.mark.promise(14)

HERE = Process(0, "", "boot-1", "pid:[1]", "machine-1", "host-1")
RECORDED = Process(100, "5000", "boot-1", "pid:[1]", "machine-1", "host-1")

ALIVE, DEAD, UNKNOWN = True, False, None


class Seen(NamedTuple):
    """What the kernel says about process 100 now."""

    state: str
    start: str = "5000"


class Situation(NamedTuple):
    about: str
    seen: Seen | None
    expected: bool | None
    here: Process = HERE
    recorded: Process = RECORDED


def there(**changes: str) -> Process:
    return msgspec.structs.replace(HERE, **changes)


def was(**changes: str) -> Process:
    return msgspec.structs.replace(RECORDED, **changes)


SITUATIONS = [
    Situation("it runs", Seen("R"), ALIVE),
    Situation("it sleeps", Seen("S"), ALIVE),
    Situation("it waits for a slow disk", Seen("D"), ALIVE),
    Situation("it was stopped", Seen("T"), ALIVE),
    Situation("a debugger holds it", Seen("t"), ALIVE),
    Situation("it is idle", Seen("I"), ALIVE),
    Situation("it is parked", Seen("P"), ALIVE),
    Situation("it is in a state that nobody knows yet", Seen("?"), ALIVE),
    Situation("it is gone", None, DEAD),
    Situation("it is a zombie", Seen("Z"), DEAD),
    Situation("it is being buried", Seen("X"), DEAD),
    Situation("it is being buried by an old kernel", Seen("x"), DEAD),
    Situation("its number is used again", Seen("S", "5001"), DEAD),
    Situation("its number is used again by an earlier start", Seen("S", "4999"), DEAD),
    Situation("its number belongs to a zombie", Seen("Z", "9"), DEAD),
    Situation("its number is used again by a stopped process", Seen("T", "9"), DEAD),
    Situation("the machine was restarted", None, DEAD, there(boot="boot-2")),
    Situation("restarted, and its number is used again", Seen("S", "77"), DEAD, there(boot="boot-2")),
    Situation("restarted, and even the start is the same", Seen("S"), DEAD, there(boot="boot-2")),
    Situation("restarted, into another namespace", None, DEAD, there(boot="boot-2", namespace="pid:[2]")),
    Situation("another machine", None, UNKNOWN, Process(0, "", "boot-9", "pid:[1]", "machine-2", "host-2")),
    Situation("another machine that has the same process", Seen("S"), UNKNOWN, there(machine="m-2", boot="boot-9")),
    Situation("another machine with the same name", None, UNKNOWN, there(machine="machine-2", boot="boot-9")),
    Situation("a clone of the machine with another name", None, UNKNOWN, there(host="host-2", boot="boot-9")),
    Situation("the machine was renamed while it ran", Seen("S"), ALIVE, there(host="host-9")),
    Situation("renamed while it ran, and the process is gone", None, DEAD, there(host="host-9")),
    Situation("another container", None, UNKNOWN, there(namespace="pid:[2]")),
    Situation("another container that has such a process", Seen("S"), UNKNOWN, there(namespace="pid:[2]")),
    Situation("another container with its own name", None, UNKNOWN, there(namespace="pid:[2]", host="c-2", machine="")),
    Situation("a container sees a process of its host", None, UNKNOWN, there(namespace="pid:[9]", host="abc")),
    Situation("the host sees a process of a container", None, UNKNOWN, recorded=was(namespace="pid:[9]", host="abc")),
    Situation("no namespaces on this system", Seen("S"), ALIVE, there(namespace=""), was(namespace="")),
    Situation("no namespaces, and it is gone", None, DEAD, there(namespace=""), was(namespace="")),
    Situation("nobody knows which start of the machine this is", None, UNKNOWN, there(boot="")),
    Situation("nobody knows which start of the machine it ran in", None, UNKNOWN, recorded=was(boot="")),
    Situation("a machine without an id was restarted", None, DEAD, there(machine="", boot="b-2"), was(machine="")),
    Situation(
        "a machine without an id, another name", None, UNKNOWN, there(machine="", host="h", boot="b"), was(machine="")
    ),
]


@pytest.mark.parametrize("case", SITUATIONS, ids=[case.about for case in SITUATIONS])
def test_judgement_follows_from_the_evidence(monkeypatch: pytest.MonkeyPatch, case: Situation) -> None:
    monkeypatch.setattr(process, "here", functools.cache(lambda: case.here))
    monkeypatch.setattr(process, "_look", lambda pid: case.seen if pid == 100 else None)
    judgement = process.judge(case.recorded)
    assert judgement.alive is case.expected
    assert "100" in judgement.evidence


def test_table_is_as_long_as_it_should_be() -> None:
    assert len({case.about for case in SITUATIONS}) == len(SITUATIONS) >= 30


# real processes


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A process that lives until it is killed."""
    with subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL) as child:
        yield child
        child.kill()


def identified(pid: int) -> Process:
    found = process.identify(pid)
    assert found is not None
    return found


def wait_for_state(pid: int, states: str) -> None:
    """Until the kernel says so; it takes a moment to deliver a signal."""
    while True:
        found = process.parse_stat(Path(f"/proc/{pid}/stat").read_text())
        assert found is not None
        if found[0] in states:
            return


def test_process_knows_itself() -> None:
    me = identified(os.getpid())
    assert (me.pid, me.boot, me.host) == (os.getpid(), process.here().boot, os.uname().nodename)
    assert process.judge(me).alive is True
    assert identified(os.getpid()) == me


def test_killed_process_is_dead_as_a_zombie_and_afterwards(child: subprocess.Popen[bytes]) -> None:
    recorded = identified(child.pid)
    child.kill()
    wait_for_state(child.pid, "Z")
    assert process.judge(recorded).alive is False
    assert process.identify(child.pid) is None
    child.wait(60)
    assert process.judge(recorded) == (False, f"process {child.pid} is gone")
    assert process.identify(child.pid) is None


def test_stopped_process_is_alive(child: subprocess.Popen[bytes]) -> None:
    recorded = identified(child.pid)
    child.send_signal(signal.SIGSTOP)
    wait_for_state(child.pid, "T")
    assert process.judge(recorded).alive is True
    assert process.identify(child.pid) == recorded


def test_process_whose_number_is_used_again_is_dead(child: subprocess.Popen[bytes]) -> None:
    recorded = msgspec.structs.replace(identified(child.pid), start="1")
    assert process.judge(recorded).alive is False
    assert "another program" in process.judge(recorded).evidence


@pytest.mark.parametrize("name", ["a) S 1 1 (b", "((((", "))))", "x y z", "R 1 2 3", "\xff\xfe"])
def test_name_of_a_program_cannot_forge_its_state(tmp_path: Path, name: str) -> None:
    program = tmp_path / name
    program.symlink_to(sys.executable)
    script = "import sys; sys.stdin.read()"
    with subprocess.Popen([str(program), "-c", script], stdin=subprocess.PIPE, executable=program) as child:
        recorded = identified(child.pid)
        assert process.judge(recorded).alive is True
        assert recorded.start == identified(child.pid).start.strip()
        assert recorded.start.isdecimal()
        child.communicate(timeout=60)


NOW = 1_767_268_800.0
CLOCKS = [NOW - 3600, NOW + 86400, NOW + 3600, 0.0, 2.0**31, 2.0**31 + 1, NOW - 365 * 86400, 4e9]


@pytest.mark.parametrize("wall", CLOCKS)
def test_clock_that_was_set_does_not_matter(monkeypatch: pytest.MonkeyPatch, wall: float) -> None:
    me = identified(os.getpid())
    monkeypatch.setattr(time, "time", lambda: wall)
    monkeypatch.setattr(time, "time_ns", lambda: int(wall * 1e9))
    assert process.judge(me).alive is True
    assert identified(os.getpid()) == me


JUDGE = """
import sys
import msgspec
from holdfast.system import process
from holdfast.core.model import Process
judgement = process.judge(msgspec.json.decode(sys.argv[1], type=Process))
sys.stdout.buffer.write(msgspec.json.encode(judgement.alive))
"""


def judged_elsewhere(recorded: Process, before: list[str]) -> bool | None:
    """What another process says, which was started with this in front."""
    command = [*before, sys.executable, "-c", JUDGE, msgspec.json.encode(recorded).decode()]
    done = subprocess.run(command, capture_output=True, env=os.environ, check=True, timeout=60)
    return msgspec.json.decode(done.stdout, type=bool | None)


def test_another_process_of_the_same_place_agrees(child: subprocess.Popen[bytes]) -> None:
    recorded = identified(child.pid)
    assert judged_elsewhere(recorded, []) is True
    child.kill()
    child.wait(60)
    assert judged_elsewhere(recorded, []) is False


@pytest.mark.parametrize("options", [["--pid", "--fork", "--mount-proc"], ["--pid", "--fork"]])
def test_process_outside_a_container_is_not_declared_dead_inside(options: list[str]) -> None:
    before = in_namespace(*options)
    assert judged_elsewhere(identified(os.getpid()), before) is None


@pytest.mark.parametrize("shift", ["100000", "-100"])
def test_other_boot_clock_of_a_container_declares_nobody_dead(shift: str) -> None:
    before = in_namespace("--time", "--boottime", shift, "--monotonic", shift, "--fork")
    assert judged_elsewhere(identified(os.getpid()), before) is not False


def test_kernel_without_time_namespaces_still_tells_containers_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """They came with Linux 5.6; process namespaces are much older."""

    def readlink(path: bytes, *, container: bytes) -> bytes:
        if path != b"/proc/self/ns/pid":
            raise FileNotFoundError(path)
        return container

    found = []
    for container in (b"pid:[1]", b"pid:[2]"):
        monkeypatch.setattr(posix, "readlink", functools.partial(readlink, container=container))
        found.append(boot.namespaces())
    assert found[0] != found[1]


def test_process_without_free_descriptors_declares_nobody_dead() -> None:
    me = identified(os.getpid())
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        judgement = process.judge(me)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert judgement.alive is not False


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1, 2**31, 2**70])
def test_number_that_no_process_can_have_is_nobody(pid: int) -> None:
    assert process.identify(pid) is None
