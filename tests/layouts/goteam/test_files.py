"""A Go Team file that somebody else has changed is taken in; one that is damaged is told of, left alone, repaired."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.core.model import Event, Status
from holdfast.layouts.goteam.files import Edited
from holdfast.layouts.goteam.reconcile import open_files, synchronize
from holdfast.project.workspace import Workspace
from tests.go_team_project import Team, demonstration, put
from tests.sessions import run_of, saving_in_between

DEMO = "test-session-001"
Change = Callable[[Any], None]


@pytest.fixture
def team(project: Workspace) -> Team:
    return Team(project)


def edit(team: Team, name: str, change: Change, run: str | None = None) -> Any:
    """Change a file as somebody else would, and answer with what it held before."""
    path = team.root / name if name == "sessions.json" else team.directory(run) / name
    value = json.loads(path.read_text("utf-8"))
    before = json.loads(json.dumps(value))
    change(value)
    put(path, value)
    return before


def events(team: Team, kind: str) -> list[Event]:
    return [event for event in holdfast.log(team.project, run=run_of(team.project).id).events if event.kind == kind]


# What somebody else changed


def test_what_somebody_else_changed_in_the_live_state_is_taken_in(team: Team) -> None:
    team.begin()
    team.work("init")

    def change(state: Any) -> None:
        state["state"] |= {"current_agent": "reviewer-agent", "breakpoint_active": True, "max_iterations": 7}
        state["state"] |= {"iteration_count": 2, "phase": "architecture", "topic": "another topic"}
        state["state"]["metrics"] |= {"test_coverage": 81, "security": "PASSED"}
        state["context"] |= {"last_action": "Drawing", "current_file": "docs/plan.md", "current_line": 12}
        state["context"]["pending_tasks"].append("Wire DI")
        state["outputs"] |= {"spec": "# Theirs", "review_comments": ["rename it"]}
        state["outputs"]["code_files"].append("cmd/main.go")
        state["recovery_point"]["actions_since_checkpoint"] = 4

    edit(team, "state.json", change)
    found = run_of(team.project)
    standing = found.standing
    assert (standing.agent, standing.is_waiting, standing.most_iterations) == ("reviewer-agent", True, 7)
    assert (standing.iterations, found.goal) == (2, "another topic")
    assert [step.name for step in found.steps if step.status == "active"] == ["architecture"]
    assert standing.metrics == {"test_coverage": 81, "security": "PASSED"}
    assert (found.actions[-1].text, standing.file, standing.line) == ("Drawing", "docs/plan.md", 12)
    assert [task.text for task in found.open_tasks] == ["Wire DI"]
    assert (standing.outputs["spec"], standing.outputs["review_comments"]) == ("# Theirs", ["rename it"])
    (told,) = events(team, "face.edited")
    assert told.body["file"] == "state.json"
    assert told.body["fields"]["state.metrics.test_coverage"] == 81
    after = team.read("state.json")
    assert after["state"]["metrics"]["test_coverage"] == 81
    assert after["outputs"]["code_files"][:2] == ["init.go", "cmd/main.go"]
    assert after["recovery_point"]["actions_since_checkpoint"] == 4
    assert team.entry()["topic"] == "another topic"


def test_a_file_that_nobody_changed_makes_no_event(team: Team) -> None:
    team.begin()
    team.work("init")
    before = run_of(team.project).seq
    for path in team.directory().glob("*.json"):
        os.utime(path)
        path.write_text(json.dumps(json.loads(path.read_text("utf-8"))))
    edit(team, "sessions.json", lambda registry: None)
    holdfast.status(team.project)
    assert run_of(team.project).seq == before


def test_what_a_stale_copy_lacks_is_kept_and_what_it_adds_is_taken_in(team: Team) -> None:
    team.begin()
    holdfast.add_task(team.project, "one")
    stale = team.read("state.json")
    holdfast.add_task(team.project, "two")
    holdfast.handoff(team.project, "go-coder-agent")
    holdfast.metric(team.project, "test_coverage", "50")
    stale["context"]["pending_tasks"] = ["one", "theirs"]
    put(team.directory() / "state.json", stale)
    found = run_of(team.project)
    assert [task.text for task in found.open_tasks] == ["one", "two", "theirs"]
    assert (found.standing.agent, found.standing.metrics) == ("go-coder-agent", {"test_coverage": 50})
    assert team.read("state.json")["context"]["pending_tasks"] == ["one", "two", "theirs"]


def test_a_task_that_was_taken_out_of_our_version_is_dropped(team: Team) -> None:
    team.begin()
    holdfast.add_task(team.project, "one")
    holdfast.add_task(team.project, "two")
    edit(team, "state.json", lambda state: state["context"]["pending_tasks"].remove("one"))
    assert [task.text for task in run_of(team.project).open_tasks] == ["two"]


def test_a_tool_that_knows_only_the_document_takes_nothing_away(team: Team) -> None:
    """It writes the whole file from its own memory, without our keys, under an old time or a new one."""
    team.begin()
    holdfast.add_task(team.project, "one")
    holdfast.handoff(team.project, "go-coder-agent")
    written = team.read("state.json")
    del written["holdfast_event"]
    written["context"]["pending_tasks"] = ["theirs"]
    put(team.directory() / "state.json", written)
    assert [task.text for task in run_of(team.project).open_tasks] == ["one", "theirs"]
    written["saved_at"], written["state"]["current_agent"] = "2020-01-01T00:00:00Z", "orchestrator"
    written["context"]["pending_tasks"] = ["older"]
    put(team.directory() / "state.json", written)
    assert [task.text for task in run_of(team.project).open_tasks] == ["one", "theirs", "older"]
    assert run_of(team.project).standing.agent == "go-coder-agent"


def test_an_old_copy_of_the_registry_turns_no_status_back(team: Team) -> None:
    team.begin()
    holdfast.pause(team.project)
    stale = team.registry()
    run = stale["sessions"][0]["id"]
    holdfast.resume(team.project, run)
    put(team.root / "sessions.json", stale)
    assert run_of(team.project, run).status is Status.ACTIVE
    assert team.entry(run)["status"] == "active"
    edit(team, "sessions.json", lambda registry: registry["sessions"][0].update(status="paused"))
    assert run_of(team.project, run).status is Status.PAUSED
    edit(team, "sessions.json", lambda registry: registry["sessions"][0].update(status="active"))
    assert run_of(team.project, run).status is Status.ACTIVE


def test_an_edit_of_what_was_done_is_no_sign_of_life(team: Team) -> None:
    team.begin()
    holdfast.pause(team.project)
    run = team.registry()["sessions"][0]["id"]
    edit(team, "state.json", lambda state: state["context"].update(last_action="a better word"), run)
    found = run_of(team.project, run)
    assert (found.actions[-1].text, found.status) == ("a better word", Status.PAUSED)


def test_a_checkpoint_that_somebody_else_declared_invalid_is_left_behind(team: Team) -> None:
    team.begin()
    team.work("init", "requirements")

    def change(manifest: Any) -> None:
        manifest["checkpoints"][1] |= {"valid": False, "invalidated_by": "their-rollback", "corrupted_at": "now"}
        manifest["rollback_history"].append(RECORD)

    edit(team, "manifest.json", change)
    found = run_of(team.project)
    assert [kept.invalidated_by for kept in found.standing.kept] == [None, "their-rollback"]
    assert [known.id for known in found.standing.rollbacks] == ["their-rollback"]
    assert team.entry()["progress"]["steps_completed"] == 1
    listed = team.read("manifest.json")["checkpoints"][1]
    assert (listed["valid"], listed["corrupted_at"]) == (False, "now")
    (record,) = team.read("rollback-history.json")["history"]
    assert (record["id"], record["timestamp"], record["to_step"]) == ("their-rollback", "2025-12-28T22:00:00Z", 1)
    edit(team, "manifest.json", lambda manifest: manifest["checkpoints"][1].update(valid=True))
    assert run_of(team.project).standing.kept[1].is_valid


RECORD = {
    "id": "their-rollback", "timestamp": "2025-12-28T22:00:00Z", "from_checkpoint": "cp-02", "from_step": 2,
    "to_checkpoint": "cp-01", "to_step": 1, "reason": "observer_requested", "who": "the observer",
}  # fmt: skip


def test_rollbacks_that_somebody_else_recorded_are_taken_in_with_their_own_keys(team: Team) -> None:
    team.begin()
    edit(team, "rollback-history.json", lambda history: history["history"].append(RECORD))
    assert [known.id for known in run_of(team.project).standing.rollbacks] == ["their-rollback"]
    team.work("init")
    assert team.read("rollback-history.json")["history"] == [RECORD]


def test_the_rollbacks_of_a_session_that_is_taken_in_are_kept(team: Team) -> None:
    directory = demonstration(team.root)
    put(directory / "rollback-history.json", {"session_id": DEMO, "history": [RECORD], "theirs": 1})
    assert [known.id for known in run_of(team.project, DEMO).standing.rollbacks] == ["their-rollback"]
    assert team.read("rollback-history.json", DEMO) == {"session_id": DEMO, "history": [RECORD], "theirs": 1}


def test_a_checkpoint_that_somebody_elses_tool_put_there_is_taken_in(team: Team) -> None:
    run = team.begin().id
    team.work("init")
    theirs = demonstration(team.project.root / "elsewhere")
    point = json.loads((theirs / "cp-02-requirements-20251228-211500.json").read_text())
    put(team.directory(run) / f"{point['id']}.json", {**point, "session_id": run})
    found = run_of(team.project)
    assert [kept.number for kept in found.standing.kept] == ["01", "02"]
    assert found.standing.outputs["spec"] == "# The spec"
    assert team.entry()["progress"]["steps_completed"] == 2
    shutil.rmtree(theirs.parent)


def test_a_checkpoints_file_that_was_changed_is_told_of_and_counts_no_more_where_it_says_so(team: Team) -> None:
    team.begin()
    team.work("init")
    (name,) = team.points()
    edit(team, f"{name}.json", lambda point: point.update(valid=False, step_name="another", note="theirs"))
    assert run_of(team.project).standing.kept[0].invalidated_by == f"{name}.json"
    (told,) = events(team, "face.edited")
    assert told.body == {"file": f"{name}.json", "fields": {"step_name": "another"}}
    holdfast.action(team.project, "on")
    assert team.read(f"{name}.json")["note"] == "theirs"


@pytest.mark.parametrize("name", ["state.json", "manifest.json", "rollback-history.json", "recovery.json"])
def test_what_others_put_into_a_file_stays_at_the_root_and_in_every_entry(team: Team, name: str) -> None:
    team.begin()
    team.work("init", "requirements")
    holdfast.rollback(team.project, "1")
    holdfast.fail_step(team.project, "requirements", error="red")
    places = {
        "state.json": ("state", "context", "outputs", "recovery_point"),
        "manifest.json": ("checkpoints", "rollback_history"),
        "rollback-history.json": ("history",),
        "recovery.json": ("last_known_state", "recovery_options", "git_state"),
    }

    def change(value: Any) -> None:
        value["theirs"] = {"a": [1, None]}
        for place in places[name]:
            entry = value[place][0] if isinstance(value[place], list) else value[place]
            entry["theirs"] = {"a": [1, None]}

    edit(team, name, change)
    holdfast.action(team.project, "on")
    holdfast.fail_step(team.project, "requirements", error="still red")
    value = team.read(name)
    for entry in (value, *(value[place] for place in places[name])):
        assert (entry[0] if isinstance(entry, list) else entry)["theirs"] == {"a": [1, None]}


def test_what_no_run_can_hold_stays_as_it_is(team: Team) -> None:
    team.begin()

    def change(state: Any) -> None:
        state["outputs"] |= {"spec": {"title": "x"}, "review_comments": [{"line": 3}, "plain"], "extra": 7}
        state["state"]["metrics"]["by_package"] = {"a": 1}
        state["context"]["pending_tasks"] = [{"id": 1, "text": "structured"}]

    edit(team, "state.json", change)
    holdfast.output(team.project, "review_comments", "ours\n")
    found = team.read("state.json")
    assert (found["outputs"]["spec"], found["outputs"]["extra"]) == ({"title": "x"}, 7)
    assert found["outputs"]["review_comments"] == ["ours", {"line": 3}]
    assert found["state"]["metrics"]["by_package"] == {"a": 1}
    assert found["context"]["pending_tasks"] == [{"id": 1, "text": "structured"}]


@pytest.mark.promise(13)
def test_what_others_save_in_the_moment_in_which_a_recovery_file_goes_comes_back(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.begin()
    holdfast.fail_step(team.project, "init", error="red")
    path = team.directory() / "recovery.json"
    theirs = {**team.read(path.name), "theirs": 1}
    saving_in_between(monkeypatch, path.name, lambda: put(path, theirs))
    holdfast.start_step(team.project, "init")
    assert not (team.directory() / "recovery.json").exists()
    holdfast.fail_step(team.project, "init", error="red again")
    assert team.read("recovery.json")["theirs"] == 1


def test_what_others_put_into_a_recovery_file_comes_back_with_the_next_one(team: Team) -> None:
    team.begin()
    holdfast.fail_step(team.project, "init", error="red")
    edit(team, "recovery.json", lambda recovery: recovery.update(theirs=1))
    holdfast.start_step(team.project, "init")
    assert not (team.directory() / "recovery.json").exists()
    holdfast.fail_step(team.project, "init", error="red again")
    assert team.read("recovery.json")["theirs"] == 1


def test_sessions_of_a_registry_by_id_that_nobody_can_take_in_stay(team: Team) -> None:
    team.root.mkdir()
    put(team.root / "sessions.json", {"sessions": {"elsewhere": {"topic": "theirs"}}})
    run = team.begin().id
    assert [entry["id"] for entry in team.registry()["sessions"]] == ["elsewhere", run]
    assert team.registry()["sessions"][0]["topic"] == "theirs"


def test_code_files_go_on_filling_themselves_after_somebody_listed_some(team: Team) -> None:
    team.begin()
    holdfast.output(team.project, "code_files", "cmd/main.go\n")
    holdfast.action(team.project, "Writing auth.go", files=("auth.go", "auth_test.go"))
    outputs = team.read("state.json")["outputs"]
    assert (outputs["code_files"], outputs["test_files"]) == (["cmd/main.go", "auth.go"], ["auth_test.go"])


# Damage


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def no_json(path: Path) -> None:
    path.write_text("once upon a time")


def other_types(path: Path) -> None:
    keys = ("state", "checkpoints", "history", "sessions", "recovery_options")
    value = json.loads(path.read_text("utf-8"))
    put(path, {**value, **{key: 7 for key in keys if key in value}})


def another_session(path: Path) -> None:
    value = json.loads(path.read_text("utf-8"))
    put(path, {**value, "session_id": "session-other"} if "session_id" in value else [])


def huge(path: Path) -> None:
    os.truncate(path, 20 * 1024 * 1024)


def link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def twice(path: Path) -> None:
    path.write_text('{"one": 1, "one": 2, ' + path.read_text("utf-8").lstrip()[1:])


DAMAGES = [torn, no_json, other_types, another_session, huge, link, pipe, directory, twice]
NAMES = ["state.json", "manifest.json", "rollback-history.json", "recovery.json", "sessions.json", "cp"]


def place_of(team: Team, name: str) -> Path:
    if name == "sessions.json":
        return team.root / name
    return team.directory() / (f"{team.points()[0]}.json" if name == "cp" else name)


def as_it_stands(path: Path) -> tuple[int, int, bytes | None]:
    found = os.lstat(path)
    return found.st_ino, found.st_mode, path.read_bytes() if path.is_file() else None


MOMENTS = ("saved_at", "updated_at", "interrupted_at", "state", "holdfast_event")


def told(path: Path) -> Any:
    """What a file says, but for the moments at which it was written."""
    value = json.loads(path.read_text("utf-8"))
    for entry in value.get("sessions", []):
        del entry["updated_at"]
    return {key: value[key] for key in value if key not in MOMENTS}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", [torn, link, other_types])
def test_a_damaged_file_is_told_of_left_alone_and_repaired_once(
    team: Team, name: str, damage: Callable[[Path], None]
) -> None:
    hurt(team, name, damage)


@pytest.mark.parametrize("damage", [no_json, another_session, huge, pipe, directory, twice])
def test_every_kind_of_damage_is_repaired(team: Team, damage: Callable[[Path], None]) -> None:
    hurt(team, "state.json", damage)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_of_every_file_is_repaired(team: Team, name: str, damage: Callable[[Path], None]) -> None:
    hurt(team, name, damage)


def hurt(team: Team, name: str, damage: Callable[[Path], None]) -> None:
    run = team.begin().id
    team.work("init")
    holdfast.fail_step(team.project, "requirements", error="red")
    path = place_of(team, name)
    if name != "cp":
        edit(team, path.name, lambda value: value.update(theirs=1))
        holdfast.note(team.project, "read")
    good = told(path)
    damage(path)
    before = as_it_stands(path)
    shown = str(path.relative_to(team.project.root))
    team.project.warnings.clear()
    holdfast.note(team.project, "kept all the same")
    assert any(f"{shown} cannot be read" in warning for warning in holdfast.status(team.project).warnings)
    assert [problem.where for problem in holdfast.verify(team.project).faces] == [shown]
    checks = [check for check in holdfast.doctor(team.project).checks if check.name == "go-team files"]
    assert [shown in check.about for check in checks] == [True]
    assert as_it_stands(path) == before
    found = holdfast.repair(team.project, run)
    assert (found.changed, [made.path for made in found.files]) == (True, [shown])
    assert as_it_stands(team.project.root / found.files[0].aside) == before
    assert told(path) == good
    stands = sorted(place.name for place in path.parent.iterdir())
    for _ in range(2):
        again = holdfast.repair(team.project, run)
        assert (again.changed, again.files, again.lost) == (False, [], [])
    assert sorted(place.name for place in path.parent.iterdir()) == stands
    assert holdfast.verify(team.project).faces == []
    team.project.warnings.clear()
    assert holdfast.status(team.project).warnings == []


def test_a_repair_takes_in_what_can_still_be_read_and_says_what_cannot(team: Team) -> None:
    run = team.begin().id
    edit(team, "state.json", lambda state: state["context"]["pending_tasks"].append("theirs"))
    path = team.directory(run) / "state.json"
    text = path.read_text("utf-8")
    path.write_text(text[: text.index('"outputs"') + 30])
    found = holdfast.repair(team.project, run)
    assert found.lost == ["what somebody else may have changed in state.json, at outputs, recovery_point"]
    assert [task.text for task in run_of(team.project).open_tasks] == ["theirs"]
    assert team.read("state.json")["context"]["pending_tasks"] == ["theirs"]


def test_a_damaged_checkpoint_of_somebody_else_is_made_from_what_the_journal_knows(team: Team) -> None:
    path = demonstration(team.root) / "cp-02-requirements-20251228-211500.json"
    holdfast.status(team.project)
    torn(path)
    found = holdfast.repair(team.project, DEMO)
    assert found.lost == [f"what {path.name} held beside what the journal knows of it"]
    assert json.loads(path.read_text("utf-8"))["outputs"]["spec"] == "# The spec"
    assert holdfast.repair(team.project, DEMO).changed is False


def test_a_directory_that_became_something_else_is_put_aside_and_made_anew(team: Team) -> None:
    run = team.begin().id
    team.work("init")
    elsewhere = team.project.root / "moved"
    team.directory(run).rename(elsewhere)
    team.directory(run).symlink_to(elsewhere)
    found = holdfast.repair(team.project, run)
    assert [made.why for made in found.files] == ["It is not a directory"]
    assert team.read("state.json", run)["session_id"] == run
    assert len(team.points(run)) == 1
    assert holdfast.repair(team.project, run).changed is False


def test_a_repair_of_a_whole_run_has_nothing_to_do(team: Team) -> None:
    run = team.begin().id
    found = holdfast.repair(team.project, run)
    assert (found.path, found.changed, found.files) == (f"checkpoints/{run}", False, [])


STRANGE = [
    "1",
    "[]",
    "{}",
    "null",
    '"x"',
    "true",
    "[{}]",
    '[{"id": {}}]',
    '{"id": []}',
    "1e400",
    '"\\u001b[31m\\u0000"',
]


FILLED = ["state.json", "manifest.json", "rollback-history.json", "sessions.json", "cp"]


@pytest.mark.parametrize("name", FILLED)
def test_a_strange_value_anywhere_in_a_file_breaks_nothing(team: Team, name: str) -> None:
    """Every value of the file is replaced by one of another kind; what that means, nobody has to know."""
    spoil(team, name, lambda number: [STRANGE[number % len(STRANGE)]])


@pytest.mark.long
@pytest.mark.parametrize("name", FILLED)
def test_every_strange_value_anywhere_in_a_file_breaks_nothing(team: Team, name: str) -> None:
    spoil(team, name, lambda number: STRANGE)


def spoil(team: Team, name: str, chosen: Callable[[int], list[str]]) -> None:
    run = team.begin().id
    team.work("init")
    if name == "rollback-history.json":
        holdfast.action(team.project, "on")
        holdfast.rollback(team.project, "1")
    path = place_of(team, name)
    good = json.loads(path.read_text("utf-8"))
    for number, place in enumerate(list(places(good))):
        for text in chosen(number):
            path.write_text(with_value(good, place, text))
            follow(team)
    assert run_of(team.project, run).layout == "go-team"
    assert all("\x1b" not in warning for warning in team.project.warnings)


def follow(team: Team) -> None:
    team.project.warnings.clear()
    synchronize(team.project)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def with_value(value: Any, place: tuple[str | int, ...], text: str) -> str:
    inner = copied = json.loads(json.dumps(value))
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = "@@"
    return json.dumps(copied).replace('"@@"', text)


def test_somebody_who_writes_all_the_time_and_we_do_not_lose_each_others_words(team: Team) -> None:
    """He reads the live state, adds a task and renames his version over ours; we go on acting meanwhile."""
    run = team.begin().id
    path, number, begun = team.directory(run) / "state.json", 25, threading.Semaphore(0)

    def write() -> None:
        for task in range(number):
            assert begun.acquire(timeout=30)
            value = json.loads(path.read_text("utf-8"))
            value["context"]["pending_tasks"].append(f"theirs {task}")
            put(path.with_name("theirs.tmp"), value)
            path.with_name("theirs.tmp").rename(path)

    other = threading.Thread(target=write)
    other.start()
    for action in range(number):
        begun.release()
        holdfast.action(team.project, f"ours {action}")
    other.join()
    found = run_of(team.project)
    assert {task.text for task in found.open_tasks} == {f"theirs {task}" for task in range(number)}
    assert [action.text for action in found.actions if action.text.startswith("ours")][-1] == f"ours {number - 1}"
    assert found.standing.actions == number
    holdfast.status(team.project)
    assert len(team.read("state.json")["context"]["pending_tasks"]) == number


def test_what_was_changed_after_it_was_read_is_never_overwritten_unread(team: Team) -> None:
    team.begin()
    holdfast.fail_step(team.project, "init", error="red")
    state, recovery = team.directory() / "state.json", team.directory() / "recovery.json"
    with open_files(team.project) as shelf:
        for path in (state, recovery, team.root / "sessions.json"):
            put(path, {**json.loads(path.read_text("utf-8")), "theirs": 1})
        before = [path.read_bytes() for path in (state, recovery, team.root / "sessions.json")]
        with pytest.raises(Edited):
            shelf.put(state, {"session_id": "x"})
        with pytest.raises(Edited):
            shelf.remove(recovery, {})
        with pytest.raises(Edited):
            shelf.put_registry([], None, set())
        with pytest.raises(Edited):
            shelf.put_bytes(state, b"{}", b"ours")
    assert [path.read_bytes() for path in (state, recovery, team.root / "sessions.json")] == before
