"""Cut the power of a real file system under whole verbs: what was acknowledged is there when it comes back.

The last point of every exploration lies after the end of the command: there, what it acknowledged is all that counts.
Writers that are known to be wrong lose theirs in the same way, here and in `tests/faults`.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import holdfast
from tests.crash import test_backups as backups
from tests.crash.cases import CASES, Case, adopt, environment, in_project, opened
from tests.crash.checkpoint_cases import SOURCE, Scene, first_work, git, later_work
from tests.crash.more_cases import MORE
from tests.crash.test_transfer import scene_of
from tests.faults import powercut
from tests.faults.explorer import Command, Prepare
from tests.faults.report import Check, Outcome, Report
from tests.tools import ENTRY

pytestmark = [pytest.mark.long, pytest.mark.promise(2)]
FILESYSTEMS = pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
EVENTS = (
    "start in a new project", "start another", "note", "decide", "task done", "complete the last step", "action",
    "join", "take in", "find a death", "hook", "config set", "off", "delete", "trust", "init", "uninit",
)  # fmt: skip


def skip_where_power_cannot_be_cut(filesystem: str) -> None:
    if reason := powercut.available(filesystem):
        pytest.skip(f"NOT PROVED HERE: {reason}")


def cut(prepare: Prepare, command: Command, check: Check, filesystem: str, points: int | None) -> Report:
    skip_where_power_cannot_be_cut(filesystem)
    report = powercut.cut_everywhere(
        prepare=prepare, command=command, check=check, filesystem=filesystem, points=points, timeout=120
    )
    print(f"{filesystem}: {report.summary()}")
    return report


@FILESYSTEMS
@pytest.mark.parametrize("verb", ["checkpoint", "save", "restore", "restore many", "rollback", "undo", "tidy"])
def test_an_acknowledged_checkpoint_or_way_back_survives_every_power_cut(verb: str, filesystem: str) -> None:
    scene = Scene(verb)
    cut(scene.prepare, scene.command, scene.check, filesystem, points=15).assert_clean()


# What git wrote a moment before, and did not sync. The power is cut when the command has ended, as nothing else counts.

GIT_WRITES = {
    "staged": "git add fresh",
    "staged and changed again": "git add fresh && echo later > fresh",
    "committed": "git add -A && git -c user.name=a -c user.email=b commit -q -m second",
    "many staged": "for n in $(seq 100); do echo new $n > fresh$n; done && git add -A",
}


def kept_behind_git(kind: str, directory: Path) -> Sequence[str]:
    adopt(directory)
    words = f"echo fresh > fresh && {GIT_WRITES[kind]} && exec {sys.executable} -m holdfast checkpoint -q"
    return [*in_project(directory), f"PYTHONPATH={SOURCE}", "sh", "-c", words]


def what_git_wrote_is_kept(kind: str, outcome: Outcome) -> None:
    if not outcome.acknowledged():
        return
    with opened(outcome.directory) as workspace:
        made = holdfast.checkpoints(workspace).checkpoints[0]
        assert made.id == outcome.stdout.strip()
        assert made.staged
        (outcome.directory / "project/fresh").write_text("spoiled")
        holdfast.restore(workspace, made.id, index=True)
        assert (outcome.directory / "project/fresh").read_text() == ("later\n" if "again" in kind else "fresh\n")
        assert holdfast.verify(workspace, deep=True).problems == []
    shown = subprocess.run(
        ["git", "show", ":fresh"],
        cwd=outcome.directory / "project",
        env=environment(outcome.directory),
        capture_output=True,
    )
    assert shown.stdout == b"fresh\n", shown.stderr


@FILESYSTEMS
@pytest.mark.parametrize("kind", GIT_WRITES)
def test_a_checkpoint_keeps_what_git_has_not_synced(kind: str, filesystem: str) -> None:
    """It relied on loose objects of git's, which a power cut leaves empty."""
    act, check = functools.partial(kept_behind_git, kind), functools.partial(what_git_wrote_is_kept, kind)
    cut(Scene("checkpoint").prepare, act, check, filesystem, points=4).assert_clean()


# Events. A case holds functions without a name, so it travels to the worker by its own.


def case_of(name: str) -> Case:
    return next(case for case in (*CASES, *MORE) if case.name == name)


def prepare(name: str, directory: Path) -> None:
    case_of(name).prepare(directory)


def command(name: str, directory: Path) -> Sequence[str]:
    return hook(directory) if name == "hook" else case_of(name).command(directory)


def hook(directory: Path) -> Sequence[str]:
    adopt(directory)
    call = f"echo '{case_of('hook').stdin.decode()}' | \"$@\""
    return [*in_project(directory), "sh", "-c", call, "sh", sys.executable, "-I", "-S", str(ENTRY), "robot", "Did"]


def check(name: str, outcome: Outcome) -> None:
    case_of(name).check(outcome)


@FILESYSTEMS
@pytest.mark.parametrize("name", EVENTS, ids=lambda name: name.replace(" ", "-"))
def test_an_acknowledged_event_or_setting_survives_every_power_cut(name: str, filesystem: str) -> None:
    before, act = functools.partial(prepare, name), functools.partial(command, name)
    cut(before, act, functools.partial(check, name), filesystem, points=6).assert_clean()


# Files that are carried away


@FILESYSTEMS
@pytest.mark.parametrize("name", ["export", "export-again", "import", "purge"])
def test_an_acknowledged_export_import_or_purge_survives_every_power_cut(name: str, filesystem: str) -> None:
    scene = scene_of(name)
    cut(scene.prepare, scene.command, scene.check, filesystem, points=6).assert_clean()


@FILESYSTEMS
@pytest.mark.parametrize("name", backups.NAMES)
def test_an_acknowledged_backup_or_its_return_survives_every_power_cut(name: str, filesystem: str) -> None:
    cut(*backups.parts_of(name), filesystem, points=6).assert_clean()


# Writers that are known to lose


def a_repository(directory: Path) -> None:
    (directory / "project").mkdir()
    git(directory, "init", "-q")
    first_work(directory / "project")
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "first")
    later_work(directory / "project")


def commit_with_git(directory: Path) -> Sequence[str]:
    who = "git -c user.name=a -c user.email=b -c gc.auto=0"
    return [*in_project(directory), "sh", "-c", f"{who} add -A && {who} commit -q -m second && echo done"]


def the_commit_is_there(outcome: Outcome) -> None:
    if outcome.acknowledged():
        said = subprocess.run(
            ["git", "log", "--format=%s", "-1", "-p", "--", "changed"],
            cwd=outcome.directory / "project",
            env=environment(outcome.directory),
            capture_output=True,
        )
        assert (said.returncode, said.stdout[:6]) == (0, b"second"), said.stderr


@FILESYSTEMS
def test_git_itself_loses_a_commit_to_a_power_cut(filesystem: str) -> None:
    """The measure is no use if it does not catch this: git's defaults do not sync what they acknowledge.

    The system may write it down by itself in time, where other work makes it busy: of some tries one is enough.
    """
    tries = (cut(a_repository, commit_with_git, the_commit_is_there, filesystem, points=3) for _ in range(5))
    assert any(report.violations for report in tries)


@pytest.fixture(scope="module")
def unsynced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that takes the syncs of a program away, without a word to it."""
    library = tmp_path_factory.mktemp("unsynced") / "unsynced.so"
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT PROVED HERE: there is no gcc")
    source = Path(powercut.__file__).with_name("unsynced.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    return library


def command_without_syncs(name: str, library: Path, directory: Path) -> Sequence[str]:
    words, before = command(name, directory), in_project(directory)
    return [*before, f"LD_PRELOAD={library}", *words[len(before) :]]


@FILESYSTEMS
@pytest.mark.parametrize("name", ["note", "hook"])
def test_without_its_syncs_an_event_is_lost_to_a_power_cut(name: str, filesystem: str, unsynced: Path) -> None:
    """Or it was not our syncs that kept it."""
    before, act = functools.partial(prepare, name), functools.partial(command_without_syncs, name, unsynced)
    report = cut(before, act, functools.partial(check, name), filesystem, points=3)
    assert report.violations, report.summary()


COMMIT = """
import json, sys
import apsw
connection = apsw.Connection("journal.db")
connection.pragma("synchronous", sys.argv[1])
for value in (3, 4):
    connection.execute("insert into events values (?)", (value,))
apsw.Connection("journal.db")  # an open one more, so that no log is written back at the end
print(json.dumps([row[0] for row in connection.execute("select value from events")]), flush=True)
import os; os._exit(0)
"""


def a_database(directory: Path) -> None:
    script = COMMIT.partition("connection.pragma")[0] + (
        "connection.pragma('journal_mode', 'wal')\n"
        "connection.execute('create table events (value)')\n"
        "connection.execute('insert into events values (1), (2)')\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=directory, check=True)


def commit_with_sqlite(synchronous: str, directory: Path) -> Sequence[str]:
    return ["env", "-C", str(directory), sys.executable, "-c", COMMIT, synchronous]


def the_rows_are_there(outcome: Outcome) -> None:
    script = (
        "import apsw, json; print(json.dumps([*apsw.Connection('journal.db').execute('select value from events')]))"
    )
    said = subprocess.run([sys.executable, "-c", script], cwd=outcome.directory, capture_output=True, check=True)
    found = [value for (value,) in json.loads(said.stdout)]
    acknowledged = json.loads(outcome.stdout) if outcome.acknowledged() else []
    assert set(acknowledged) <= set(found), f"acknowledged {acknowledged}, found {found}"


@FILESYSTEMS
@pytest.mark.parametrize(("synchronous", "loses"), [("NORMAL", True), ("FULL", False)])
def test_a_database_that_syncs_less_loses_a_commit_to_a_power_cut(
    synchronous: str, loses: bool, filesystem: str
) -> None:
    """Most programs leave SQLite at NORMAL with a write-ahead log, and lose what they have acknowledged."""
    report = cut(
        a_database, functools.partial(commit_with_sqlite, synchronous), the_rows_are_there, filesystem, points=None
    )
    assert bool(report.violations) == loses, report.summary()
