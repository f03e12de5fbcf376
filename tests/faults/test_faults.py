"""The fault tools prove themselves: what is right comes out clean, what is wrong is caught, the numbers are right."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest

from . import naive, powercut, tracer
from .explorer import copy_tree, explore, remove_tree
from .report import Outcome, Report, Violation, spread
from .tracer import TracerError, available, build, read_record, trace

ERRORS = (
    "EACCES",
    "EAGAIN",
    "EDQUOT",
    "EFBIG",
    "EINTR",
    "EIO",
    "EMFILE",
    "ENFILE",
    "ENOENT",
    "ENOSPC",
    "EPERM",
    "EROFS",
)


@pytest.fixture
def traceable() -> None:
    if (reason := available()) is not None:
        pytest.skip(f"NOT TESTED: {reason}")


def skip_unless_power_can_be_cut(filesystem: str) -> None:
    if (reason := powercut.available(filesystem)) is not None:
        pytest.skip(f"NOT TESTED: {reason}")


needs_tracer = pytest.mark.usefixtures("traceable")


def shell(script: str) -> list[str]:
    return ["/bin/sh", "-c", script]


def python(script: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", script]


# One state file and its writers. At the top level, so that a worker process can be told about them.


def prepare_old_state(directory: Path) -> None:
    (directory / "state.json").write_text(naive.render("old"))


def write_new_state(writer: str, directory: Path) -> list[str]:
    return [sys.executable, "-I", "-S", naive.__file__, writer, os.fspath(directory), "new"]


def state_is_whole(outcome: Outcome) -> None:
    text = (outcome.directory / "state.json").read_text()
    assert text in (naive.render("old"), naive.render("new")), f"state.json is torn, {len(text)} characters are left"
    if outcome.acknowledged():
        assert text == naive.render("new"), "the acknowledged change is lost"


def state_is_whole_and_nothing_lies_around(outcome: Outcome) -> None:
    state_is_whole(outcome)
    if not outcome.killed:
        assert os.listdir(outcome.directory) == ["state.json"]


# ---- The explorer


@needs_tracer
def test_right_writer_keeps_its_promises_under_every_fault() -> None:
    report = explore(
        prepare=prepare_old_state,
        command=functools.partial(write_new_state, "durable"),
        check=state_is_whole_and_nothing_lies_around,
        modes=("kill", "torn", "one", "short", "ENOSPC", "EIO", "sticky:ENOSPC"),
    )
    report.assert_clean()
    assert report.calls == 5  # create, write, fsync, rename, fsync of the directory
    assert report.counts == {
        "kill": 5,
        "torn": 1,
        "one": 5,
        "short": 1,
        "ENOSPC": 5,
        "EIO": 5,
        "sticky:ENOSPC": 5,
    }
    assert report.runs == 27


@needs_tracer
@pytest.mark.parametrize("writer", ["in_place", "backup_then_in_place"])
def test_writers_in_place_are_caught(writer: str) -> None:
    report = explore(
        prepare=prepare_old_state,
        command=functools.partial(write_new_state, writer),
        check=state_is_whole,
        modes=("kill", "torn"),
    )
    assert "torn, 0 characters" in why(report, "kill", "write state.json")
    assert "torn, 1015 characters" in why(report, "torn", "write state.json")
    with pytest.raises(AssertionError, match=r"2 violations in .*\n  kill at call .*\n  torn at call "):
        report.assert_clean()


def why(report: Report, mode: str, call: str) -> str:
    [found] = [violation.why for violation in report.violations if (violation.mode, violation.call) == (mode, call)]
    return found


@needs_tracer
def test_backup_of_the_copying_writer_is_torn_as_well() -> None:
    # The copy runs inside the kernel, asked for with a length far beyond the end of the file.
    report = explore(
        prepare=prepare_old_state,
        command=functools.partial(write_new_state, "backup_then_in_place"),
        check=backup_is_whole,
        modes=("torn",),
    )
    assert {violation.point for violation in report.violations} == {2}


def backup_is_whole(outcome: Outcome) -> None:
    assert len((outcome.directory / "state.json.backup").read_text()) == len(naive.render("old"))


@needs_tracer
def test_hang_and_traceback_are_violations() -> None:
    def accept(outcome: Outcome) -> None:
        pass

    hangs = explore(
        prepare=do_nothing,
        command=lambda _: shell("true > file || exec sleep 600"),
        check=accept,
        modes=("EIO",),
        timeout=3,
    )
    assert [violation.why for violation in hangs.violations] == ["hung for 3 seconds"]
    complains = explore(
        prepare=do_nothing, command=lambda _: python("open('file', 'w')"), check=accept, modes=("kill", "EIO")
    )
    assert [violation.mode for violation in complains.violations] == ["EIO"]
    assert "printed a traceback" in complains.violations[0].why
    allowed = explore(
        prepare=do_nothing,
        command=lambda _: python("open('file', 'w')"),
        check=accept,
        modes=("EIO",),
        allow_traceback=True,
    )
    allowed.assert_clean()


def do_nothing(directory: Path) -> None:
    pass


@needs_tracer
def test_who_says_that_it_is_done_before_it_is_done_is_caught() -> None:
    """A command that was killed has acknowledged what it printed, though it has no exit code."""

    def check(outcome: Outcome) -> None:
        assert (outcome.directory / "late").exists() or not outcome.acknowledged(), "acknowledged and lost"

    report = explore(
        prepare=prepare_old_state, command=lambda _: shell("echo done; mkdir late"), check=check, modes=("kill",)
    )
    assert [violation.why for violation in report.violations] == ["acknowledged and lost"]


@needs_tracer
def test_recovery_runs_before_the_check_and_has_to_succeed() -> None:
    def file_is_there(outcome: Outcome) -> None:
        assert (outcome.directory / "file").read_text() == "text\n"

    def write(_: Path) -> list[str]:
        return shell("echo text > file")

    recovered = explore(prepare=do_nothing, command=write, check=file_is_there, modes=("kill", "torn"), recover=write)
    recovered.assert_clean()
    failing = explore(
        prepare=do_nothing,
        command=write,
        check=lambda _: None,
        modes=("kill",),
        recover=lambda _: shell("test -e file || { echo 'not there' >&2; exit 7; }"),
    )
    assert [str(violation) for violation in failing.violations] == [
        "kill at call 1 (openat file): the recovery failed with 7: not there"
    ]


@needs_tracer
@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("echo text > file; echo sorry >&2; exit 4", "exit code 4: sorry"),
        ("true", "changes nothing"),
        ("echo other > file", "not what was asked for"),
    ],
)
def test_command_that_fails_without_a_fault_proves_nothing(script: str, complaint: str) -> None:
    def check(outcome: Outcome) -> None:
        file = outcome.directory / "file"
        assert not file.exists() or file.read_text() == "text\n", "not what was asked for"

    with pytest.raises(AssertionError, match=f"without any fault: .*{complaint}"):
        explore(prepare=do_nothing, command=lambda _: shell(script), check=check, modes=("kill",))


@needs_tracer
def test_number_of_points_can_be_limited() -> None:
    seen = []
    report = explore(
        prepare=do_nothing,
        command=lambda _: shell("for i in 1 2 3 4 5 6 7 8 9; do mkdir $i; done"),
        check=lambda outcome: seen.append((outcome.mode, outcome.point)),
        modes=("kill", "EIO"),
        points=4,
        jobs=1,
    )
    assert report.calls == 9
    assert report.counts == {"kill": 4, "EIO": 4}
    assert {("none", 0), ("kill", 1), ("kill", 9), ("EIO", 1), ("EIO", 9)} <= set(seen)


@needs_tracer
def test_fault_that_was_not_reached_counts_as_missed(tmp_path: Path) -> None:
    # Makes two directories the first time and one afterwards.
    script = f"mkdir one; test -e {tmp_path}/ran || mkdir two; : > {tmp_path}/ran"
    report = explore(prepare=do_nothing, command=lambda _: shell(script), check=lambda _: None, modes=("kill",))
    assert (report.calls, report.runs, report.missed) == (2, 1, {"kill": 1})
    report.assert_clean()


def test_report_without_runs_is_not_clean() -> None:
    with pytest.raises(AssertionError, match="nothing was tried"):
        Report(calls=3, counts={"torn": 0}, missed={"torn": 0}, violations=(), seed=0).assert_clean()


def test_long_report_stays_readable() -> None:
    violations = tuple(Violation("kill", point, "write file", "torn") for point in range(1, 31))
    report = Report(calls=30, counts={"kill": 30}, missed={"kill": 0}, violations=violations, seed=5)
    with pytest.raises(AssertionError) as caught:
        report.assert_clean()
    lines = str(caught.value).splitlines()
    assert lines[0] == "30 violations in 30 faults over 30 calls (kill 30; seed 5)"
    assert lines[1] == "  kill at call 1 (write file): torn"
    assert lines[-1] == "  and 20 more"


def test_sample_is_even_seeded_and_has_both_ends() -> None:
    candidates = range(1, 101)
    sample = spread(candidates, 10, 0, "kill")
    assert sample == spread(candidates, 10, 0, "kill")
    assert sample != spread(candidates, 10, 1, "kill")
    assert sample != spread(candidates, 10, 0, "torn")
    assert sample == sorted(set(sample))
    assert (len(sample), sample[0], sample[-1]) == (10, 1, 100)
    assert max(later - earlier for earlier, later in pairwise(sample)) < 26
    assert spread(candidates, 2, 0, "kill") == [1, 100]
    assert spread(candidates, None, 0, "kill") == list(candidates)
    assert spread(range(1, 4), 10, 0, "kill") == [1, 2, 3]
    assert spread([], 10, 0, "kill") == []
    with pytest.raises(ValueError, match="at least 2"):
        spread(candidates, 1, 0, "kill")


def test_copy_keeps_what_a_check_may_ask_for(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    (source / "empty").mkdir(parents=True)
    (source / "script").write_text("text")
    (source / "script").chmod(0o751)
    (source / "hard").hardlink_to(source / "script")
    (source / "soft").symlink_to("nowhere")
    (source / "locked").mkdir()
    (source / "locked" / "file").touch()
    (source / "locked").chmod(0o500)
    source.chmod(0o711)
    copy_tree(source, target)
    assert sorted(os.listdir(target)) == ["empty", "hard", "locked", "script", "soft"]
    assert os.listdir(target / "empty") == []
    assert (target / "script").stat().st_mode & 0o7777 == 0o751
    assert (target / "script").stat().st_mtime_ns == (source / "script").stat().st_mtime_ns
    assert (target / "hard").samefile(target / "script")
    assert os.readlink(target / "soft") == "nowhere"
    assert (target / "locked").stat().st_mode & 0o7777 == 0o500
    assert target.stat().st_mode & 0o7777 == 0o711
    remove_tree(source)
    remove_tree(target)
    assert os.listdir(tmp_path) == []


# ---- The tracer


@needs_tracer
def test_processes_of_a_tree_share_one_numbering(tmp_path: Path) -> None:
    directory, record = in_new_directory(tmp_path)
    traced = trace(
        shell("sh -c 'echo one > a; echo more >> a' & sh -c 'echo two > b; mv b c' & wait"), directory, record=record
    )
    calls = read_record(record)
    assert (traced.returncode, traced.calls, traced.killed, traced.fault) == (0, 6, False, None)
    assert sorted(call.number for call in calls) == [1, 2, 3, 4, 5, 6]
    assert len({call.pid for call in calls}) == 3  # two shells and mv
    assert sorted(call.describe(directory).replace("renameat2", "rename") for call in calls) == [
        "openat a",
        "openat b",
        "rename b -> c",
        "write a",
        "write a",
        "write b",
    ]


def in_new_directory(tmp_path: Path) -> tuple[Path, Path]:
    directory = tmp_path / "directory"
    directory.mkdir()
    return directory, tmp_path / "record"


@needs_tracer
def test_kill_ends_the_whole_tree_right_before_the_call(tmp_path: Path) -> None:
    script = "sh -c 'echo one > a'; sh -c 'echo two > b'; echo done"
    left = []
    for point in range(1, 6):
        directory = tmp_path / str(point)
        directory.mkdir()
        traced = trace(shell(script), directory, point=point)
        assert (traced.killed, traced.returncode) == ((False, 0) if point == 5 else (True, -9))
        left.append({file.name: file.read_text() for file in directory.iterdir()})
    assert left == [{}, {"a": ""}, {"a": "one\n"}, {"a": "one\n", "b": ""}, {"a": "one\n", "b": "two\n"}]


@needs_tracer
def test_one_kills_the_process_that_makes_the_call_and_no_other(tmp_path: Path) -> None:
    traced = trace(shell("sh -c 'echo x > a' || echo coped > b"), tmp_path, point=2, mode="one")
    assert (traced.killed, traced.returncode) == (True, 0)
    assert (tmp_path / "a").read_text() == ""
    assert (tmp_path / "b").read_text() == "coped\n"


@needs_tracer
def test_acknowledged_work_counts_although_a_process_left_behind_is_killed(tmp_path: Path) -> None:
    # The child waits for the end of its parent, which nobody but the parent's death can bring about.
    script = (
        "import os; ending, alive = os.pipe()\n"
        "if os.fork() == 0: os.close(alive); os.read(ending, 1); os.mkdir('late')\n"
        "else: print('saved', flush=True); os._exit(0)"
    )
    traced = trace(python(script), tmp_path, point=1)
    assert (traced.killed, traced.returncode, traced.stdout) == (True, 0, "saved\n")
    assert os.listdir(tmp_path) == []


WRITES = {
    "write": "os.write(fd, data)",
    "pwrite64": "os.pwrite(fd, data, 0)",
    "writev": "os.writev(fd, [data])",
    "writev of two": "os.writev(fd, [data[:4], data[4:]])",
    "pwritev2": "os.pwritev(fd, [data], 0)",
    "sendfile": "os.sendfile(fd, source, 0, 1 << 23)",
    "copy_file_range": "os.copy_file_range(source, fd, 1 << 23)",
}


@needs_tracer
@pytest.mark.parametrize("name", WRITES)
def test_every_kind_of_write_is_recorded_torn_and_shortened(name: str, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(b"12345678")
    argv = python(
        "import os; data = b'12345678'; source = os.open('../source', os.O_RDONLY)\n"
        f"fd = os.open('file', os.O_CREAT | os.O_RDWR); print({WRITES[name]})"
    )
    directory, record = in_new_directory(tmp_path)
    file = directory / "file"
    whole = trace(argv, directory, record=record)
    [_, write, spoken] = read_record(record)
    assert (whole.stdout, write.name, write.data, write.offset) == ("8\n", name.split()[0], b"12345678", 0)
    assert (spoken.number, spoken.fd, spoken.data) == (0, 1, b"8\n")

    file.unlink()
    short = trace(argv, directory, point=2, mode="short")
    assert (short.stdout, short.returncode, file.read_bytes()) == ("4\n", 0, b"1234")

    file.unlink()
    torn = trace(argv, directory, point=2, mode="torn")
    assert (torn.stdout, torn.returncode, file.read_bytes()) == ("", -9, b"1234")


@needs_tracer
@pytest.mark.parametrize("mode", ["torn", "short"])
def test_nothing_happens_where_there_is_nothing_to_tear(mode: str, tmp_path: Path) -> None:
    traced = trace(shell("mkdir a; mkdir b"), tmp_path, point=1, mode=mode)
    assert (traced.returncode, traced.killed, traced.fault) == (0, False, None)


@needs_tracer
@pytest.mark.parametrize("name", ERRORS)
def test_call_fails_with_the_error_that_was_asked_for(name: str, tmp_path: Path) -> None:
    script = (
        "import os, posix\n"
        "for name in 'abc':\n"
        "    try: posix.mkdir(name)\n"
        "    except OSError as error: print(name, error.errno)"
    )
    traced = trace(python(script), tmp_path, point=2, mode=name)
    assert traced.stdout == f"b {getattr(errno, name)}\n"
    assert sorted(os.listdir(tmp_path)) == ["a", "c"]
    assert traced.fault is not None
    assert (traced.fault.number, traced.fault.describe(tmp_path)) == (2, "mkdir b")


@needs_tracer
@pytest.mark.parametrize(
    ("mode", "survivors"),
    [
        ("sticky:ENOSPC", ["renamed"]),  # no room for anything new
        ("sticky:EMFILE", ["directory", "renamed"]),  # no more open files
        ("sticky:EROFS", ["first", "second"]),  # no change at all
    ],
)
def test_sticky_error_stays(mode: str, survivors: list[str], tmp_path: Path) -> None:
    script = "true > first; true > second; true > third; mkdir directory; true > fourth; rm first; mv second renamed"
    traced = trace(shell(script), tmp_path, point=3, mode=mode)
    assert (traced.calls, sorted(os.listdir(tmp_path))) == (7, survivors)


@needs_tracer
def test_only_calls_that_change_the_directory_are_counted(tmp_path: Path) -> None:
    directory, record = in_new_directory(tmp_path)
    (tmp_path / "way").symlink_to(directory)
    (directory / "inside").touch()
    (tmp_path / "alias").symlink_to(directory / "inside")
    script = """
        : > ../outside; cat inside; : >> inside        # elsewhere; reads; opens without changing
        echo text > ../alias                           # writes to `inside` through a link
        echo text > ../way/new; rm ../directory/./new  # the same directory by other ways
        mv ../outside arrived; mv arrived ../left      # in, and out again
        ln -s anywhere link; chmod 600 inside; sync
    """
    trace(shell(script), directory, record=record)
    assert [call.describe(directory) for call in read_record(record) if call.number] == [
        "write inside",
        "openat new",
        "write new",
        "unlinkat new",
        f"renameat2 {tmp_path}/outside -> arrived",
        f"renameat2 arrived -> {tmp_path}/left",
        "symlinkat link -> anywhere",
        "fchmodat inside",
        "sync .",
    ]


@needs_tracer
def test_calls_by_way_of_a_directory_that_is_held_open_are_counted(tmp_path: Path) -> None:
    directory, record = in_new_directory(tmp_path)
    script = (
        "import os; held = f'/proc/self/fd/{os.open(\".\", os.O_PATH)}'\n"
        "os.mkdir(f'{held}/old'); os.rename(f'{held}/old', f'{held}/new'); os.rmdir(f'{held}/new')"
    )
    trace(python(script), directory, record=record)
    assert [call.describe(directory) for call in read_record(record)] == ["mkdir old", "rename old -> new", "rmdir new"]


@needs_tracer
def test_file_names_need_not_be_text(tmp_path: Path) -> None:
    directory, record = in_new_directory(tmp_path)
    name = os.fsdecode(b'caf\xc3\xa9 \xff "\\\n')
    trace(["mkdir", name], directory, record=record)
    assert [call.describe(directory) for call in read_record(record)] == [f"mkdir {name}"]


@needs_tracer
def test_threads_stopped_processes_and_exec_are_followed(tmp_path: Path) -> None:
    script = """
import os, signal, threading
child = os.fork()
if child == 0:
    os.kill(os.getpid(), signal.SIGSTOP)
    os.mkdir('continued')
    threading.Thread(target=os.execvp, args=('mkdir', ['mkdir', 'executed'])).start()
    threading.Event().wait()
assert os.WIFSTOPPED(os.waitpid(child, os.WUNTRACED)[1])
os.kill(child, signal.SIGCONT)
assert os.waitpid(child, 0)[1] == 0
thread = threading.Thread(target=os.mkdir, args=('threaded',))
thread.start()
thread.join()
"""
    traced = trace([sys.executable, "-c", script], tmp_path)
    assert (traced.stderr, traced.returncode, traced.calls) == ("", 0, 3)
    assert sorted(os.listdir(tmp_path)) == ["continued", "executed", "threaded"]


@needs_tracer
def test_command_gets_input_environment_and_working_directory(tmp_path: Path) -> None:
    directory, _ = in_new_directory(tmp_path)
    traced = trace(
        shell('cat; echo "$WORD"; pwd; echo talk >&2; exit 3'),
        directory,
        cwd=tmp_path,
        env={**os.environ, "WORD": "word"},
        stdin=b"input\n",
    )
    assert traced.stdout == f"input\nword\n{tmp_path}\n"
    assert (traced.stderr, traced.returncode) == ("talk\n", 3)


@needs_tracer
def test_timeout_ends_the_whole_tree(tmp_path: Path) -> None:
    # Were one of them left, it would hold the pipe open, and we should wait for ten minutes.
    traced = trace(shell("mkdir a; sleep 600 & sleep 600"), tmp_path, timeout=1, point=1, mode="EIO")
    assert (traced.timed_out, traced.returncode, traced.killed) == (True, None, False)
    assert traced.fault is not None  # known although the tracer had no time for a report


@needs_tracer
def test_wrong_mode_and_missing_command_are_told(tmp_path: Path) -> None:
    with pytest.raises(TracerError, match="-m ENOTHING: not understood"):
        trace(["true"], tmp_path, point=1, mode="ENOTHING")
    traced = trace(["/no/such/command"], tmp_path)
    assert (traced.returncode, "/no/such/command: No such file" in traced.stderr) == (127, True)


# ---- Building


@needs_tracer
def test_workers_that_build_at_once_all_get_the_tracer(tmp_path: Path) -> None:
    script = f"from {tracer.__name__} import build; print(build())"
    env = {**powercut.worker_environment(), "TMPDIR": os.fspath(tmp_path)}
    workers = [
        subprocess.Popen([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    built = {worker.communicate()[0].strip() for worker in workers}
    [directory] = tmp_path.iterdir()
    assert directory.stat().st_mode & 0o7777 == 0o700
    assert {os.fspath(file) for file in directory.iterdir()} == built
    assert [worker.returncode for worker in workers] == [0, 0, 0]


def test_tracer_is_not_run_from_a_directory_that_others_can_write_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    monkeypatch.setattr("shutil.which", lambda name: name)
    planted = tmp_path / f"holdfast-faults-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    with pytest.raises(TracerError, match="not a directory of ours alone"):
        build.__wrapped__()


def test_missing_compiler_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    build.cache_clear()
    try:
        with pytest.raises(TracerError, match="no gcc"):
            build()
    finally:
        build.cache_clear()


@needs_tracer
def test_forbidden_ptrace_is_a_reason(tmp_path: Path) -> None:
    # Who is traced already cannot be traced by a second one.
    script = f"from {tracer.__name__} import available; print(available())"
    traced = trace([sys.executable, "-c", script], tmp_path, env=powercut.worker_environment())
    assert traced.stdout == "fault injection does not work here: iotrace: ptrace: Operation not permitted\n"


# ---- Power cuts


@pytest.mark.long
@pytest.mark.parametrize(("filesystem", "mount_options"), [("ext4", ""), ("ext4", "noauto_da_alloc"), ("xfs", "")])
def test_right_writer_survives_every_power_cut(filesystem: str, mount_options: str) -> None:
    skip_unless_power_can_be_cut(filesystem)
    report = powercut.cut_everywhere(
        prepare=prepare_old_state,
        command=functools.partial(write_new_state, "durable"),
        check=state_is_whole,
        filesystem=filesystem,
        mount_options=mount_options,
    )
    report.assert_clean()
    assert report.counts == {"drop": 6, "log": 6}  # before each of the five calls, and after the last


@pytest.mark.long
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
@pytest.mark.parametrize("writer", sorted(set(naive.WRITERS) - {"durable"}))
def test_naive_writers_lose_to_a_power_cut(writer: str, filesystem: str) -> None:
    skip_unless_power_can_be_cut(filesystem)
    report = powercut.cut_everywhere(
        prepare=prepare_old_state,
        command=functools.partial(write_new_state, writer),
        check=state_is_whole,
        filesystem=filesystem,
    )
    assert report.violations, f"{writer} was not caught: {report.summary()}"
    assert "lost" in why(report, "drop", powercut.AFTER_COMPLETION)


@pytest.mark.long
@pytest.mark.parametrize("writer", ["no_fsync", "fixed_temp"])
def test_name_without_contents_is_caught(writer: str) -> None:
    skip_unless_power_can_be_cut("ext4")
    report = powercut.cut_everywhere(
        prepare=prepare_old_state,
        command=functools.partial(write_new_state, writer),
        check=state_is_whole,
        mount_options="noauto_da_alloc",
        cuts=("log",),
    )
    assert "torn, 0 characters" in why(report, "log", powercut.AFTER_COMPLETION)


@pytest.mark.long
def test_cut_that_flushes_first_loses_nothing() -> None:
    skip_unless_power_can_be_cut("ext4")
    report = powercut.cut_everywhere(
        prepare=prepare_old_state,
        command=functools.partial(write_new_state, "no_dirsync"),
        check=state_is_whole,
        cuts=("flush",),
    )
    report.assert_clean()


@pytest.mark.long
def test_power_cuts_leave_no_mount_and_no_loop_device_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its own: another test may be at the same work."""
    skip_unless_power_can_be_cut("ext4")
    monkeypatch.setattr(powercut, "work_directory", lambda: contextlib.nullcontext(tmp_path))
    before = Path("/proc/self/mounts").read_text()
    with pytest.raises(powercut.PowercutError, match="prepared badly"):
        powercut.cut_everywhere(
            prepare=prepare_badly,
            command=functools.partial(write_new_state, "durable"),
            check=state_is_whole,
        )
    assert Path("/proc/self/mounts").read_text() == before
    loops = [backing.read_text() for backing in Path("/sys/block").glob("loop*/loop/backing_file")]
    assert [loop for loop in loops if str(tmp_path) in loop] == []


def prepare_badly(directory: Path) -> None:
    raise RuntimeError("prepared badly")


def test_function_that_a_worker_cannot_find_is_refused() -> None:
    with pytest.raises(ValueError, match="top level of a module"):
        powercut.cut_everywhere(prepare=lambda _: None, command=lambda _: [], check=lambda _: None)
