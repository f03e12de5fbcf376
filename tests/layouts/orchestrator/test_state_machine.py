"""Random verbs, random edits of the file and random kills: file, journal and the document's drawing always agree.

The tier of every commit plays 30 short games; `-m long` plays 300 longer ones.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import holdfast
from holdfast.core.errors import HoldfastError, Refused
from tests.conftest import TickingClock
from tests.orchestrator_project import agree, archived, edit, session_of, session_path
from tests.sessions import run_of

NEVER, CREATED, IN_PROGRESS, PAUSED, COMPLETE, ABORTED = "", "created", "in_progress", "paused", "complete", "aborted"
ENDED = (COMPLETE, ABORTED)
# The drawing: what each word makes of each status. What is not in it is refused.
DRAWN = {
    "resume": {CREATED: IN_PROGRESS, IN_PROGRESS: IN_PROGRESS, PAUSED: IN_PROGRESS},
    "pause": {IN_PROGRESS: PAUSED, PAUSED: PAUSED},
    "complete": {IN_PROGRESS: COMPLETE, COMPLETE: COMPLETE},
    "abort": {CREATED: ABORTED, IN_PROGRESS: ABORTED, PAUSED: ABORTED, ABORTED: ABORTED},
    "fail": {CREATED: ABORTED, IN_PROGRESS: ABORTED, PAUSED: ABORTED, ABORTED: ABORTED},
}
WORDS = {"active": IN_PROGRESS, "interrupted": IN_PROGRESS, "completed": COMPLETE, "failed": ABORTED}
TYPES = st.sampled_from(["code", "test"])
NUMBERS = st.integers(0, 3)
KILLED = st.sampled_from(["", "", "before the file", "before the memory"])


class Orchestrator(RuleBasedStateMachine):
    """What a session should be, told in the words of the document."""

    @initialize()
    def begin(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="holdfast-machine-"))
        subprocess.run(["git", "init", "-q", str(self.home / "project")], check=True)
        self.project = holdfast.open(self.home / "project", clock=TickingClock())
        holdfast.init(self.project)
        self.status = NEVER
        self.id = ""
        self.agents: dict[str, tuple[str, int]] = {}
        self.pending: list[str] = []
        self.done: list[str] = []
        self.decisions: list[str] = []
        self.history: dict[str, str] = {}
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "project"):
            assert holdfast.verify(self.project).problems == []
            self.project.close()
            shutil.rmtree(self.home)

    def tell(self, killed: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Call a verb. Killed before the file, its event is in the journal and nothing else was done."""
        memory = next(iter(self.project.place.glob("worktrees/*/session.json")), None)
        before = memory.read_bytes() if memory else b""
        if killed == "before the file" and function is not holdfast.start:
            return function.__wrapped__(self.project, *args, **options)  # type: ignore[attr-defined]
        result = function(self.project, *args, **options)
        if killed == "before the memory" and memory:
            memory.write_bytes(before)
        return result

    def name(self) -> str:
        self.count += 1
        return f"thing {self.count}"

    @property
    def is_open(self) -> bool:
        return self.status not in (NEVER, *ENDED)

    def act(self) -> None:
        self.status = IN_PROGRESS

    def hear(self) -> None:
        """To be told something begins a session; a paused one stays paused."""
        self.status = IN_PROGRESS if self.status == CREATED else self.status

    @rule(mode=st.sampled_from(["default", "debug"]))
    def start(self, mode: str) -> None:
        if self.is_open:
            self.history[self.id] = self.status
        self.id = holdfast.start(self.project, self.name(), layout="orchestrator", mode=mode).run.id
        self.status = CREATED
        self.agents, self.pending, self.done, self.decisions = {}, [], [], []

    @precondition(lambda self: self.is_open)
    @rule(type=TYPES, killed=KILLED)
    def start_agent(self, type: str, killed: str) -> None:
        id = self.tell(killed, holdfast.start_agent, type, self.name()).agent.id
        assert id == f"{type}-{1 + sum(known.startswith(type) for known in self.agents)}"
        self.agents[id] = (IN_PROGRESS, 0)
        self.act()

    @precondition(lambda self: self.is_open and self.agents)
    @rule(which=NUMBERS, percent=st.integers(0, 100), killed=KILLED)
    def progress_agent(self, which: int, percent: int, killed: str) -> None:
        id = self.pick(which)
        if self.agents[id][0] != IN_PROGRESS:
            with pytest.raises(HoldfastError, match="already"):
                self.tell(killed, holdfast.progress_agent, id, percent)
            return
        if self.tell(killed, holdfast.progress_agent, id, percent).changed:
            self.agents[id] = (IN_PROGRESS, percent)
            self.act()

    @precondition(lambda self: self.is_open and self.agents)
    @rule(which=NUMBERS, killed=KILLED)
    def complete_agent(self, which: int, killed: str) -> None:
        id = self.pick(which)
        if self.tell(killed, holdfast.complete_agent, id, result="done").changed:
            self.agents[id] = (COMPLETE, 0)
            self.act()

    @precondition(lambda self: self.is_open and self.agents)
    @rule(which=NUMBERS, killed=KILLED)
    def fail_agent(self, which: int, killed: str) -> None:
        id = self.pick(which)
        if self.agents[id][0] == COMPLETE:
            with pytest.raises(HoldfastError, match="already"):
                self.tell(killed, holdfast.fail_agent, id, error="red")
        elif self.tell(killed, holdfast.fail_agent, id, error="red").changed:
            self.agents[id] = ("failed", 0)
            self.act()

    @precondition(lambda self: self.is_open)
    @rule(killed=KILLED)
    def decide(self, killed: str) -> None:
        text = self.name()
        self.tell(killed, holdfast.decide, text, because="why")
        self.decisions.append(text)
        self.hear()

    @precondition(lambda self: self.is_open)
    @rule(killed=KILLED)
    def add_task(self, killed: str) -> None:
        text = self.name()
        self.tell(killed, holdfast.add_task, text)
        self.pending.append(text)
        self.hear()

    @precondition(lambda self: self.is_open and self.pending)
    @rule(killed=KILLED)
    def finish_task(self, killed: str) -> None:
        text = self.pending.pop(0)
        task = next(task.id for task in run_of(self.project, self.id).tasks if task.text == text)
        self.tell(killed, holdfast.finish_task, task, outcome="green")
        self.done.append(text)

    @precondition(lambda self: self.status != NEVER)
    @rule(word=st.sampled_from(list(DRAWN)), killed=KILLED)
    def settle(self, word: str, killed: str) -> None:
        after = DRAWN[word].get(self.status)
        try:
            self.tell(killed, getattr(holdfast, word), self.id)
        except Refused:
            assert after is None or self.status in ENDED
            return
        assert after is not None
        self.status = after
        if after in ENDED:
            self.history[self.id] = after

    @precondition(lambda self: self.is_open)
    @rule()
    def save(self) -> None:
        holdfast.save(self.project)

    # somebody else writes the file

    @precondition(lambda self: self.is_open)
    @rule()
    def they_add_a_task(self) -> None:
        holdfast.status(self.project)
        text = self.name()
        edit(self.project, pending_tasks=[*session_of(self.project)["pending_tasks"], text])
        self.pending.append(text)
        self.hear()

    @precondition(lambda self: self.is_open)
    @rule(type=TYPES)
    def they_start_an_agent(self, type: str) -> None:
        holdfast.status(self.project)
        id = f"{type}-{1 + sum(known.startswith(type) for known in self.agents)}"
        entry = {"id": id, "type": type, "task": "theirs", "status": "in_progress", "progress": 5, "theirs": True}
        edit(self.project, agents=[*session_of(self.project)["agents"], entry])
        self.agents[id] = (IN_PROGRESS, 5)
        self.act()

    @precondition(lambda self: self.is_open and self.agents)
    @rule(which=NUMBERS)
    def they_complete_an_agent(self, which: int) -> None:
        holdfast.status(self.project)
        id, agents = self.pick(which), session_of(self.project)["agents"]
        if self.agents[id][0] != IN_PROGRESS:
            return
        edit(self.project, agents=[{**one, "status": "complete"} if one["id"] == id else one for one in agents])
        self.agents[id] = (COMPLETE, 0)
        self.act()

    @precondition(lambda self: self.status == IN_PROGRESS)
    @rule()
    def they_pause(self) -> None:
        holdfast.status(self.project)
        edit(self.project, status="paused")
        self.status = PAUSED

    @precondition(lambda self: self.is_open)
    @rule()
    def they_remove_the_file(self) -> None:
        session_path(self.project).unlink(missing_ok=True)

    # what must be true

    def pick(self, which: int) -> str:
        return list(self.agents)[which % len(self.agents)]

    @precondition(lambda self: getattr(self, "status", NEVER) != NEVER)
    @invariant()
    def file_journal_and_model_agree(self) -> None:
        holdfast.status(self.project)
        run = agree(self.project, self.id)
        assert WORDS.get(run.status, run.status) == self.status
        assert {one.id: (one.status, one.progress or 0 if one.status == IN_PROGRESS else 0) for one in run.workers} == (
            self.agents
        )
        assert [task.text for task in run.open_tasks] == self.pending
        assert sorted(task.text for task in run.tasks if task.done) == sorted(self.done)
        assert [made.text for made in run.standing_decisions] == self.decisions
        assert session_path(self.project).exists() == self.is_open
        found = {file["session_id"]: file["status"] for file in archived(self.project).values()}
        assert found == self.history


def play(games: int, steps: int) -> None:
    run_state_machine_as_test(
        Orchestrator,
        settings=settings(
            max_examples=games,
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=(Phase.explicit, Phase.generate),
        ),
    )


def test_file_journal_and_drawing_agree_whatever_is_done() -> None:
    play(30, 15)


@pytest.mark.long
def test_file_journal_and_drawing_agree_in_long_games() -> None:
    play(300, 50)
