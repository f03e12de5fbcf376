"""A thousand days in the life of a project: sleep, clock jumps, restarts, numbers used again, containers that come
and go. Nobody who lives is ever declared dead, and whoever died here is found at the next command.

The model below knows the truth about every process and nothing of how Holdfast finds it out.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

import holdfast
from holdfast.core.model import Process
from holdfast.project.workspace import Workspace
from holdfast.system import process
from holdfast.system.process import Judgement
from tests.conftest import TickingClock
from tests.promises import Figure

DAYS, LIVES = 125, 8  # days of one life, and how many lives: a thousand days together
PIDS, NAMESPACES = range(2, 12), range(1, 4)  # few, so that numbers are used again soon
WALLS = [datetime(year, 1, 1, tzinfo=UTC) for year in (1970, 1999, 2026, 2038, 2100)]
TICKS = 100  # of the kernel, a second
SILENCES = (0, 600, 2 * 3600)  # seconds in which nobody says anything: at work, stopped for a while, thinking for long
JUMPS = [timedelta(hours=-1), timedelta(hours=1), timedelta(days=1)]  # set back, summer time, set ahead


@dataclass(frozen=True)
class Life:
    """One process from its start to its end."""

    pid: int
    start: int
    boot: str
    namespace: str
    machine: str


@dataclass
class Machine:
    """A computer, or a container on it; containers share the boot of the computer below them."""

    name: str
    boot: str
    namespace: str
    running: dict[int, Life] = field(default_factory=dict)
    stopped: set[int] = field(default_factory=set)


class World:
    """The computer on which the project lies, the containers on it, and where the next command is given."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.boots = 0
        self.ticks = 100  # since the computer was started
        self.computer = Machine("computer", self._next_boot(), "pid:[0]")
        self.containers: dict[str, Machine] = {}
        self.place = self.computer

    def _next_boot(self) -> str:
        self.boots += 1
        return f"boot-{self.boots}"

    # what the kernel would answer

    def here(self) -> Process:
        return Process(0, "", self.place.boot, self.place.namespace, f"id of {self.place.name}", self.place.name)

    def look(self, pid: int) -> tuple[str, str] | None:
        life = self.place.running.get(pid)
        return ("T" if pid in self.place.stopped else "S", str(life.start)) if life else None

    # what happens

    def begin(self) -> Life:
        """A new process where the next command is given, with the lowest number that is free."""
        place = self.place
        self.ticks += self.chance.randrange(1, 500)
        pid = next(number for number in PIDS if number not in place.running)
        place.running[pid] = Life(pid, self.ticks, place.boot, place.namespace, place.name)
        return place.running[pid]

    def end(self) -> None:
        if self.place.running:
            pid = self.chance.choice(sorted(self.place.running))
            del self.place.running[pid]
            self.place.stopped.discard(pid)

    def stop(self) -> None:
        if self.place.running:
            self.place.stopped.add(self.chance.choice(sorted(self.place.running)))

    def go_on(self) -> None:
        """One that was stopped is let go again."""
        if self.place.stopped:
            self.place.stopped.discard(self.chance.choice(sorted(self.place.stopped)))

    def sleep(self) -> None:
        """The lid is closed for up to eight hours."""
        self.ticks += self.chance.randrange(100, 8 * 3600 * 100)

    def restart(self) -> None:
        """All processes end, those in containers too; the clock since boot begins again."""
        boot, self.ticks = self._next_boot(), 100
        for machine in (self.computer, *self.containers.values()):
            machine.boot, machine.running, machine.stopped = boot, {}, set()

    def raise_container(self) -> None:
        """A container with the next free name; the number of its namespace may have been used before."""
        used = {machine.namespace for machine in self.containers.values()}
        free = [f"pid:[{number}]" for number in NAMESPACES if f"pid:[{number}]" not in used]
        if free:
            name = f"container-{self.chance.randrange(10**9)}"
            self.containers[name] = Machine(name, self.computer.boot, free[0])

    def drop_container(self) -> None:
        if self.containers:
            machine = self.containers.pop(self.chance.choice(sorted(self.containers)))
            if self.place is machine:
                self.place = self.computer

    def move(self) -> None:
        """The next commands are given somewhere else."""
        self.place = self.chance.choice([self.computer, *self.containers.values()])

    # the truth

    def is_alive(self, life: Life) -> bool:
        return any(life in machine.running.values() for machine in (self.computer, *self.containers.values()))

    def died_here(self, life: Life) -> bool:
        """It is over, and whoever looks from here can know it: it ran here, in this boot or in an earlier one."""
        if self.is_alive(life):
            return False
        same_boot = life.boot == self.place.boot
        return life.namespace == self.place.namespace if same_boot else life.machine == self.place.name


EVENTS = {
    World.begin: 6,
    World.end: 4,
    World.stop: 2,
    World.go_on: 1,
    World.sleep: 4,
    World.restart: 1,
    World.raise_container: 2,
    World.drop_container: 1,
    World.move: 4,
}


def live_a_day(world: World, clock: TickingClock, project: Workspace, open: dict[str, Life]) -> None:
    """A few things happen; whoever is started opens a session."""
    for _ in range(world.chance.randrange(1, 5)):
        happening = world.chance.choices(list(EVENTS), list(EVENTS.values()))[0]
        if happening is World.begin:
            if len(world.place.running) < len(PIDS):
                life = world.begin()
                check_at_the_next_command(world, project, open)
                open[holdfast.join(project, pid=life.pid).session.id] = life
        else:
            before = world.ticks
            happening(world)
            pass_time(clock, max(0, world.ticks - before) / TICKS)
        pass_time(clock, world.chance.choice(SILENCES))
        jump_the_clock(world.chance, clock)


def pass_time(clock: TickingClock, seconds: float) -> None:
    """The wall clock goes on with the world, as far as a calendar goes."""
    clock.time += timedelta(seconds=seconds)


def jump_the_clock(chance: random.Random, clock: TickingClock) -> None:
    if chance.random() < 0.2:
        clock.time = chance.choice([*WALLS, *(clock.time + jump for jump in JUMPS)])


def check_at_the_next_command(world: World, project: Workspace, open: dict[str, Life]) -> None:
    """Those who died here are found, those who live are not, and of the rest nobody says anything."""
    expected = {session for session, life in open.items() if world.died_here(life)}
    holdfast.sweep(project)
    with project.reading() as journal:
        still_open = {session.id for session in journal.list_sessions(only_open=True)}
    declared_dead = open.keys() - still_open
    assert [session for session in declared_dead if world.is_alive(open[session])] == []
    assert declared_dead == expected
    for session in declared_dead:
        del open[session]


def live(world: World, clock: TickingClock, project: Workspace, days: int) -> None:
    holdfast.start(project, "a long life")
    open: dict[str, Life] = {}
    for _ in range(days):
        live_a_day(world, clock, project, open)
        check_at_the_next_command(world, project, open)


@pytest.fixture
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    """What Holdfast sees instead of the kernel."""
    world = World(random.Random(request.param))
    monkeypatch.setattr(process, "here", world.here)
    monkeypatch.setattr(process, "_look", world.look)
    return world


@pytest.mark.promise(14)
@pytest.mark.parametrize("world", range(LIVES), indirect=True)
def test_nobody_alive_is_declared_dead_and_every_death_is_found(
    project: Workspace, clock: TickingClock, world: World, figure: Figure
) -> None:
    live(world, clock, project, DAYS)
    sessions = holdfast.sessions(project, every=True, limit=10_000).sessions
    died = [session for session in sessions if session.how == "died"]
    assert len(died) > DAYS // 5
    assert all(session.reason for session in died)
    figure("simulated days", DAYS)
    figure("deaths found", len(died))


def by_its_number(known: Process) -> Judgement:
    """As most programs judge: whether the number is in use."""
    return Judgement(process._look(known.pid) is not None, f"process {known.pid} is gone")


def without_its_namespace(known: Process) -> Judgement:
    """The number and the start time, and not where they mean something."""
    found = process._look(known.pid)
    return Judgement(found is not None and found[1] == known.start, f"process {known.pid} is gone")


@pytest.mark.promise(14)
@pytest.mark.parametrize("world", [0], indirect=True)
@pytest.mark.parametrize("judge", [by_its_number, without_its_namespace])
def test_a_judge_who_knows_less_is_caught_by_the_same_days(
    project: Workspace,
    clock: TickingClock,
    world: World,
    judge: Callable[[Process], Judgement],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(process, "judge", judge)
    with pytest.raises(AssertionError):
        live(world, clock, project, DAYS)
