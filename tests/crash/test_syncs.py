"""What a command has changed when it says so is on the disk: every call that it makes is watched, in order.

A kill cannot show this, because the kernel still has what was never synced. `test_power.py` cuts the power, for minutes
and as root; here the rule is read off the calls themselves. A file is synced after its last byte was written and before
it gets its name, and the directory of a new name after that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from itertools import groupby, takewhile
from pathlib import Path

import pytest

import holdfast
from holdfast.layouts.orchestrator import SESSION
from holdfast.worktree.restore.writer import FEW
from tests.crash.cases import GOAL, an_empty_project, hook, in_project, keep_call, opened
from tests.faults import tracer
from tests.faults.tracer import TEARABLE, Call
from tests.promises import Figure

pytestmark = [
    pytest.mark.promise(2),
    pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}"),
]

# What may be lost to a power cut, because it is made anew or says nothing.
MAY_BE_LOST = {
    "*-shm": "SQLite makes it anew from its log",
    "*lock": "only who holds it counts",
    "*/memory": "a look at the worktree makes it anew, and notices damage",
    "*/worktrees/*/session.json": "without it the orchestrator's file counts as an old copy",
    "*/worktrees/*/team.json": "without it a team's files count as old copies",
}
CALL = b'{"said": "something"}'
MODES = ("chmod", "fchmod", "fchmodat", "fchmodat2")
RENAMES, LINKS, SYNCS = ("rename", "renameat", "renameat2"), ("link", "linkat"), ("fsync", "fdatasync")
MAKES, REMOVES = ("open", "openat", "creat", "mkdir", "mkdirat", "symlink"), ("unlink", "unlinkat", "rmdir")


class Disk:
    """What a power cut could still take, after every call."""

    def __init__(self, directory: Path, known: set[str]) -> None:
        self.directory = os.fspath(directory.resolve())
        self.known = known  # names that were there before
        self.unsynced: dict[str, bool] = {}  # file -> whether bytes of it are, and not only its mode
        self.unsynced_names: set[str] = set()
        self.faults: list[str] = []
        self.synced = 0

    def watch(self, calls: list[Call]) -> None:
        """Whatever the command itself says on standard output is an acknowledgement of all before it."""
        for call in calls:
            if (call.number, call.pid, call.fd) == (0, calls[0].pid, 1):
                self.acknowledged()
            elif call.result is not None and call.result >= 0:
                self._see(call)
        self.acknowledged()

    def acknowledged(self) -> None:
        self.faults += [f"{self._short(path)} was written and not synced" for path in sorted(self.unsynced)]
        self.faults += [f"{self._short(name)} has its name without a sync" for name in sorted(self.unsynced_names)]
        self.unsynced.clear()
        self.unsynced_names.clear()

    def _see(self, call: Call) -> None:
        path = call.path
        if call.name in (*TEARABLE, "ftruncate", *MODES):
            if not self._may_be_lost(path) and not os.path.isdir(path):
                self.unsynced[path] = call.name not in MODES or self.unsynced.get(path, False)
        elif call.name in SYNCS:
            self.synced += 1
            self.unsynced.pop(path, None)
            self.unsynced_names -= {name for name in self.unsynced_names if os.path.dirname(name) == path}
        elif call.name in ("sync", "syncfs"):
            self.synced += 1
            self.unsynced.clear()
            self.unsynced_names.clear()
        elif call.name in (*RENAMES, *LINKS):
            self._rename(path, call.other or "", call.name in RENAMES)
        elif call.name in REMOVES:
            self.unsynced.pop(path, None)
            self.unsynced_names.discard(path)
        elif call.name in MAKES and path not in self.known:
            self._name(path)

    def _rename(self, old: str, new: str, moves: bool) -> None:
        was_unsynced = self.unsynced.get(old, False)
        if moves:
            self.unsynced.pop(old, None)
            self.unsynced_names.discard(old)
        if was_unsynced and not self._may_be_lost(new):
            self.faults.append(f"{self._short(new)} got its name before it was synced")
        self._name(new)

    def _name(self, path: str) -> None:
        if not self._may_be_lost(path) and not path.endswith("-wal"):  # SQLite syncs that with its first bytes
            self.unsynced_names.add(path)

    def _may_be_lost(self, path: str) -> bool:
        is_ref = "/refs/" in path  # which gets its name from its lock file
        return not path.startswith(self.directory) or (not is_ref and any(fnmatch(path, name) for name in MAY_BE_LOST))

    def _short(self, path: str) -> str:
        return os.path.relpath(path, self.directory)


def scene(directory: Path) -> Path:
    """A repository with a run, a checkpoint, work since then, and a call that waits."""
    an_empty_project(directory)
    root = directory / "project"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "one").write_text("then")
    with opened(directory) as workspace:
        holdfast.start(workspace, GOAL)
        holdfast.checkpoint(workspace, "then")
        holdfast.backup(workspace, str(directory / "kept.tar.gz"))
        holdfast.runs(workspace)  # so that 1 names the run
        keep_call(workspace.inbox, 1)
    (root / "one").write_text("now")
    (root / "two").write_text("new")
    return root


def nothing_more(directory: Path) -> None:
    pass


def many_files(directory: Path) -> None:
    with opened(directory) as workspace:
        for number in range(FEW + 1):
            (workspace.root / f"many-{number}").write_text("then")
        holdfast.checkpoint(workspace, "many")
        for number in range(FEW + 1):
            (workspace.root / f"many-{number}").write_text("now")


def another_mode(directory: Path) -> None:
    with opened(directory) as workspace:
        holdfast.checkpoint(workspace, "mode")
    (directory / "project/one").chmod(0o755)


def a_new_repository(directory: Path) -> None:
    shutil.rmtree(directory / "project")
    subprocess.run(["git", "init", "-q", str(directory / "project")], check=True)


def an_orchestrator(directory: Path) -> None:
    with opened(directory) as workspace:
        holdfast.start(workspace, "second", layout="orchestrator")


def nonsense(directory: Path) -> None:
    with opened(directory) as workspace:
        (workspace.inbox / "00000000000000000009-0-9-00000009").write_bytes(b"not a call")


def an_agent(directory: Path) -> None:
    with opened(directory) as workspace:
        holdfast.init(workspace, agent="claude")


def staged(directory: Path) -> None:
    subprocess.run(["git", "add", "two"], cwd=directory / "project", check=True)
    with opened(directory) as workspace:
        holdfast.checkpoint(workspace, "staged")
    subprocess.run(["git", "rm", "-q", "--cached", "two"], cwd=directory / "project", check=True)


def a_split_index(directory: Path) -> None:
    subprocess.run(["git", "add", "two"], cwd=directory / "project", check=True)
    subprocess.run(["git", "update-index", "--split-index"], cwd=directory / "project", check=True)


def a_damaged_session(directory: Path) -> None:
    an_orchestrator(directory)
    (directory / "project" / SESSION).write_text("{")


def a_damaged_pack(directory: Path) -> None:
    """One of whose objects is lost, and the others are not."""
    (pack,) = (directory / "project/.git/objects/pack").glob("*.pack")
    data = bytearray(pack.read_bytes())
    data[16] ^= 0xFF
    pack.chmod(0o600)
    pack.write_bytes(data)


def a_mark_in_a_backup(directory: Path) -> None:
    """That a run was exported, which only a backup still knows."""
    with opened(directory) as workspace:
        holdfast.export(workspace, "1", directory / "run.holdfast")
        holdfast.backup(workspace, str(directory / "marked.tar.gz"))
        shutil.rmtree(workspace.place / "exported")


COMMANDS = {
    "restore marks": (a_mark_in_a_backup, "restore-backup ../marked.tar.gz --yes"),
    "begin": (a_new_repository, "start goal"),
    "set aside": (nonsense, "sweep"),
    "uninstall": (an_agent, "uninit"),
    "restore the index": (staged, "restore staged --index --yes"),
    "repair a session": (a_damaged_session, "repair"),
    "repair a pack": (a_damaged_pack, "repair"),
    "tidy": (many_files, "tidy --most 1"),
    "note": (nothing_more, "note n"),
    "take in": (nothing_more, "sweep"),
    "set": (nothing_more, "config set list.limit 7"),
    "install": (nothing_more, "init --agent claude"),
    "checkpoint": (nothing_more, "checkpoint"),
    "checkpoint a split index": (a_split_index, "checkpoint"),
    "restore": (nothing_more, "restore then --yes"),
    "restore many": (many_files, "restore many --yes"),
    "restore a mode": (another_mode, "restore mode --yes"),
    "export": (nothing_more, "export 1 ../run.holdfast"),
    "backup": (nothing_more, "backup ../new.tar.gz"),
    "restore a backup": (nothing_more, "restore-backup ../kept.tar.gz --yes"),
    "begin from a backup": (a_new_repository, "restore-backup ../kept.tar.gz --yes"),
    "orchestrate": (nothing_more, "start second --layout orchestrator --mode debug"),
    "orchestrate again": (an_orchestrator, "note n"),
    "team": (nothing_more, "start second --layout go-team"),
}


def traced(directory: Path, argv: Iterable[str], stdin: bytes = b"") -> list[Call]:
    record = directory.with_name("record")
    done = tracer.trace([*argv], directory, record=record, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return tracer.read_record(record)


def watched(directory: Path, argv: Iterable[str], stdin: bytes = b"") -> Disk:
    known = {os.path.realpath(path) for path in directory.rglob("*")}
    disk = Disk(directory, known)
    disk.watch(traced(directory, argv, stdin))
    return disk


def program(directory: Path, *words: str) -> list[str]:
    return [*in_project(directory), sys.executable, *words]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (directory := tmp_path / "here").mkdir()
    scene(directory)
    return directory


@pytest.mark.parametrize("name", [name.replace(" ", "-") for name in COMMANDS])
def test_all_that_a_command_changed_is_synced_when_it_says_so(name: str, here: Path, figure: Figure) -> None:
    prepare, words = COMMANDS[name.replace("-", " ")]
    prepare(here)
    disk = watched(here, program(here, "-m", "holdfast", *words.split()))
    assert disk.faults == []
    assert disk.synced
    figure("syncs watched", disk.synced)


def test_a_call_is_on_the_disk_when_the_hook_has_kept_it(here: Path, figure: Figure) -> None:
    disk = watched(here, hook(here), b'{"said": "something"}')
    assert (disk.faults, disk.synced) == ([], 2)
    figure("syncs watched", disk.synced)


def test_a_line_about_trouble_is_on_the_disk(here: Path, figure: Figure) -> None:
    command = hook(here)
    shutil.rmtree(here / "project/.git/holdfast/inbox")
    disk = watched(here, command, b'{"said": "something"}')
    assert (disk.faults, disk.synced) == ([], 1)
    figure("syncs watched", disk.synced)


def test_a_removal_is_on_the_disk(here: Path) -> None:
    script = "import pathlib; from holdfast.system import files; files.remove(pathlib.Path('one').absolute())"
    calls = [call for call in traced(here, program(here, "-c", script)) if call.number]
    assert [(call.name, Path(call.path).name) for call in calls] == [("unlink", "one"), ("fsync", "project")]


def test_a_damaged_pack_is_on_the_disk_aside_before_it_goes(here: Path) -> None:
    a_damaged_pack(here)
    calls = traced(here, program(here, "-m", "holdfast", "repair"))
    first = next(number for number, call in enumerate(calls) if call.name in REMOVES and is_pack(call.path))
    aside = here / "project/.git/holdfast/aside/packs"
    copies = [str(path) for path in sorted(aside.iterdir())]
    synced = [call.path for call in calls[:first] if call.name in SYNCS]
    assert {path for path in synced if path in copies} == set(copies)
    last = max(number for number, path in enumerate(synced) if path in copies)
    assert str(aside) in synced[last:]


def is_pack(path: str) -> bool:
    return "/objects/pack/pack-" in path


def test_the_sums_of_pages_are_on_the_disk_before_the_log_is_emptied(here: Path) -> None:
    """What they are sums of comes first, and what is emptied last: else whole pages would seem to be damaged."""
    script = "import holdfast; w = holdfast.open('.'); l = w.store.locked(); l.__enter__(); w.store.write_back()"
    calls = traced(here, program(here, "-c", script))
    names = [("sums" if call.path.endswith(".sums") else "log", call.name) for call in calls if is_of_pages(call)]
    assert [name for name, _ in groupby(names)] == [
        ("sums", "write"), ("sums", "fsync"), ("sums", "write"), ("sums", "fsync"), ("log", "ftruncate"),
    ]  # fmt: skip


def is_of_pages(call: Call) -> bool:
    return call.path.endswith("journal.sums") or (call.path.endswith("-wal") and call.name == "ftruncate")


MANY = ("checkpoint", "backup")  # syncs, each of them a run of its own
RETRIED = {
    "set": "config set list.limit 7",
    "note": "note n",
    "checkpoint": "checkpoint",
    "export": "export 1 ../run.holdfast",
    "backup": "backup ../new.tar.gz",
    "hook": "",
}


@pytest.mark.promise(5)
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in MANY else ()) for name in RETRIED]
)
def test_a_sync_that_failed_is_not_tried_again_on_what_was_written_before_it(name: str, tmp_path: Path) -> None:
    """The kernel tells of a lost page once. A second sync succeeds, and what it says is not true."""
    (whole := tmp_path / "whole").mkdir()
    scene(whole)
    argv = commanded(whole, RETRIED[name])
    numbers = [call.number for call in traced(whole, argv, CALL) if call.name in SYNCS]
    assert numbers
    for number in numbers:
        (broken := tmp_path / f"broken-{number}").mkdir()
        scene(broken)
        record = tmp_path / "record-broken"
        done = tracer.trace(
            commanded(broken, RETRIED[name]), broken, point=number, mode="EIO", record=record, stdin=CALL
        )
        assert done.fault is not None
        assert synced_again(tracer.read_record(record), done.fault) == [], f"{name}: {done.fault.describe(broken)}"


def commanded(directory: Path, words: str) -> Sequence[str]:
    return program(directory, "-m", "holdfast", *words.split()) if words else hook(directory)


def synced_again(calls: list[Call], failed: Call) -> list[str]:
    """Syncs of the same file after the one that failed, without a byte written anew. Directories hold no bytes."""
    if any(os.path.dirname(call.path) == failed.path for call in calls):
        return []
    after = calls[[call.number for call in calls].index(failed.number) + 1 :]
    of_it = [call for call in after if call.path == failed.path]
    again = takewhile(lambda call: call.name not in (*TEARABLE, "ftruncate", "unlink"), of_it)
    return [f"{call.name} {call.path}" for call in again if call.name in SYNCS]


def test_who_tries_a_sync_again_is_caught(here: Path, tmp_path: Path) -> None:
    script = (
        "import os; file = os.open('x', os.O_CREAT | os.O_WRONLY); os.write(file, b'x')\n"
        "try: os.fsync(file)\n"
        "except OSError: os.fsync(file)"
    )
    done = tracer.trace(program(here, "-c", script), here, point=3, mode="EIO", record=tmp_path / "record")
    assert done.fault is not None
    assert len(synced_again(tracer.read_record(tmp_path / "record"), done.fault)) == 1
