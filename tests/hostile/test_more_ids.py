"""Promise 21: hostile ids that others choose: an agent's, a team's, an orchestrator's, and names of checkpoints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from holdfast.core import ids
from holdfast.layouts.orchestrator import SESSION
from holdfast.layouts.orchestrator.files import name_of
from tests.file_trees import tree_of
from tests.hook_calls import keep_by_hand
from tests.hostile.conftest import RUN
from tests.hostile.test_ids import CLEAR, IDS, check
from tests.promises import Figure
from tests.surfaces.in_process import call

pytestmark = pytest.mark.promise(21)


@pytest.mark.parametrize("door", ["session_id", "tool_use_id", "agent_id"])
def test_hostile_ids_of_an_agent_are_taken_in_and_change_nothing_outside_the_store(
    door: str, target: Path, home: Path, figure: Figure
) -> None:
    before, inbox = tree_of(target, home, without=target / ".git/holdfast"), target / ".git/holdfast/inbox"
    inbox.mkdir(mode=0o700, exist_ok=True)
    for number, id in enumerate(IDS, 1):
        told = {"session_id": "s", "hook_event_name": "PostToolUseFailure", "cwd": str(target), "tool_name": "Bash"}
        call_of = {**told, "tool_input": {"command": "true"}, "tool_use_id": f"t{number}", "error": "no", door: id}
        data = json.dumps(call_of).encode("utf-8", "backslashreplace")
        keep_by_hand(inbox, data, monotonic=number, agent="claude", event="PostToolUseFailure")
    assert call("sweep", directory=target).ok()
    check(call("log", "--run", RUN, directory=target), "")
    check(call("sessions", "--json", directory=target), "")
    assert tree_of(target, home, without=target / ".git/holdfast") == before
    figure("hostile ids of an agent", len(IDS))


@pytest.mark.parametrize(
    "arguments",
    [["checkpoints", "show", "--"], ["restore", "--dry-run", "--"]],
    ids=["show", "restore"],
)
def test_a_hostile_name_of_a_checkpoint_gets_a_clear_answer(
    arguments: list[str], target: Path, home: Path, figure: Figure
) -> None:
    before = tree_of(target, home, without=target / ".git/holdfast")
    for id in IDS:
        check(call(*arguments, id, directory=target), id)
    assert tree_of(target, home, without=target / ".git/holdfast") == before
    figure("hostile names of checkpoints", len(IDS))


def test_checkpoints_with_hostile_names_are_kept_by_ids_of_our_own(target: Path, home: Path) -> None:
    before = tree_of(target, home, without=target / ".git")
    for id in IDS[:: len(IDS) // 40]:
        check(call("checkpoint", "--", id, directory=target), id)
    assert tree_of(target, home, without=target / ".git") == before
    listed = call("checkpoints", "--json", directory=target).ok().json["checkpoints"]
    assert all(re.fullmatch(r"cp-[a-z0-9]+", point["id"]) for point in listed)


def test_hostile_sessions_of_a_team_change_nothing_outside_their_directory(target: Path, home: Path) -> None:
    assert call("start", "goal", "--layout=go-team", directory=target).ok()
    team = target / "checkpoints"
    before = tree_of(target, home, without=team)
    registry = json.loads((team / "sessions.json").read_text())
    entry = registry["sessions"][0]
    registry["sessions"] += [{**entry, "id": id} for id in IDS]
    (team / "sessions.json").write_text(json.dumps(registry))
    for arguments in (["status"], ["runs"], ["command", "*sessions"], ["cleanup"]):
        assert call(*arguments, directory=target).code in CLEAR
    after = tree_of(target, home, without=team)
    assert {
        path for path in before | after if before.get(path) != after.get(path) and "/.git/holdfast" not in path
    } == set()
    assert {path.parent for path in team.rglob("*.json")} <= {team, *team.iterdir()}


def test_distinct_sessions_of_an_orchestrator_are_distinct_runs(figure: Figure) -> None:
    names = {id: name_of(id) for id in IDS}
    assert len({ids.file_name(name) for name in names.values()}) == len(names)
    assert all(ids.is_safe(name) for name in names.values())
    figure("hostile ids of an orchestrator", len(names))


def test_hostile_sessions_of_an_orchestrator_change_nothing_outside_their_directory(target: Path, home: Path) -> None:
    (target / ".claude").mkdir()
    before = tree_of(target, home, without=target / ".git/holdfast")
    for id in IDS[:: len(IDS) // 40]:
        told = {"schema_version": "1.0", "session_id": id, "goal": "goal", "status": "complete"}
        (target / SESSION).write_text(json.dumps(told))
        assert call("status", directory=target).code in CLEAR
    after = tree_of(target, home, without=target / ".git/holdfast")
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    assert all(path.startswith(str(target / ".claude")) for path in changed), changed
