"""The agent protocol, from `init` to `resume`, for Claude Code, the generic adapter and an invented agent."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import holdfast.agents
from holdfast.agents import registry
from holdfast.agents.protocol import GENERIC, Agent, Moment
from holdfast.agents.recognised import CLIENTS
from tests.mutations.trying import copy

ROOT = Path(__file__).parents[2]
INVENTED = Path(__file__).parent / "invented"
MEMBERS = sorted(name for name in {*vars(Agent), *Agent.__annotations__} if not name.startswith("_"))


class Told(NamedTuple):
    """A hook call of an agent: event and payload."""

    event: str
    payload: dict[str, Any]


class Script(NamedTuple):
    """One conversation of an agent, as a sequence of hook calls."""

    name: str
    settings: str  # path below the project
    start: Told
    prompt: Told
    action: Told
    turn: Told
    command: Told
    end: Told
    brief: str  # pattern of the brief in the reply to the start
    resume: list[str]
    transcript: str  # path below the home directory


CLAUDE_ID = "0c1e0000-0000-4000-8000-000000000001"


def claude(root: Path, home: Path) -> Script:
    log = f".claude/projects/{re.sub('[^A-Za-z0-9]', '-', str(root))}/{CLAUDE_ID}.jsonl"

    def told(event: str, **fields: Any) -> Told:
        about = {"session_id": CLAUDE_ID, "transcript_path": str(home / log), "cwd": str(root)}
        return Told(event, {**about, "hook_event_name": event, **fields})

    return Script(
        "claude",
        ".claude/settings.local.json",
        told("SessionStart", source="startup"),
        told("UserPromptSubmit", prompt="Fix the parser"),
        told(
            "PostToolBatch", tool_calls=[{"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_use_id": "t"}]
        ),
        told("Stop", last_assistant_message="The parser is fixed"),
        told("UserPromptSubmit", prompt="*status"),
        told("SessionEnd", reason="other"),
        "additionalContext",
        ["claude", "--resume", CLAUDE_ID],
        log,
    )


def parrot(root: Path, home: Path) -> Script:
    log = ".parrot/talks/polly.jsonl"

    def told(event: str, **fields: Any) -> Told:
        return Told(event, {"talk": "polly", "log": str(home / log), "at": str(root), **fields})

    return Script(
        "parrot",
        ".parrot/hooks.toml",
        told("opened", how="new"),
        told("heard", words="Fix the parser"),
        told("acted", act="Bash: make", number="t", done=True),
        told("rested", words="The parser is fixed"),
        told("heard", words="*status"),
        told("closed", why="night"),
        "tell",
        ["parrot", "--again", "polly"],
        log,
    )


SCRIPTS = {"claude": claude, "parrot": parrot}


def test_an_agent_has_a_folder_or_is_only_recognised() -> None:
    """With both, hooks would take the folder, and the rest of Holdfast the row."""
    folders = {path.parent.name for path in Path(str(registry.__file__)).parent.glob("*/client.py")}
    assert sorted([*folders, *CLIENTS]) == sorted(registry.NAMES)


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The invented agent in this process: its package next to the others, and its name in the registry."""
    monkeypatch.setattr(holdfast.agents, "__path__", [*holdfast.agents.__path__, str(INVENTED)])
    monkeypatch.setattr(registry, "NAMES", ("parrot", *registry.NAMES))
    registry.find_agent.cache_clear()
    yield
    registry.find_agent.cache_clear()
    for name in [name for name in sys.modules if name.startswith("holdfast.agents.parrot")]:
        del sys.modules[name]


def files_in_the_list() -> list[str]:
    """The files that the list "an agent" in CONTRIBUTING tells to add, below `src/holdfast`."""
    part = (ROOT / "CONTRIBUTING.md").read_text().partition("\n**an agent.**")[2].partition("\n**a layout.**")[0]
    return re.findall(r"^\d+\. `(agents/NAME/\w+\.py)`", part, re.MULTILINE)


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of Holdfast with the invented agent, added according to the list in CONTRIBUTING."""
    root = copy(tmp_path_factory.mktemp("extended"))
    package = root / "src/holdfast"
    for file in files_in_the_list():
        there = package / file.replace("NAME", "parrot")
        there.parent.mkdir(exist_ok=True)
        shutil.copy(INVENTED / there.relative_to(package / "agents"), there)
    table = package / "agents/registry.py"
    table.write_text(table.read_text().replace("NAMES = (", 'NAMES = ("parrot", '))
    return root


def test_list_in_contributing_has_every_file_of_an_agent() -> None:
    listed = {Path(file).name for file in files_in_the_list()}
    assert listed == {path.name for path in (INVENTED / "parrot").glob("*.py")}
    claude_only = {"plugin_call.py", "status_line.py", "transcript_events.py"}  # of a plugin, and parts of the others
    assert {path.name for path in Path(str(registry.__file__)).parent.glob("claude/*.py")} == listed | claude_only


@pytest.mark.parametrize("name", ["claude", "parrot", "generic"])
@pytest.mark.usefixtures("invented")
def test_adapter_fits_the_protocol(name: str) -> None:
    agent = GENERIC if name == "generic" else registry.find_agent(name)
    for member in MEMBERS:
        value = getattr(agent, member)
        wanted = getattr(Agent, member, None)
        if inspect.isfunction(wanted):
            parameters = list(inspect.signature(wanted).parameters)[1:]
            assert list(inspect.signature(value).parameters) == parameters, member


@pytest.mark.parametrize("name", [*registry.NAMES, "parrot"])
@pytest.mark.usefixtures("invented")
def test_every_event_of_a_client_means_a_moment(name: str) -> None:
    client = registry.find_client(name)
    assert (client.NAME, bool(client.LABEL)) == (name, True)
    assert {Moment(moment) for moment in client.MOMENTS.values()} >= {Moment.START, Moment.PROMPT, Moment.TURN}


class Life:
    """A project of an agent, with the copy of Holdfast."""

    def __init__(self, extended: Path, project: Path, home: Path, script: Script) -> None:
        self.python = extended / ".venv/bin/python"
        self.project, self.home, self.script = project, home, script

    def run(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [self.python, "-I", "-m", "holdfast", *arguments],
            cwd=self.project, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def tell(self, told: Told) -> str:
        """Run the hook command in the agent's settings for an event, as the agent would."""
        settings = (self.project / self.script.settings).read_text().replace("\\n", "\n")
        (command,) = re.findall(rf"""test -x [^"\n]* {self.script.name} {told.event}(?=["'\n])""", settings)
        done = subprocess.run(
            ["sh", "-c", command], cwd=self.project, input=json.dumps(told.payload, separators=(",", ":")),
            env={**os.environ, "PATH": os.defpath}, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout


@pytest.fixture(params=SCRIPTS)
def life(request: pytest.FixtureRequest, extended: Path, repository: Path, home: Path) -> Life:
    return Life(extended, repository, home, SCRIPTS[request.param](repository, home))


@pytest.mark.promise(28)
def test_adapter_from_init_to_resume(life: Life) -> None:
    script, settings = life.script, life.project / life.script.settings
    settings.parent.mkdir()
    settings.write_text("" if settings.suffix == ".toml" else "{}\n")
    before = settings.read_bytes()
    life.run("init", "--agent", script.name)
    assert {check["state"] for check in json.loads(life.run("doctor", "--json"))["checks"]} <= {"ok", "warning"}

    assert life.tell(script.start) == ""  # nothing is recorded yet
    assert life.tell(script.prompt) == ""
    (life.project / "parser.py").write_text("fixed\n")
    for told in (script.action, script.turn):
        assert life.tell(told) == ""
    (session,) = json.loads(life.run("sessions", "--json"))["sessions"]
    assert (session["agent"], session["last_action"]) == (script.name, "said: The parser is fixed")
    life.run("decide", "Keep the old grammar")
    assert "Fix the parser" in life.tell(script.command)
    life.tell(script.end)
    assert json.loads(life.run("sessions", "--json"))["sessions"][0]["how"] == "ended"

    brief = life.tell(script.start._replace(payload={**script.start.payload, "source": "resume", "how": "again"}))
    # what the conversation has in its transcript is not repeated
    assert (script.brief in brief, "Keep the old grammar" in brief, "Fix the parser" in brief) == (True, True, False)
    life.tell(script.end)

    log = life.home / script.transcript
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("{}\n")
    resumed = json.loads(life.run("resume", "--print", "--json"))
    assert resumed["command"] == script.resume

    life.run("uninit")
    assert settings.read_bytes() == before


@pytest.mark.defect("`init --scope local` meant the first agent of the registry, whatever its scopes, used or not")
@pytest.mark.parametrize("life", ["parrot"], indirect=True)
def test_a_scope_without_an_agent_means_one_in_use_that_has_it_or_else_the_default(life: Life) -> None:
    life.run("init", "--scope", "local")
    assert (life.project / ".claude/settings.local.json").exists()
    assert not (life.project / ".parrot").exists()


@pytest.mark.parametrize("life", ["parrot"], indirect=True)
def test_generic_agent_from_init_to_resume(life: Life) -> None:
    life.run("init", "--agent", "none")
    script = life.python.parents[2] / "src/holdfast/surfaces/hooks/entry.py"

    def tell(event: str) -> None:
        payload = {"session_id": "squawk", "cwd": str(life.project), "loud": True}
        command = [str(life.python), "-I", "-S", str(script), "macaw", event]
        done = subprocess.run(
            command, cwd=life.project, input=json.dumps(payload).encode(), capture_output=True, timeout=60, check=True
        )
        assert (done.stdout, done.stderr) == (b"", b"")

    for event in ("SessionStart", "Squawked", "Stop", "SessionEnd"):
        tell(event)
    (run,) = json.loads(life.run("runs", "--json"))["runs"]
    assert run["goal"] == "Work of macaw"
    assert "macaw Squawked" in life.run("log")
    life.run("decide", "Keep the old grammar")
    assert "Keep the old grammar" in life.run("brief")
    resumed = json.loads(life.run("resume", "--print", "--json", code=1))  # told, but there is nothing to start
    assert (resumed["run"]["id"], resumed["command"]) == (run["id"], [])
    life.run("init", "--agent", "macaw", code=2)
