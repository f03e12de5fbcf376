"""Break the writing of a face at the calls by which it changes anything: the old version is there, or the new one.

The tier of every commit tries a few points; `-m long` tries more, `-m hours` all, in every mode.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.crash.cases import environment
from tests.crash.modes import FAILURES, KILLS, each_tier
from tests.faber_states import with_a_session
from tests.faults import powercut, tracer
from tests.faults.explorer import explore
from tests.faults.report import Outcome

NEW = {"sessions": {"current_session_id": None}, "updated_at": "later"}
OLDER = b'{"run_id": "of an earlier save"}'
MODE = 0o640
WRITE = f"""
import sys
from pathlib import Path
from holdfast.core.errors import HoldfastError
from holdfast.layouts.json_file import read_json, with_members, write_json
face = read_json(Path("state.json"))
try:
    for warning in write_json(face, with_members(face, {NEW!r})):
        print(warning)
except HoldfastError as error:
    sys.exit(f"holdfast: {{error.message}}")
"""

needs_tracer = pytest.mark.skipif(tracer.available() is not None, reason=f"NOT PROVED HERE: {tracer.available()}")


def a_state_with_a_backup(directory: Path) -> None:
    state = directory / "state.json"
    state.write_text(json.dumps(with_a_session(), indent=2))
    state.chmod(MODE)
    (directory / "state.json.backup").write_bytes(OLDER)


def write(directory: Path) -> Sequence[str]:
    settings = [f"{name}={value}" for name, value in environment(directory).items()]
    return ["env", "-i", "-C", str(directory), *settings, sys.executable, "-c", WRITE]


def is_whole(outcome: Outcome) -> None:
    """The old version or the new one, complete and in its mode; what was acknowledged is the new one."""
    path = outcome.directory / "state.json"
    old = with_a_session()
    found = json.loads(path.read_bytes())
    assert found in (old, {**old, **NEW}), "neither the old version nor the new one"
    assert path.stat().st_mode & 0o777 == MODE, "another mode"
    backup = (outcome.directory / "state.json.backup").read_bytes()
    assert backup in (OLDER, json.dumps(old, indent=2).encode()), "half a backup"
    if outcome.acknowledged():
        assert found != old, "acknowledged and lost"
        assert backup != OLDER or "Could not create backup" in outcome.stdout, "no backup, and no word of it"
    elif not outcome.killed and outcome.mode not in KILLS:
        assert "holdfast:" in outcome.stderr, f"exit {outcome.returncode} without a sentence: {outcome.stderr[-300:]}"


def break_it(modes: tuple[str, ...], points: int | None) -> None:
    explore(prepare=a_state_with_a_backup, command=write, check=is_whole, modes=modes, points=points).assert_clean()


@needs_tracer
@pytest.mark.promise(1)
def test_a_kill_leaves_the_old_version_or_the_new_one() -> None:
    break_it(KILLS, points=12)


@needs_tracer
@pytest.mark.promise(5)
def test_a_failing_system_call_leaves_a_whole_version_and_is_told() -> None:
    break_it(FAILURES, points=4)


@each_tier(20)
@needs_tracer
@pytest.mark.promise(1)
def test_a_kill_at_any_point_leaves_the_old_version_or_the_new_one(points: int | None) -> None:
    break_it(KILLS, points=points)


@each_tier(8)
@needs_tracer
@pytest.mark.promise(5)
def test_any_failing_system_call_leaves_a_whole_version_and_is_told(points: int | None) -> None:
    break_it(FAILURES, points=points)


@pytest.mark.long
@pytest.mark.promise(2)
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_an_acknowledged_version_survives_every_power_cut(filesystem: str) -> None:
    if reason := powercut.available(filesystem):
        pytest.skip(f"NOT PROVED HERE: {reason}")
    powercut.cut_everywhere(
        prepare=a_state_with_a_backup, command=write, check=is_whole, filesystem=filesystem, points=None
    ).assert_clean()
