"""Real commands and real processes while the wall clock is wrong, the machine has slept, or a number is used again.

Nobody who lives is declared dead, whoever was killed is found by the next command, and events keep their order.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Status
from tests.environments import in_namespace
from tests.hook_calls import knock
from tests.sessions import a_process, kill, run_of, stop
from tests.tools import Command

HOUR, DAY = 3600, 86400
NOW = int(time.time())
SHIFTS = {
    "an hour back": -HOUR,
    "an hour ahead": HOUR,
    "silent for two hours": 2 * HOUR,
    "asleep for eight hours": 8 * HOUR,
    "a day ahead": DAY,
    "1970": 1 - NOW,
    "2038": 2**31 - NOW,
    "2100": 4_102_444_800 - NOW,
}
BY_SHIFT = pytest.mark.parametrize("shift", SHIFTS.values(), ids=[name.replace(" ", "-") for name in SHIFTS])
Shifted = Callable[[int], dict[str, str]]


@pytest.fixture(scope="session")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Shifted:
    """What to add to the environment of a program so that it sees another wall clock."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("NOT PROVED HERE: another clock for a program needs Linux and a compiler")
    library = tmp_path_factory.mktemp("clock") / "shifted.so"
    source = str(Path(__file__).with_name("shifted.c"))
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), source], check=True)

    def variables(shift: int) -> dict[str, str]:
        return {"LD_PRELOAD": str(library), "SHIFTED_BY": str(shift), "TZ": "Europe/Berlin"}

    told = subprocess.run(
        [sys.executable, "-c", "import time; print(time.time())"], env=variables(DAY), capture_output=True, check=True
    )
    if float(told.stdout) < time.time() + DAY // 2:
        pytest.skip("NOT PROVED HERE: this Python does not look at the clock through the library of the system")
    return variables


def begin(repository: Path, pid: int) -> None:
    with holdfast.open(repository) as project:
        holdfast.start(project, "goal", pid=pid)


def status_of(repository: Path) -> Status:
    with holdfast.open(repository) as project, project.reading() as journal:
        (run,) = journal.view.all_run_ids()
        return journal.get_run(run).status


@pytest.mark.promise(14)
@BY_SHIFT
def test_a_clock_that_is_wrong_hides_nobody_and_kills_nobody(repository: Path, shifted: Shifted, shift: int) -> None:
    with a_process() as child:
        begin(repository, child.pid)
        stop(child)
        Command.run("sweep", directory=repository, env=shifted(shift)).ok()
        assert status_of(repository) is Status.ACTIVE
        kill(child)
        Command.run("status", directory=repository, env=shifted(shift)).ok()
        assert status_of(repository) is Status.INTERRUPTED


@pytest.mark.promise(16)
def test_events_keep_their_order_while_the_clock_jumps(repository: Path, shifted: Shifted) -> None:
    with holdfast.open(repository) as project:
        holdfast.start(project, "goal")
    for number, shift in enumerate(SHIFTS.values()):
        knock(repository, json.dumps({"n": number}).encode(), env=shifted(shift))
    with holdfast.open(repository) as project:
        events = holdfast.log(project, newest=len(SHIFTS)).events
        assert [event.body["call"]["n"] for event in events] == list(range(len(SHIFTS)))
        assert run_of(project).calls == len(SHIFTS)
        assert holdfast.verify(project).problems == []


NAMESPACES = {
    "a machine that slept": ("--time", "--boottime", str(8 * HOUR), "--monotonic", str(8 * HOUR), "--fork"),
    "a container": ("--pid", "--fork", "--mount-proc"),
}


@pytest.mark.promise(14)
@pytest.mark.parametrize("options", NAMESPACES.values(), ids=[name.replace(" ", "-") for name in NAMESPACES])
def test_a_command_elsewhere_declares_nobody_dead(repository: Path, options: tuple[str, ...]) -> None:
    before = in_namespace(*options)
    with a_process() as child:
        begin(repository, child.pid)
        command = [*before, sys.executable, "-m", "holdfast", "sweep"]
        subprocess.run(command, cwd=repository, check=True, capture_output=True, timeout=60)
        assert status_of(repository) is Status.ACTIVE


REUSE = """
sleep 1000 & first=$!
"$0" -m holdfast start goal --pid $first >/dev/null 2>&1 || exit 1
kill -9 $first; wait $first 2>/dev/null
echo $((first - 1)) >/proc/sys/kernel/ns_last_pid || exit 77
sleep 1000 & second=$!
[ $second = $first ] || exit 78
"$0" -m holdfast sweep --json
"""


@pytest.mark.promise(14)
def test_a_number_that_the_kernel_gives_to_another_process_hides_no_death(repository: Path) -> None:
    before = in_namespace("--pid", "--fork", "--mount-proc")
    command = [*before, "sh", "-c", REUSE, sys.executable]
    done = subprocess.run(command, cwd=repository, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode in (77, 78):
        pytest.skip("NOT PROVED HERE: the kernel lets nobody choose the next number of a process")
    assert len(json.loads(done.stdout)["interrupted"]) == 1, done.stderr
    assert status_of(repository) is Status.INTERRUPTED
