"""Damaged JSON files of other systems: what is whole is never touched, what is not is named, kept aside and put back.

The tier of every commit reads every damaged file and repairs one of each kind; `-m long` repairs them all.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import holdfast
from holdfast.layouts.json_file import Unreadable, read_json
from holdfast.layouts.orchestrator import SESSION
from holdfast.project.workspace import Workspace
from tests.faber_project import Faber
from tests.faber_states import RUN
from tests.go_team_project import Team
from tests.orchestrator_project import orchestrate
from tests.promises import Figure

pytestmark = pytest.mark.promise(6)

SEED = 6
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")
OF_THE_MOMENT = ("checksum", "elapsed_minutes", "save_trigger", "duration")


class Damage(NamedTuple):
    kind: str
    data: bytes


def torn(data: bytes) -> Iterator[bytes]:
    yield from (data[:at] for at in range(0, len(data) - 2, 64))


def with_nul_blocks(data: bytes) -> Iterator[bytes]:
    for begin in range(0, len(data), 100):
        size = min(200 + begin % 500, len(data) - begin)
        yield data[:begin] + bytes(size) + data[begin + size :]


def with_flipped_bits(data: bytes) -> Iterator[bytes]:
    chance = random.Random(SEED)
    for _ in range(20):
        at = chance.randrange(len(data))
        yield data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def in_another_coding(data: bytes) -> Iterator[bytes]:
    yield from (data.decode().encode(coding) for coding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32"))


def with_a_tail_twice(data: bytes) -> Iterator[bytes]:
    yield from (data + data[-size:] for size in range(3, len(data), len(data) // 8))


def by_two_writers(data: bytes) -> Iterator[bytes]:
    """Two writers in place: a longer version under a shorter one, and pieces of both in turns."""
    other = json.dumps(json.loads(data), indent=None).encode()
    yield other + data[len(other) :]
    for size in (32, 100, 300):
        pieces = [(data, other)[at // size % 2][at : at + size] for at in range(0, len(data), size)]
        yield b"".join(pieces)


KINDS = (torn, with_nul_blocks, with_flipped_bits, in_another_coding, with_a_tail_twice, by_two_writers)


def damaged(data: bytes) -> list[Damage]:
    return [Damage(kind.__name__, bad) for kind in KINDS for bad in kind(data) if bad != data]


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in OF_THE_MOMENT}
    if isinstance(value, list):
        return [timeless(each) for each in value]
    return None if isinstance(value, str) and MOMENT.match(value) else value


class Shown:
    """A run that another system's file shows, whole, with everything that is known of it written there."""

    def __init__(self, workspace: Workspace, run: str, path: Path) -> None:
        self.workspace, self.run, self.path = workspace, run, path
        self.whole = path.read_bytes()

    def is_readable(self) -> bool:
        try:
            read_json(self.path)
        except Unreadable:
            return False
        return True

    def value(self) -> Any:
        """What the file says, but for moments and what was counted up to its writing."""
        return timeless(json.loads(self.path.read_bytes()))

    def others(self) -> set[Path]:
        return {path for path in self.path.parent.iterdir() if path.is_file()}

    def prove(self, damage: Damage) -> None:
        """It is named, nothing overwrites it before a repair; then the file is as it was, and the damaged one aside."""
        expected, before = timeless(json.loads(self.whole)), self.others()
        self.path.write_bytes(damage.data)
        found = holdfast.verify(self.workspace)
        assert [problem.where for problem in found.faces] == [str(self.path.relative_to(self.workspace.root))], damage
        holdfast.status(self.workspace)
        assert self.path.read_bytes() == damage.data, "left alone"
        done = holdfast.repair(self.workspace, self.run)
        assert done.changed
        assert self.value() == expected, damage
        aside = self.others() - before
        assert [path.read_bytes() for path in aside] == [damage.data], "the damaged original is kept"
        assert holdfast.verify(self.workspace).faces == []
        for path in aside:
            path.unlink()
        self.whole = self.path.read_bytes()


def shown_by_faber(project: Workspace, faber: Faber) -> Shown:
    faber.put()
    faber.load()
    return Shown(project, RUN, faber.path)


def shown_by_the_orchestrator(project: Workspace, faber: Faber) -> Shown:
    (project.root / ".fractary/faber/.active-run-id").unlink(missing_ok=True)
    run = orchestrate(project).id
    holdfast.decide(project, "Retry three times", because="more is rude")
    holdfast.add_task(project, "Write the tests")
    return Shown(project, run, project.root / SESSION)


def shown_by_the_team(project: Workspace, faber: Faber) -> Shown:
    team = Team(project)
    run = team.begin().id
    team.work("init")
    return Shown(project, run, team.directory(run) / "state.json")


SYSTEMS = (shown_by_faber, shown_by_the_orchestrator, shown_by_the_team)


@pytest.fixture(params=SYSTEMS, ids=lambda system: system.__name__)
def shown(request: pytest.FixtureRequest, project: Workspace, faber: Faber) -> Shown:
    found: Shown = request.param(project, faber)
    return found


def test_there_are_many_damaged_files_and_each_is_whole_or_is_called_unreadable(shown: Shown) -> None:
    cases = damaged(shown.whole)
    assert len(cases) >= 50
    assert {case.kind for case in cases} == {kind.__name__ for kind in KINDS}
    readable = []
    for case in cases:
        shown.path.write_bytes(case.data)
        if shown.is_readable():
            readable.append(case.kind)
    shown.path.write_bytes(shown.whole)
    assert set(readable) <= {"with_flipped_bits"}, "a flipped bit can make another letter of one; no other damage reads"


def test_a_mark_of_the_byte_order_is_no_damage(shown: Shown) -> None:
    shown.path.write_bytes(b"\xef\xbb\xbf" + shown.whole)
    assert holdfast.verify(shown.workspace).faces == []
    assert holdfast.repair(shown.workspace, shown.run).lost == []


def test_one_of_each_kind_is_named_kept_aside_and_put_back(shown: Shown) -> None:
    chance = random.Random(SEED)
    for kind in KINDS:
        cases = [case for case in damaged(shown.whole) if case.kind == kind.__name__]
        chance.shuffle(cases)
        for case in cases:
            shown.path.write_bytes(case.data)
            if not shown.is_readable():
                shown.prove(case)
                break


@pytest.mark.long
def test_every_damaged_file_is_named_kept_aside_and_put_back(shown: Shown, figure: Figure) -> None:
    proven = 0
    for case in damaged(shown.whole):
        shown.path.write_bytes(case.data)
        if not shown.is_readable():
            shown.prove(case)
            proven += 1
    assert proven >= 40, "of the smallest; a flipped bit seldom makes a file unreadable"
    figure("damaged files of other systems", proven)
