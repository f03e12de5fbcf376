"""Break a FABER run's load, save and repair at the calls by which they change anything, and look at what is left.

The state file parses and is the old one or the new one, so does its backup, the journal is whole, and the next command
works. The tier of every commit tries a few points; `-m long` tries more, `-m hours` all, in every mode.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.layouts.faber.screens import Reloaded, SessionSaved
from holdfast.operations.maintenance import Repaired
from holdfast.project.workspace import Workspace
from tests.crash.cases import an_empty_project, opened, verb
from tests.crash.modes import ENDS, FAILURES, KILLS, each_tier
from tests.faber_states import ACTIVE, RUN, RUNS, put, put_state
from tests.faults import tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome

OURS = ("sessions", "context_metadata", "updated_at")
STATE = f"project/{RUNS}/{RUN}/state.json"
MODE = 0o640
WORKFLOW = {
    "id": "default",
    "critical_artifacts": {"always_load": [{"id": "plan", "type": "markdown", "path": "PLAN.md", "required": True}]},
}

State = dict[str, Any]

pytestmark = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


def a_run_with_a_session(directory: Path) -> None:
    """A FABER run whose first session was saved and whose second one is open, so that there is a backup."""
    an_empty_project(directory)
    project = directory / "project"
    put(project, ACTIVE, RUN)
    put(project, ".fractary/faber/workflows/default.json", WORKFLOW)
    (project / "PLAN.md").write_text("# The plan\n")
    put_state(project).chmod(MODE)
    with opened(directory) as workspace:
        holdfast.init(workspace, agent="none")
        holdfast.session_load(workspace)
        holdfast.session_save(workspace)
        holdfast.session_load(workspace)


def a_run_between_sessions(directory: Path) -> None:
    a_run_with_a_session(directory)
    with opened(directory) as workspace:
        holdfast.session_save(workspace)


def a_run_whose_state_is_torn(directory: Path) -> None:
    a_run_between_sessions(directory)
    state = directory / STATE
    state.write_bytes(state.read_bytes()[:700])


@dataclass
class Case:
    name: str
    prepare: Callable[[Path], None]
    command: Callable[[Path], Sequence[str]]
    is_new: Callable[[State], bool]  # whether a state is the one that the command leaves
    before: bytes = b""
    backup: bytes = b""

    def prepared(self, directory: Path) -> None:
        self.prepare(directory)
        self.before = (directory / STATE).read_bytes()
        self.backup = (directory / f"{STATE}.backup").read_bytes()

    def check(self, outcome: Outcome) -> None:
        self._told(outcome)
        after = (outcome.directory / STATE).read_bytes()
        is_old = after == self.before
        if not is_old:
            self._changed(json.loads(after))
        assert stat.S_IMODE((outcome.directory / STATE).stat().st_mode) == MODE, "another mode"
        assert self._is_good(outcome), "half a backup"
        if outcome.acknowledged():
            assert not is_old, "acknowledged and lost"
        with opened(outcome.directory) as workspace:
            assert holdfast.verify(workspace).problems == [], "the journal is damaged"
            goes_on(workspace)

    def _told(self, outcome: Outcome) -> None:
        if outcome.returncode in (0, None) or outcome.killed or outcome.mode in KILLS:
            return
        assert outcome.returncode == 1, f"exit {outcome.returncode}: {outcome.stderr[-500:]}"
        assert "ERROR: " in outcome.stderr or "holdfast: " in outcome.stderr, f"no sentence: {outcome.stderr[-300:]}"

    def _changed(self, after: State) -> None:
        """Another state than before is the new one, and differs from the one that we knew in our members only."""
        assert self.is_new(after), "neither the old state nor the new one"
        known = json.loads(self.backup)
        assert {name: value for name, value in after.items() if name not in OURS} == {
            name: value for name, value in known.items() if name not in OURS
        }, "a member of FABER's was changed"

    def _is_good(self, outcome: Outcome) -> bool:
        backup = (outcome.directory / f"{STATE}.backup").read_bytes()
        return backup in (self.backup, self.before) and isinstance(json.loads(backup), dict)


def goes_on(workspace: Workspace) -> None:
    """Whatever happened, the run can be repaired where it is damaged, loaded and saved, and nothing is missed."""
    repaired = holdfast.repair(workspace, RUN)
    assert isinstance(repaired, Repaired)
    assert repaired.lost == [], f"lost: {repaired.lost}"
    loaded = holdfast.session_load(workspace, trigger="session_start")
    assert isinstance(loaded, Reloaded)
    assert loaded.written, f"the next load wrote nothing: {loaded.warnings}"
    saved = holdfast.session_save(workspace, reason="normal")
    assert isinstance(saved, SessionSaved)
    assert saved.changed, f"the next save wrote nothing: {saved.why}"


def sessions(state: State, closed: int, opened: int) -> bool:
    """Whether a state has so many sessions that ended and so many that are open, and counts them rightly."""
    history = state["sessions"]["session_history"]
    ended = [record for record in history if record.get("ended_at")]
    is_open = state["sessions"]["current_session_id"] is not None
    return (len(ended), len(history) - len(ended), is_open) == (closed, opened, bool(opened)) and (
        state["sessions"]["total_sessions"] == len(history)
    )


def cases() -> list[Case]:
    return [
        Case(
            "session-save",
            a_run_with_a_session,
            verb("session-save", "--reason", "compaction"),
            lambda state: sessions(state, closed=2, opened=0),
        ),
        Case("session-load", a_run_between_sessions, verb("session-load"), lambda state: sessions(state, 2, opened=1)),
        Case(
            "session-load-after-a-crash",
            a_run_with_a_session,
            verb("session-load", "--trigger", "session_start"),
            lambda state: sessions(state, closed=2, opened=1),
        ),
        Case("repair", a_run_whose_state_is_torn, verb("repair", RUN), lambda state: sessions(state, 1, opened=1)),
    ]


BY_NAME = pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)


def _explore(case: Case, modes: tuple[str, ...], points: int | None) -> None:
    found = explore(prepare=case.prepared, command=case.command, check=case.check, modes=modes, points=points)
    found.assert_clean()


@pytest.mark.promise(1)
@BY_NAME
def test_a_kill_leaves_the_old_state_or_the_new_one_and_the_next_command_works(case: Case) -> None:
    _explore(case, ENDS, points=3)


@pytest.mark.promise(1)
def test_a_save_that_is_torn_at_a_write_leaves_the_old_state_or_the_new_one() -> None:
    _explore(cases()[0], ("torn",), points=6)


@pytest.mark.promise(5)
@BY_NAME
def test_a_failing_system_call_is_told_in_a_sentence_and_leaves_a_whole_state(case: Case) -> None:
    _explore(case, ("ENOSPC", "EIO", "EACCES", "sticky:ENOSPC"), points=2)


@each_tier(8)
@pytest.mark.promise(1)
@BY_NAME
def test_a_kill_at_any_point_leaves_the_old_state_or_the_new_one_and_the_next_command_works(
    case: Case, points: int | None
) -> None:
    _explore(case, KILLS, points=points)


@each_tier(3)
@pytest.mark.promise(5)
@BY_NAME
def test_any_failing_system_call_is_told_in_a_sentence_and_leaves_a_whole_state(case: Case, points: int | None) -> None:
    _explore(case, (*FAILURES, "EACCES"), points=points)
