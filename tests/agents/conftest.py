"""A real client in a cage: an empty home, a project with Holdfast's hooks, a model that does what the prompt says."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

import holdfast
from holdfast.core.model import Checkpoint, Event, Run, Session
from tests.agents.cage import Cage, NoCage
from tests.agents.client import NotHere, get_claude
from tests.agents.interactive import Interactive
from tests.agents.model import Model, Request
from tests.agents.witness import Witness
from tests.tools import Command

PATIENCE = 30.0
KEY = "a-key-that-opens-nothing"


@pytest.fixture(scope="session")
def program() -> Path:
    try:
        return get_claude()
    except (NotHere, OSError) as error:
        pytest.skip(f"NOT PROVED: the real Claude Code cannot be installed here: {error}")


@pytest.fixture(scope="session")
def cage() -> Iterator[Cage]:
    try:
        made = Cage()
    except NoCage as error:
        pytest.skip(f"NOT PROVED: the real Claude Code cannot be caged here: {error}")
    with made:
        yield made


@pytest.fixture
def model(cage: Cage) -> Iterator[Model]:
    with Model(cage.listen()) as served:
        yield served


@pytest.fixture
def witness(tmp_path: Path) -> Iterator[Witness]:
    with Witness(tmp_path) as standing:
        yield standing


@dataclass
class Answered:
    """One headless run of the client that is over."""

    code: int
    result: dict[str, Any]
    err: str
    requests: list[Request]

    @property
    def session(self) -> str:
        return str(self.result["session_id"])

    @property
    def text(self) -> str:
        return str(self.result["result"])

    @property
    def turns(self) -> list[Request]:
        return [request for request in self.requests if request.is_turn]


@dataclass
class Project:
    """A git repository with one commit and Holdfast's hooks, in which the client can be run."""

    directory: Path
    home: Path
    program: Path
    cage: Cage
    model: Model
    witness: Witness
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    more: dict[str, str] = field(default_factory=dict)  # variables of the client's environment

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            **self.more,
        }

    def start(self, *arguments: str, directory: Path | None = None) -> subprocess.Popen[str]:
        """Start the client without a terminal."""
        process = subprocess.Popen(
            self.cage.inside(str(self.program), *arguments, "--output-format", "json"),
            cwd=directory or self.directory,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(process)
        return process

    def finish(self, process: subprocess.Popen[str], before: int = 0) -> Answered:
        """Wait for the client's end."""
        out, err = process.communicate(timeout=PATIENCE)
        result = json.loads(out) if out.startswith("{") else {}
        return Answered(process.returncode, result, err, self.model.requests[before:])

    def claude(self, prompt: str, *arguments: str, directory: Path | None = None) -> Answered:
        """One whole `claude -p PROMPT`."""
        before = len(self.model.requests)
        done = self.finish(self.start("-p", prompt, *arguments, directory=directory), before)
        assert (done.code, done.err) == (0, ""), done.result
        return done

    @contextmanager
    def interactive(self, *arguments: str, begins: str = "startup", trusted: bool = True) -> Iterator[Interactive]:
        """The client on a terminal, ready to be typed into."""
        with self._terminal(str(self.program), *arguments, begins=begins if trusted else "") as started:
            yield started

    @contextmanager
    def resume(self, *arguments: str, begins: str = "resume") -> Iterator[Interactive]:
        """`holdfast resume` on a terminal, and the client that it became, ready to be typed into."""
        with self._terminal(sys.executable, "-m", "holdfast", "resume", *arguments, begins=begins) as started:
            yield started

    @contextmanager
    def _terminal(self, *command: str, begins: str) -> Iterator[Interactive]:
        env = {**self.env, "PATH": f"{self.program.parent}:{self.env['PATH']}"}
        start = f"SessionStart({begins})"
        count = self.witness.names.count(start) + 1
        with Interactive(self.cage.inside(*command), self.directory, env) as started:
            if begins:
                self.witness.wait_for(start, count)
            yield started

    def holdfast(self, *arguments: str, directory: Path | None = None) -> Command:
        return Command.run(*arguments, directory=directory or self.directory).ok()

    def runs(self) -> list[Run]:
        with holdfast.open(self.directory) as workspace:
            return holdfast.runs(workspace).runs

    def sessions(self) -> list[Session]:
        with holdfast.open(self.directory) as workspace:
            return holdfast.sessions(workspace, every=True).sessions

    def log(self, run: str) -> list[Event]:
        with holdfast.open(self.directory) as workspace:
            return holdfast.log(workspace, run=run).events

    def wait_for_checkpoint(self, touching: str) -> Checkpoint:
        """The newest checkpoint of a turn that changed a file, once it was made: nobody waits for that."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with holdfast.open(self.directory) as workspace:
                made = holdfast.checkpoints(workspace, touching=touching).checkpoints
            if made:
                return made[0]
        raise AssertionError(f"no checkpoint with {touching}")

    def wait_for_event(self, run: str, kind: str) -> Event:
        """The first event of that kind, once it was kept: the client does not wait for every call."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for event in self.log(run):
                if event.kind == kind:
                    return event
        raise AssertionError(f"no {kind} in {run}")

    def wait_until_quiet(self) -> None:
        """Until nobody works in the project any more: a client that has ended may have left a checkpoint to be made."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            directories = [found.info["cwd"] for found in psutil.process_iter(["cwd"])]
            if str(self.directory) not in directories:
                return
        raise AssertionError(f"somebody still works in {self.directory}")

    def add_worktree(self, name: str) -> Path:
        """Another worktree of the same repository, with the same hooks."""
        directory = self.directory.parent / name
        git(self.directory, "worktree", "add", "-q", str(directory))
        install(directory)
        trust(self.home, self.directory, directory)
        return directory


def git(directory: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(directory), *who, *arguments], check=True)


def install(directory: Path) -> None:
    Command.run("init", "--agent", "claude", directory=directory).ok()


def trust(home: Path, *directories: Path) -> None:
    """Answer beforehand what a first start would ask, folder trust included."""
    accepted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(directory): accepted for directory in directories},
    }
    (home / ".claude.json").write_text(json.dumps(state))


@pytest.fixture
def project(
    repository: Path, home: Path, program: Path, cage: Cage, model: Model, witness: Witness
) -> Iterator[Project]:
    (repository / "readme.txt").write_text("one\n")
    git(repository, "add", "readme.txt")
    git(repository, "commit", "-qm", "first")
    install(repository)
    trust(home, repository)
    (home / ".claude").mkdir()
    permissions = {"disableAutoMode": "disable", "allow": ["Bash", "Write", "Edit", "Read"]}
    settings = {"permissions": permissions, "hooks": witness.hooks()}
    (home / ".claude" / "settings.json").write_text(json.dumps(settings))
    made = Project(repository, home, program, cage, model, witness)
    yield made
    for process in made.started:
        process.kill()
        process.communicate(timeout=PATIENCE)


class Gate:
    """A command that says when it has begun, and then waits to be let through, at the latest by the test's end."""

    def __init__(self, directory: Path) -> None:
        begun, held = directory / "begun", directory / "held"
        for path in (begun, held):
            os.mkfifo(path)
        self._begun, self._held = (os.fdopen(os.open(path, os.O_RDWR), "rb", buffering=0) for path in (begun, held))
        self.command = f"exec 3< {held}; echo begun > {begun}; cat <&3"

    def wait(self, count: int = 1) -> None:
        """Until so many have begun."""
        said = b""
        while said.count(b"\n") < count:
            ready, _, _ = select.select([self._begun], [], [], PATIENCE)
            assert ready, "the command never began"
            said += self._begun.read(100)

    def open(self) -> None:
        self._held.close()

    def close(self) -> None:
        self._held.close()
        self._begun.close()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    made = Gate(tmp_path)
    yield made
    made.close()
