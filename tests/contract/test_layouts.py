"""The layout protocol, from the start of a run to its purge, for every layout and an invented one."""

from __future__ import annotations

import inspect
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import holdfast.layouts
from holdfast.agents.protocol import Reading
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Draft, Status
from holdfast.layouts import registry
from holdfast.layouts.protocol import NATIVE, Layout
from tests.faber_states import ACTIVE, RUN, RUNS, a_state
from tests.mutations.trying import copy
from tests.tools import a_run

INVENTED = Path(__file__).parent / "invented"
MEMBERS = sorted(name for name in {*vars(Layout), *Layout.__annotations__} if not name.startswith("_"))
NAMES = [*registry.NAMES, "kanban"]


class Script(NamedTuple):
    """One layout: the file that shows its run, an edit of it by another program, and what follows for the run."""

    file: str | None = None  # `RUN` stands for the run's id
    before: str = ""  # a text of the file
    after: str = ""
    status: str = "active"  # of the run after the edit
    leaves: bool = False  # a purge leaves the file, which is the system's own
    info: str = "Fix the parser"  # in the answer to `*session-info`


SCRIPTS = {
    "native": Script(),
    "faber": Script(
        f"{RUNS}/{RUN}/state.json",
        '"status": "in_progress"',
        '"status": "paused"',
        "paused",
        leaves=True,
        info="Add a login",
    ),
    "orchestrator": Script(
        ".claude/orchestrator-session.json", '"status": "in_progress"', '"status": "paused"', "paused"
    ),
    "go-team": Script("checkpoints/RUN/state.json", '"status": "active"', '"status": "paused"', "paused"),
    "kanban": Script("board.json", '"column": "doing"', '"column": "parked"', "paused", info="Card "),
}


@pytest.fixture
def invented(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The invented layout in this process: its folder beside the others, and its row in the registry."""
    monkeypatch.setattr(holdfast.layouts, "__path__", [*holdfast.layouts.__path__, str(INVENTED)])
    monkeypatch.setattr(registry, "FOLDERS", {**registry.FOLDERS, "kanban": "kanban"})
    registry.find_layout.cache_clear()
    yield
    registry.find_layout.cache_clear()
    for name in [name for name in sys.modules if name.startswith("holdfast.layouts.kanban")]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of Holdfast with the invented layout in it, added by the list in CONTRIBUTING."""
    root = copy(tmp_path_factory.mktemp("extended"))
    layouts = root / "src/holdfast/layouts"
    shutil.copytree(INVENTED / "kanban", layouts / "kanban")
    table = (layouts / "registry.py").read_text()
    (layouts / "registry.py").write_text(table.replace("FOLDERS = {", 'FOLDERS = {"kanban": "kanban", '))
    return root


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("invented")
def test_layout_fits_the_protocol(name: str) -> None:
    layout = registry.find_layout(name)
    assert name == layout.NAME
    for member in MEMBERS:
        value, wanted = getattr(layout, member), getattr(Layout, member, None)
        if inspect.isfunction(wanted):
            parameters = list(inspect.signature(wanted).parameters)[1:]
            assert list(inspect.signature(value).parameters) == parameters, (member, "parameters")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("invented")
def test_members_are_members_of_the_protocol(name: str) -> None:
    package = sys.modules.get(f"holdfast.layouts.{registry.FOLDERS.get(name)}")
    found = [member for names in getattr(package, "MEMBERS", {}).values() for member in names.split()]
    assert sorted(found) == sorted({*found} & {*MEMBERS})


def test_a_run_of_an_unknown_layout_is_treated_as_our_own_and_kept() -> None:
    assert registry.find_layout("another") is NATIVE
    assert not registry.find_rules("another").is_known


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("invented")
def test_rules_allow_a_run_to_begin_and_to_end(name: str) -> None:
    rules = registry.find_rules(name)
    assert rules.is_known
    assert transition(Status.CREATED, Move.ACT, rules) is Status.ACTIVE
    for move in (Move.COMPLETE, Move.FAIL, Move.ABORT, Move.ABANDON):
        assert not transition(Status.ACTIVE, move, rules).is_open


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("invented")
def test_activity_is_followed_with_events_of_the_run(name: str) -> None:
    sent = Draft("subagent.started", {"type": "reviewer", "key": "k1"})
    found = registry.find_layout(name).follow(a_run(layout=name), None, Reading([sent]))
    added = {"orchestrator": ["agent.started"], "go-team": ["handoff.made"], "kanban": ["note.added"]}
    assert [draft.kind for draft in found] == added.get(name, [])


class Life:
    """A project with a run of one layout, in which the copied Holdfast runs."""

    def __init__(self, extended: Path, project: Path, name: str) -> None:
        self.python, self.project, self.name = extended / ".venv/bin/python", project, name
        self.script = SCRIPTS[name]

    def run(self, *arguments: str, code: int = 0) -> Any:
        done = subprocess.run(
            [self.python, "-I", "-m", "holdfast", *arguments, "--json"],
            cwd=self.project, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout)

    def begin(self) -> str:
        """Begin a run as the layout's users do."""
        if registry.find_layout(self.name).IS_STARTED:
            id = str(self.run("start", "Fix the parser", "--layout", self.name)["run"]["id"])
            self.run("note", "it began")
            return id
        self.run("init", "--agent", "none")
        state, active = self.project / RUNS / RUN / "state.json", self.project / ACTIVE
        state.parent.mkdir(parents=True)
        state.write_text(json.dumps(a_state(), indent=2))
        active.write_text(RUN)
        return str(self.run("status")["run"]["id"])


@pytest.fixture(params=NAMES)
def life(request: pytest.FixtureRequest, extended: Path, repository: Path, home: Path, invented: None) -> Life:
    return Life(extended, repository, request.param)


def test_layout_from_start_to_purge(life: Life) -> None:
    script, beside = life.script, life.project / "beside.txt"
    beside.write_text("of the user")
    run = life.begin()
    found = life.run("status")["run"]
    assert (found["layout"], found["status"]) == (life.name, "active")
    assert script.info in life.run("command", "*session-info")["text"]
    if script.file is None:
        life.run("delete", run, "--purge", "--yes")
        assert life.run("runs")["runs"] == []
        return

    place = life.project / script.file.replace("RUN", run)
    text = place.read_text()
    assert script.before in text
    place.write_text(text.replace(script.before, script.after))
    assert life.run("status")["run"]["status"] == script.status, "an external edit is taken in"
    assert script.after in place.read_text(), "and stays"

    whole = place.read_text()
    place.write_text(whole[:-20])
    (damaged,) = life.run("verify", code=12)["faces"]
    assert damaged["where"] == str(place.relative_to(life.project))
    life.run("status")
    assert place.read_text() == whole[:-20], "a damaged file is never overwritten"
    repaired = life.run("repair", run)
    assert repaired["changed"]
    assert life.run("verify")["faces"] == []
    assert life.run("status")["run"]["status"] == script.status

    life.run("delete", run, "--purge", "--yes")
    assert life.run("runs")["runs"] == [] or script.leaves
    assert place.exists() is script.leaves
    assert beside.read_text() == "of the user"
