"""The hook's door: it keeps any bytes as they are, breaks nobody, and writes only where it may."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import holdfast
from holdfast.core.model import Process
from holdfast.project import inbox, inbox_writer
from holdfast.project.workspace import Workspace
from holdfast.system import boot, clock, process
from tests.environments import fill_up, humble, small_disk
from tests.hook_calls import DOOR, body_of, kept_files, knock, the_call
from tests.tools import Command

MB = 1024 * 1024


def everything_below(*places: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every entry with its mode, inode and content."""
    found = {}
    for place in places:
        for path in sorted(place.rglob("*")):
            status = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[str(path)] = (status.st_mode, status.st_ino, content)
    return found


# what is kept


@pytest.mark.parametrize(
    "call",
    [
        b"",
        b"{}",
        b'{"a": 1}\n',
        b"\n",
        b"\0",
        b"\0\0",
        b"a\0\0b\0",
        b"\xff\xfe not text \x80",
        b"\xef\xbb\xbf{}",
        b"holdfast-call 1\0agent=forged\0\0{}",
        bytes(range(256)) * 20,
        random.Random(1).randbytes(3 * MB),
    ],
    ids=lambda call: f"{len(call)}-{call[:6].hex()}",
)
def test_any_bytes_are_kept_as_they_are(project: Workspace, call: bytes) -> None:
    knock(project.root, call)
    (path,) = kept_files(project.inbox)
    assert body_of(path) == call
    assert inbox.waiting(project.inbox) == [path.name]


@pytest.mark.promise(18)
@pytest.mark.parametrize(("over", "name"), [(-1, ""), (1, ".cut"), (MB, ".cut")])
def test_call_is_kept_up_to_the_limit_in_little_memory_and_marked_where_it_was_cut(
    project: Workspace, over: int, name: str
) -> None:
    little_memory = ["sh", "-c", 'ulimit -v 65536; exec "$@"', "sh"]
    knock(project.root, b"x" * (inbox_writer.LIMIT + over), before=little_memory)
    (path,) = kept_files(project.inbox)
    assert len(body_of(path)) == min(inbox_writer.LIMIT + over, inbox_writer.LIMIT)
    assert path.suffix == name
    path.unlink()


@pytest.mark.promise(18)
@pytest.mark.parametrize("call", [b'{"a": 1}', b'{"a": 1}\n', b'{"a": {"b": 2}}'])
def test_complete_call_is_kept_although_nobody_closes_the_input(project: Workspace, call: bytes) -> None:
    with subprocess.Popen([*DOOR, "robot", "Did"], cwd=project.root, stdin=subprocess.PIPE) as hook:
        assert hook.stdin
        hook.stdin.write(call)
        hook.stdin.flush()
        assert hook.wait(60) == 0
    (path,) = kept_files(project.inbox)
    assert (body_of(path), path.suffix) == (call, ".cut")
    assert the_call(project.inbox).payload == json.loads(call)


@pytest.mark.promise(18)
def test_half_a_call_is_kept_although_nobody_closes_the_input(project: Workspace) -> None:
    halves = [b'{"a": ', b"", b"[1, 2", b'{"a": "}']
    hooks = [subprocess.Popen([*DOOR, "robot", "Did"], cwd=project.root, stdin=subprocess.PIPE) for _ in halves]
    for hook, half in zip(hooks, halves, strict=True):
        assert hook.stdin
        hook.stdin.write(half)
        hook.stdin.flush()
    assert [hook.wait(60) for hook in hooks] == [0] * len(hooks)
    for hook in hooks:
        hook.communicate()
    assert sorted(body_of(path) for path in kept_files(project.inbox)) == sorted(halves)
    assert {path.suffix for path in kept_files(project.inbox)} == {".cut"}


def test_call_that_comes_in_pieces_is_kept_whole(project: Workspace) -> None:
    with subprocess.Popen([*DOOR, "robot", "Did"], cwd=project.root, stdin=subprocess.PIPE) as hook:
        assert hook.stdin
        for piece in (b'{"a"', b": [1", b", 2]", b"}"):
            hook.stdin.write(piece)
            hook.stdin.flush()
        hook.stdin.close()
        assert hook.wait(60) == 0
    assert the_call(project.inbox).payload == {"a": [1, 2]}
    assert kept_files(project.inbox)[0].suffix == ""


def test_head_says_who_called_when_and_from_where(project: Workspace) -> None:
    deep = project.root / "deep"
    deep.mkdir()
    before = time.time_ns(), boot.moment()[1]
    environment = {"HOLDFAST_RUN": "run-x", "HOLDFAST_SESSION": "ses-x", "CLAUDE_PID": str(os.getpid()), "SECRET": "s"}
    with subprocess.Popen(
        [*DOOR, "claude", "Did"], cwd=deep, env={**os.environ, **environment}, stdin=subprocess.PIPE
    ) as hook:
        hook.communicate(b'{"a": 1}', timeout=60)
    after = time.time_ns(), boot.moment()[1]
    call = the_call(project.inbox)
    assert (call.agent, call.event, call.payload) == ("claude", "Did", {"a": 1})
    assert before[0] // 1000 <= clock.micros(call.time) <= after[0] // 1000
    assert before[1] <= call.monotonic <= after[1]
    assert (call.boot, call.directory) == (clock.boot(), str(deep))
    assert call.environment == {name: value for name, value in environment.items() if name != "SECRET"}
    me = process.identify(os.getpid())
    assert me is not None
    assert call.process == Process(me.pid, me.start, me.boot, me.namespace)
    assert call.name.split("-")[:3] == [f"{call.monotonic:020d}", call.boot[:8], str(hook.pid)]


ODD = [
    b"",
    b"\xff\xfe",
    b"line\nbreak",
    b"tab\t",
    b"../../etc",
    b"-rf",
    b"--help",
    b"x" * 5000,
    "ägent 日本".encode(),
    b"a=b",
]


@pytest.mark.promise(21)
@pytest.mark.parametrize("name", ODD, ids=lambda name: name[:12].hex() or "empty")
def test_odd_names_of_agents_and_events_are_kept_as_they_are(project: Workspace, name: bytes) -> None:
    before = everything_below(project.root.parent)
    knock(project.root, b"{}", name, name)
    call = the_call(project.inbox)
    assert (os.fsencode(call.agent), os.fsencode(call.event)) == (name, name)
    (path,) = kept_files(project.inbox)
    assert everything_below(project.root.parent).keys() - before.keys() == {f"{project.place}/inbox/{path.name}"}


@pytest.mark.promise(22)
@pytest.mark.parametrize("umask", [0, 0o022, 0o077])
def test_kept_call_is_the_users_alone_under_any_umask(project: Workspace, umask: int) -> None:
    knock(project.root, umask=umask)
    (path,) = kept_files(project.inbox)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_calls_of_one_moment_do_not_overwrite_each_other(project: Workspace) -> None:
    hooks = [subprocess.Popen([*DOOR, "robot", str(n)], cwd=project.root, stdin=subprocess.DEVNULL) for n in range(20)]
    assert [hook.wait(60) for hook in hooks] == [0] * 20
    found = [inbox.read(project.inbox, name) for name in inbox.waiting(project.inbox)]
    assert sorted(int(call.event) for call in found if call) == list(range(20))


# where it is kept


@pytest.mark.parametrize("name", ["", "deep/er", ".git"])
def test_call_from_any_directory_of_the_project_is_kept(project: Workspace, name: str) -> None:
    directory = project.root / name
    directory.mkdir(parents=True, exist_ok=True)
    knock(directory)
    assert the_call(project.inbox).directory == str(directory)


def test_project_that_the_agent_names_counts_more_than_its_directory(project: Workspace, tmp_path: Path) -> None:
    knock(tmp_path, agent="claude", env={"CLAUDE_PROJECT_DIR": str(project.root)})
    assert the_call(project.inbox).directory == str(project.root)


@pytest.mark.parametrize("form", ["{link}", "{link}/deep", "{link_to_deep}", "{root}/", "{root}/deep/..", "."])
def test_project_can_be_named_in_any_way_that_leads_to_it(project: Workspace, tmp_path: Path, form: str) -> None:
    (project.root / "deep").mkdir()
    (tmp_path / "link").symlink_to(project.root)
    (tmp_path / "link_to_deep").symlink_to(project.root / "deep")
    named = form.format(link=tmp_path / "link", link_to_deep=tmp_path / "link_to_deep", root=project.root)
    knock(project.root if form == "." else tmp_path, agent="claude", env={"CLAUDE_PROJECT_DIR": named})
    assert len(kept_files(project.inbox)) == 1


def test_call_from_a_directory_reached_through_a_link_is_kept(project: Workspace, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project.root)
    knock(tmp_path / "link", env={"PWD": str(tmp_path / "link")})
    assert the_call(project.inbox).directory == str(project.root)


# where nothing is written


def test_hook_makes_no_store(repository: Path, tmp_path: Path, home: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    before = everything_below(tmp_path, home)
    for directory in (repository, outside):
        knock(directory, b'{"a": 1}')
    assert everything_below(tmp_path, home) == before


def test_nothing_is_kept_while_the_shell_says_so(project: Workspace) -> None:
    before = everything_below(project.root)
    knock(project.root, env={"HOLDFAST": "0"})
    assert everything_below(project.root) == before
    knock(project.root, env={"HOLDFAST": "1"})
    assert len(kept_files(project.inbox)) == 1


def test_nothing_is_kept_while_the_project_is_off(project: Workspace) -> None:
    holdfast.off(project)
    before = everything_below(project.root)
    knock(project.root)
    assert everything_below(project.root) == before
    holdfast.on(project)
    knock(project.root)
    assert len(kept_files(project.inbox)) == 1


@pytest.mark.promise(22)
@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_nothing_is_written_into_a_store_that_others_can_write_to(project: Workspace, mode: int) -> None:
    project.place.chmod(mode)
    before = everything_below(project.root)
    knock(project.root)
    assert everything_below(project.root) == before
    project.place.chmod(0o700)


@pytest.mark.promise(22)
def test_nothing_is_written_through_a_store_that_is_a_link(repository: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "inbox").mkdir(parents=True, mode=0o700)
    elsewhere.chmod(0o700)
    (repository / ".git" / "holdfast").symlink_to(elsewhere)
    before = everything_below(tmp_path)
    knock(repository)
    assert everything_below(tmp_path) == before


@pytest.mark.promise(22)
def test_nothing_is_written_into_a_store_of_another_user(project: Workspace) -> None:
    if os.geteuid() != 0:
        pytest.skip("NOT PROVED: only root can give a directory to somebody else")
    os.chown(project.place, 65534, 65534)
    before = everything_below(project.root)
    knock(project.root)
    assert everything_below(project.root) == before
    os.chown(project.place, 0, 0)


# what goes wrong


def troubles(project: Workspace) -> list[str]:
    return holdfast.status(project).troubles


@pytest.fixture
def blocked(project: Workspace) -> Iterator[Workspace]:
    """A project whose inbox is gone."""
    (project.place / "inbox").rmdir()
    yield project
    project.inbox.mkdir(mode=0o700, exist_ok=True)


@pytest.mark.promise(5, 18)
def test_missing_inbox_is_a_trouble_that_status_tells(blocked: Workspace) -> None:
    knock(blocked.root, b"{}", "robot", "PostToolUse")
    (line,) = troubles(blocked)
    assert "robot PostToolUse" in line
    assert "No such file" in line
    shown = Command.run("status", directory=blocked.root).ok()
    assert "A hook could not record a call" in shown.out
    knock(blocked.root)
    assert len(kept_files(blocked.inbox)) == 1


@pytest.mark.promise(5, 18)
def test_inbox_that_cannot_be_written_to_is_a_trouble_that_status_tells(project: Workspace) -> None:
    project.inbox.chmod(0o500)
    knock(project.root, before=humble())
    project.inbox.chmod(0o700)
    (line,) = troubles(project)
    assert "Permission denied" in line
    assert kept_files(project.inbox) == []


def test_inbox_that_is_a_file_is_a_trouble_that_status_tells(blocked: Workspace) -> None:
    (blocked.place / "inbox").write_bytes(b"")
    knock(blocked.root)
    (blocked.place / "inbox").unlink()
    assert len(troubles(blocked)) == 1


@pytest.mark.promise(18)
@pytest.mark.parametrize("name", [name for name in ODD if name], ids=lambda name: name[:12].hex())
def test_trouble_is_told_whatever_the_agent_is_called(blocked: Workspace, name: bytes) -> None:
    knock(blocked.root, b"{}", name, "Did")
    assert len(troubles(blocked)) == 1


def test_troubles_are_bounded_and_newer_ones_are_written_over_older_ones(blocked: Workspace) -> None:
    size = (blocked.place / "trouble").stat().st_size
    for _ in range(200):
        inbox_writer.note_trouble(str(blocked.place), "robot", "x" * 500, OSError("n" * 500))
    assert (blocked.place / "trouble").stat().st_size == size
    assert 1 <= len(troubles(blocked)) <= size // inbox_writer.SLOT


@pytest.mark.promise(5, 18)
def test_full_disk_costs_the_call_but_nothing_else(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "1500k") as disk:
        subprocess.run(["git", "init", "-q", "--template=", str(disk)], check=True)
        with holdfast.open(disk) as project:
            holdfast.start(project, "work")
            ballast = fill_up(disk)
            for _ in range(3):
                knock(disk, b'{"a": "' + b"x" * 100_000 + b'"}')
            assert kept_files(project.inbox) == []
            assert "No space left" in troubles(project)[0]
        assert "No space left" in Command.run("status", directory=disk).ok().out
        ballast.unlink()
        knock(disk, b'{"a": 1}')
        with holdfast.open(disk) as project:
            assert [event.kind for event in holdfast.log(project).events] == ["run.started", "call.kept"]
            assert holdfast.verify(project).problems == []


@pytest.mark.promise(5)
def test_limit_on_the_size_of_files_breaks_nothing(project: Workspace) -> None:
    knock(project.root, b"x" * 100_000, before=["sh", "-c", 'ulimit -f 16; exec "$@"', "sh"])
    assert kept_files(project.inbox) == []
    assert len(troubles(project)) == 1


@pytest.mark.promise(18)
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_break_nothing(project: Workspace, closed: str) -> None:
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *DOOR, "robot", "Did"]
    done = subprocess.run(command, cwd=project.root, input=b'{"a": 1}', capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    if "<" not in closed:
        assert the_call(project.inbox).payload == {"a": 1}
    assert not [path for path in kept_files(project.inbox) if path.name.startswith(".")]


@pytest.mark.promise(18)
@pytest.mark.parametrize("arguments", [[], ["robot"], ["robot", "Did", "more", "--help"]])
def test_wrong_arguments_break_nothing(project: Workspace, arguments: list[str]) -> None:
    done = subprocess.run([*DOOR, *arguments], cwd=project.root, input=b"{}", capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert len(kept_files(project.inbox)) == (len(arguments) >= 2)


ANSWERING = [sys.executable, "-I", "-m", "holdfast", "hook"]


@pytest.mark.promise(18)
@pytest.mark.parametrize(
    "door", [[*DOOR, "robot", "Did"], [*ANSWERING, "claude", "SessionEnd"]], ids=["keeps", "answers"]
)
def test_directory_that_was_removed_breaks_nothing(door: list[str], tmp_path: Path) -> None:
    """The hook that answers exited with 1, as at the end of a session whose worktree was removed."""
    gone = tmp_path / "gone"
    gone.mkdir()
    command = ["sh", "-c", f'rmdir "{gone}"; exec "$@"', "sh", *door]
    done = subprocess.run(command, cwd=gone, input=b"{}", capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.promise(1)
def test_killed_hook_leaves_no_call_that_looks_whole(project: Workspace) -> None:
    with subprocess.Popen([*DOOR, "robot", "Did"], cwd=project.root, stdin=subprocess.PIPE) as hook:
        assert hook.stdin
        while not kept_files(project.inbox):
            assert hook.poll() is None
        hook.stdin.write(b'{"a": ')
        hook.stdin.flush()
        hook.send_signal(signal.SIGKILL)
        hook.wait(60)
    (path,) = kept_files(project.inbox)
    assert path.name.startswith(".")
    assert inbox.waiting(project.inbox) == []
