"""A long life of one store: calls, checkpoints, ends of runs, exports, tidyings, upgrades, in real processes of which
many are killed. Whatever was acknowledged must be there at the end, the store whole, and the disk under its cap."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw

import holdfast
from holdfast.core import ids
from holdfast.journal import codec
from holdfast.project.quota import cap_of, measure_usage
from holdfast.project.workspace import Workspace
from holdfast.system import files
from tests.crash.cases import an_empty_project, in_project, opened
from tests.crash.checkpoint_cases import git
from tests.faults.explorer import work_directory

CALLS = 100  # in a round
EVERY = (7, 11, 13, 17, 29)  # rounds: a run ends, is exported, a checkpoint is named, tidying, an upgrade
HEAD = b"holdfast-call 1\0agent=robot\0event=Did\0time=%d\0monotonic=%d\0directory=%s\0\0"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
# What the newest format has and the one before it has not, so that a store can be made older than it is.
OLDER = """
DROP INDEX blob_by_base;
DROP TABLE about;
ALTER TABLE run DROP COLUMN thinned;
ALTER TABLE event DROP COLUMN sum;
PRAGMA user_version = 2;
"""


class Soak:
    """One life, the same for the same seed but for where kills strike."""

    def __init__(self, directory: Path, seed: int, cap: int, calls: int, every: Sequence[int]) -> None:
        self.directory, self.chance = directory, random.Random(seed)
        self.calls, self.every = calls, every
        self.given = 0  # calls that a hook has kept
        self.carried: set[int] = set()  # calls of runs that were exported
        self.named: dict[str, str] = {}  # checkpoint -> what the file held
        self.kills = self.commands = 0
        an_empty_project(directory)
        git(directory, "init", "-q")
        self._work()
        with opened(directory) as workspace:
            holdfast.start(workspace, "the first run")
            holdfast.config_set(workspace, "store.cap", str(cap))

    @property
    def root(self) -> Path:
        return self.directory / "project"

    def live(self, events: int, checkpoints: int, say: Callable[[str], None]) -> None:
        """Rounds of work; in each, calls come in, and something else happens."""
        rounds = max(events // self.calls, 1)
        due = checkpoints / rounds
        for number in range(rounds):
            self._keep_calls(min(self.calls, events - self.given))
            self.command("sweep")
            while due >= 1 or self.chance.random() < due:
                self._work()
                self.command("checkpoint")
                due -= 1
            due += checkpoints / rounds
            acts = (self._end_run, self._export, self._name, self._tidy, self._age)
            for every, act in zip(self.every, acts, strict=True):
                if number % every == every - 1:
                    act()
            say(f"round {number + 1:,} of {rounds:,}: {self.commands:,} commands, {self.kills:,} killed")

    def end(self) -> None:
        """Everything that was acknowledged is there, and the store is whole and small."""
        self.command("sweep", may_die=False)
        with opened(self.directory) as workspace:
            for run in holdfast.runs(workspace, status=("open",), limit=500).runs:
                holdfast.complete(workspace, run=run.id)
        self.command("tidy", may_die=False)
        with opened(self.directory) as workspace:
            room = measure_usage(workspace)
            assert room.total <= cap_of(workspace), room
            found = holdfast.verify(workspace, deep=True)
            assert found.problems == [], found.problems[:5]
            seen = self._numbers(workspace)
            assert len(seen) == len(set(seen)), "a call became two events"
            assert set(seen) | self.carried == set(range(self.given)), "a call is lost"
            for id, text in self.named.items():
                holdfast.restore(workspace, id, force=True)
                assert (self.root / "file").read_text() == text, f"checkpoint {id} is not what was kept"
            assert holdfast.verify(workspace, deep=True).problems == []

    def command(self, *words: str, may_die: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command; one in three is killed after a while that is shorter or longer than it needs."""
        self.commands += 1
        patience = self.chance.uniform(0.05, 0.6) if may_die and self.chance.random() < 0.34 else 120.0
        argv = [*in_project(self.directory), sys.executable, "-m", "holdfast", *words]
        with subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            try:
                out, err = child.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                child.kill()
                out, err = child.communicate()
                self.kills += 1
        assert "Traceback" not in err, err
        assert child.returncode in (0, -9) or not err or "holdfast:" in err, (words, child.returncode, err)
        if not may_die:
            assert child.returncode == 0, (words, err)
        return subprocess.CompletedProcess(argv, child.returncode, out, err)

    def _keep_calls(self, count: int) -> None:
        """What hooks leave in the inbox; each call has its number, and much that tools gave."""
        inbox = self.root / ".git/holdfast/inbox"
        for _ in range(count):
            moment = 10**18 + self.given
            head = HEAD % (moment, self.given + 1, os.fsencode(self.root))
            size = self.chance.choice((50, 300, 3_000, 9_000))
            given = "".join(self.chance.choices(LETTERS, k=size))
            body = json.dumps({"number": self.given, "tool_response": given}).encode()
            (inbox / f"{self.given + 1:020d}-0-1-{self.given:08x}").write_bytes(head + body)
            self.given += 1

    def _work(self) -> None:
        lines = "".join(f"{self.chance.random()}\n" for _ in range(40))
        (self.root / "file").write_text(lines)
        (self.root / f"part{self.chance.randrange(50)}").write_text(lines[:200])

    def _name(self) -> None:
        self._work()
        text = (self.root / "file").read_text()
        done = self.command("checkpoint", f"named{self.commands}")
        if done.returncode == 0 and done.stdout.startswith("cp-"):
            self.named[done.stdout.split()[0]] = text

    def _end_run(self) -> None:
        """End the run and begin another; those that a kill left open are given up."""
        self.command("complete")
        self.command("start", f"goal {self.commands}", may_die=False)
        with opened(self.directory) as workspace:
            left = [run.id for run in holdfast.runs(workspace, status=("open",), limit=500).runs][1:]
        for run in left:
            self.command("abandon", "--run", run)

    def _export(self) -> None:
        """Carry away the oldest run that has ended; from then on, it may be removed here."""
        with opened(self.directory) as workspace:
            ended = [run.id for run in holdfast.runs(workspace, status=("completed",), limit=500).runs]
            if not ended:
                return
            run, numbers = ended[-1], set(self._numbers(workspace, ended[-1]))
        self.carried |= numbers
        self.command("export", run, str(self.directory / f"{run}.holdfast"), "--raw")

    def _tidy(self) -> None:
        self.command("tidy")

    def _age(self) -> None:
        """Make the store one of the format before; whoever opens it next brings it up to date, and may be killed."""
        self.command("sweep", may_die=False)
        store = self.root / ".git/holdfast"
        worktree = store / "worktrees" / ids.file_name(".")
        with files.lock(worktree / "later", 120.0), files.lock(store / "lock", 120.0):  # nobody is at work unseen
            connection = apsw.Connection(str(store / "journal.db"))
            if connection.pragma("user_version") == 3:
                with connection:
                    connection.execute(OLDER)
            connection.close()
            (store / "journal.sums").unlink()  # which that format does not have either
        self.command("status")
        self.command("status", may_die=False)
        for path in (self.root / ".git/holdfast/backups").glob("*"):
            os.utime(path, (0, 0))  # as if that was long ago

    def _numbers(self, workspace: Workspace, run: str | None = None) -> list[int]:
        """The calls whose events are in the store, or in one run."""
        found: list[int] = []
        with workspace.reading() as journal:
            for id in [run] if run else journal.view.all_run_ids():
                for row in journal.view.events(id):
                    if row.kind == "call.kept":
                        body = codec.unpack(row.body, lambda digest: b"")
                        found.append(body["call"]["number"])
        return found


def soak(
    events: int,
    checkpoints: int,
    seed: int,
    cap: int,
    *,
    calls: int = CALLS,
    every: Sequence[int] = EVERY,
    say: Callable[[str], None] = lambda line: None,
) -> Soak:
    with work_directory() as directory:
        life = Soak(directory, seed, cap, calls, every)
        life.live(events, checkpoints, say)
        life.end()
        return life
