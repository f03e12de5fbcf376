"""What broke FABER in practice, and the edge cases of its files: each by its name, through the verbs."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.errors import WorkflowError
from holdfast.layouts.json_file import Changed
from holdfast.project.workspace import Workspace
from tests.conftest import TickingClock
from tests.faber_project import Faber, artifact, outcomes, text
from tests.faber_states import (
    ACTIVE,
    OLD_ACTIVE,
    RUN,
    RUNS,
    a_record,
    a_state,
    phases_as_object,
    phases_by_phase_name,
    put,
    with_a_session,
)
from tests.sessions import a_worktree

# State reading

UNREADABLE: dict[str, tuple[bytes, str]] = {
    "empty file": (b"", "The file is empty"),
    "white space": (b" \r\n\t", "The file is empty"),
    "null": (b"null", "It holds null where an object belongs"),
    "array root": (b"[{}]", "It holds an array where an object belongs"),
    "cut short": (b'{"run_id": "x"', "Invalid JSON at line 1: Expecting ',' delimiter"),
    "not UTF-8": (b'{"run_id": "\xff"}', "It is not UTF-8 at byte 12"),
    "nested without end": (b'{"a": ' + b"[" * 100_000, "It is nested too deeply"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_state_reading_a_file_that_is_no_state_is_told_and_left(name: str, faber: Faber) -> None:
    data, why = UNREADABLE[name]
    faber.put("")
    faber.path.write_bytes(data)
    for verb, message in ((faber.load, "Cannot read state file"), (faber.save, "Cannot parse state file")):
        with pytest.raises(WorkflowError, match=message) as raised:
            verb()
        assert dict(raised.value.facts)["Error"] == why
    assert faber.path.read_bytes() == data


READABLE: dict[str, Callable[[str], bytes]] = {
    "BOM": lambda state: b"\xef\xbb\xbf" + state.encode(),
    "CRLF": lambda state: state.replace("\n", "\r\n").encode(),
    "10 MB": lambda state: json.dumps({**json.loads(state), "log": ["x" * 1000] * 10_000}).encode(),
}


@pytest.mark.parametrize("name", READABLE)
def test_state_reading_a_state_of_this_form_is_loaded_and_saved(name: str, faber: Faber) -> None:
    faber.put("")
    faber.path.write_bytes(READABLE[name](json.dumps(a_state(), indent=2)))
    faber.workflow(text())
    assert (faber.load().written, faber.save().changed) == (True, True)


def test_state_reading_a_directory_in_place_of_the_file(faber: Faber) -> None:
    faber.path.mkdir(parents=True)
    with pytest.raises(WorkflowError, match="Run not found"):
        faber.load()
    with pytest.raises(WorkflowError, match="Workflow state file not found"):
        faber.save()


def test_state_reading_a_symlink_out_of_the_runs_directory(faber: Faber) -> None:
    outside = put(faber.root.parent, "elsewhere/state.json", a_state())
    faber.path.parent.mkdir(parents=True)
    faber.path.symlink_to(outside)
    before = outside.read_bytes()
    for verb in (faber.load, faber.save):
        with pytest.raises(WorkflowError, match="not found"):
            verb()
    assert outside.read_bytes() == before


def test_state_reading_a_state_reverted_by_git_is_not_written_over(faber: Faber) -> None:
    before = faber.put(with_a_session())
    faber.load(trigger="session_start")
    faber.save()
    faber.path.write_bytes(before)
    found = faber.load()
    assert not found.written
    assert any("State file was turned back" in warning for warning in found.warnings)
    with pytest.raises(WorkflowError, match="State file was turned back") as raised:
        faber.save()
    assert f"`holdfast repair {RUN}`" in raised.value.hints[0]
    assert faber.path.read_bytes() == before


def test_a_git_pull_put_an_older_committed_state_back(faber: Faber) -> None:
    git = ["git", "-C", str(faber.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    faber.put(with_a_session())
    subprocess.run([*git, "add", "-f", ".fractary"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "the state"], check=True)
    faber.load(trigger="session_start")
    subprocess.run([*git, "checkout", "-q", "--", ".fractary"], check=True)
    faber.backup.unlink()
    assert any("turned back" in warning for warning in faber.load().warnings)


# sessions

SESSIONS: dict[str, tuple[Any, int]] = {
    "missing": (None, 1),
    "no object": ("open", 1),
    "session_history null": ({"session_history": None}, 1),
    "session_history not a list": ({"session_history": {"a": 1}}, 1),
    "current id not in history": ({"current_session_id": "gone", "session_history": []}, 1),
    "current id twice in history": ({"current_session_id": "a", "session_history": [{"session_id": "a"}] * 2}, 2),
    "records without session_id": ({"session_history": [{}, None, {"session_id": 7}]}, 4),
    "ended record named as current": (
        {"current_session_id": "a", "session_history": [a_record(session_id="a", ended_at="2026-01-07T16:00:00Z")]},
        2,
    ),
}


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize("context", [None, "text", {"artifacts_in_context": {"a": "2026-01-07T16:00:00Z"}}, {}])
def test_sessions_of_any_form_are_opened_counted_and_closed(name: str, context: object, faber: Faber) -> None:
    sessions, number = SESSIONS[name]
    faber.put(sessions=sessions, context_metadata=context)
    assert (faber.load().session.total, faber.save().changed) == (number, True)
    found = faber.state["sessions"]
    assert (found["total_sessions"], len(found["session_history"]), found["current_session_id"]) == (
        number,
        number,
        None,
    )


def test_save_idempotence_one_session_has_one_record_whoever_saves_it(faber: Faber) -> None:
    faber.put()
    faber.load(trigger="session_start")
    saved = [faber.save(reason=reason) for reason in ("compaction", "normal", "manual")]
    assert [done.changed for done in saved] == [True, False, False]
    assert [record["end_reason"] for record in faber.records] == ["compaction"]


# phases

PHASES: dict[str, tuple[object, list[str]]] = {
    "object": (phases_as_object(), ["frame", "architect"]),
    "array(phase_name)": (phases_by_phase_name(), ["frame", "architect"]),
    "missing": (None, []),
    "unknown status": ([{"name": "frame", "status": "done"}], []),
    "names outside the five": ({"deploy": {"status": "completed"}}, ["deploy"]),
    "text": ("frame", []),
}


@pytest.mark.parametrize("name", PHASES)
def test_phases_of_any_form_are_credited_and_left(name: str, faber: Faber) -> None:
    phases, done = PHASES[name]
    faber.put(with_a_session(phases=phases))
    assert faber.save().phases == done
    assert faber.state["phases"] == phases


# the active file

ACTIVE_FILES: dict[str, tuple[str, str | None]] = {
    "CRLF": (f"{RUN}\r\n", RUN),
    "white space": (f"  {RUN} \n\n", RUN),
    "several lines": (f"{RUN}\nother\n", RUN),
    "empty": ("", None),
    "only white space": (" \r\n", None),
    "a traversal": ("../../../etc\n", None),
}


@pytest.mark.parametrize("name", ACTIVE_FILES)
@pytest.mark.parametrize("place", [ACTIVE, OLD_ACTIVE])
def test_an_active_file_of_any_form_names_its_run_or_none(name: str, place: str, faber: Faber) -> None:
    words, run = ACTIVE_FILES[name]
    faber.put(with_a_session())
    (faber.root / ACTIVE).unlink()
    put(faber.root, place, words)
    assert faber.save().run == run


def test_an_active_file_that_names_a_missing_run(faber: Faber) -> None:
    with pytest.raises(WorkflowError, match="Run not found"):
        faber.load()
    with pytest.raises(WorkflowError, match="Workflow state file not found"):
        faber.save()


# artifacts


def test_artifacts_path_from_state_null_is_skipped_quietly_or_an_error(faber: Faber) -> None:
    faber.workflow(text(path=None, path_from_state="artifacts.spec_path"))
    faber.put()
    found = faber.load()
    assert (outcomes(found), found.warnings) == ({"note": "missing"}, [])
    faber.workflow(text(path=None, path_from_state="artifacts.spec_path", required=True))
    with pytest.raises(WorkflowError, match="Required artifact not found") as raised:
        faber.load()
    assert ("Error", "the state has no artifacts.spec_path") in raised.value.facts


def test_artifacts_a_placeholder_in_the_states_value_is_filled(faber: Faber) -> None:
    put(faber.root, "specs/7.md", "seven")
    faber.workflow(
        text(path=None, path_from_state="state.artifacts.spec_path"),
        text("unfilled", path=None, path_from_state="artifacts.other"),
    )
    faber.put(artifacts={"spec_path": "{project_root}/specs/{work_id}.md", "other": "{what}.md"})
    found = faber.load()
    assert artifact(found, "note").content == "seven"
    assert len(found.warnings) == 1
    assert "the placeholder what has no value" in found.warnings[0]


def test_artifacts_an_absolute_path_from_another_machine_suggests_the_project_root(faber: Faber) -> None:
    put(faber.root, "specs/7.md", "seven")
    faber.workflow(text(path="/somebody/project/specs/7.md"))
    faber.put()
    assert "write `{project_root}/specs/7.md`" in faber.load().warnings[0]


def test_artifacts_what_lies_outside_is_never_read(faber: Faber) -> None:
    secret = put(faber.root.parent, "secret.md", "the secret")
    (faber.root / "link.md").symlink_to(secret)
    paths = ["../secret.md", str(secret), "link.md", "{project_root}/../secret.md"]
    faber.workflow(*(text(f"a{number}", path=path) for number, path in enumerate(paths)))
    faber.put()
    found = faber.load()
    assert set(outcomes(found).values()) == {"missing"}
    assert "the secret" not in json.dumps([item.content for item in found.artifacts])


def test_artifacts_directories_are_loaded_by_their_strategy(faber: Faber) -> None:
    for number, name in enumerate(("a", "b")):
        os.utime(put(faber.root, f"notes/{name}.md", f"note {name}"), (1_000 + number, 1_000 + number))
    (faber.root / "nothing").mkdir()
    faber.workflow(
        *(
            {"id": strategy, "type": "directory", "path": "notes", "load_strategy": strategy}
            for strategy in ("all", "latest_only", "summary")
        ),
        {"id": "empty", "type": "directory", "path": "nothing"},
    )
    faber.put()
    found = faber.load()
    texts = {item.id: item.content or "" for item in found.artifacts}
    assert [name in texts["all"] for name in ("note a", "note b")] == [True, True]
    assert [name in texts["latest_only"] for name in ("note a", "note b")] == [False, True]
    assert texts["summary"].startswith("2 files, 12 bytes\nnewest: b.md")
    assert outcomes(found)["empty"] == "loaded"


def test_artifacts_a_git_command_reads_and_never_reaches_a_shell(faber: Faber) -> None:
    git = ["git", "-C", str(faber.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a first commit"], check=True)
    commands = ["git log --oneline -1", "git log; touch bad", "git commit -m x", "git -c a.b=c log", "touch bad"]
    faber.workflow(*({"id": f"g{n}", "type": "git_info", "command": command} for n, command in enumerate(commands)))
    faber.put()
    found = faber.load()
    assert list(outcomes(found).values()) == ["loaded", "missing", "missing", "missing", "missing"]
    assert "a first commit" in (artifact(found, "g0").content or "")
    assert not (faber.root / "bad").exists()


def test_artifacts_an_unknown_id_is_an_error_that_lists_the_known(faber: Faber) -> None:
    faber.put()
    with pytest.raises(WorkflowError, match="Unknown artifact") as raised:
        faber.load(artifacts=("specs",))
    assert dict(raised.value.facts)["Known"] == "workflow-state, orchestration-protocol, specification"


def test_artifacts_room_is_given_to_what_is_required_first(faber: Faber) -> None:
    for name in ("first", "needed"):
        (faber.root / f"{name}.md").write_text("x" * 600)
    faber.workflow(text("first"), text("needed", required=True))
    faber.put()
    assert outcomes(faber.load(budget=1_000)) == {"first": "left out", "needed": "loaded"}


# what broke in practice


def test_a_state_in_a_worktree_is_the_worktrees_own(
    project: Workspace, tmp_path: Path, clock: TickingClock, faber: Faber
) -> None:
    faber.put()
    with a_worktree(project, tmp_path / "other", clock) as other:
        elsewhere = Faber(other, clock)
        elsewhere.put(run_id=RUN)
        before = faber.path.read_bytes()
        assert elsewhere.load().path == str(other.root / RUNS / RUN / "state.json")
        assert faber.path.read_bytes() == before


@pytest.mark.parametrize("verb", ["load", "save"])
def test_state_reading_a_concurrent_writer_between_read_and_write_loses_nothing(
    verb: str, faber: Faber, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks at the clock lets another write; one of these looks lies between our reading and our writing."""
    now, told = faber.clock.now, []
    for limit in range(1, 6):
        faber.put(a_state() if limit == 1 else {**faber.state, "current_step": "none yet"})
        faber.load(trigger="session_start")
        looks: list[str] = []

        def now_while_another_writes(limit: int = limit, looks: list[str] = looks) -> Any:
            if len(looks) < limit:
                looks.append(f"step {len(looks)}")
                faber.path.write_text(json.dumps({**faber.state, "current_step": looks[-1]}, indent=2))
            return now()

        with monkeypatch.context() as patched:
            patched.setattr(faber.clock, "now", now_while_another_writes)
            try:
                told += (faber.load() if verb == "load" else faber.save()).warnings
            except Changed:
                told.append("given up")
        assert faber.state["current_step"] == looks[-1]
        assert faber.state["sessions"]["total_sessions"] == len(faber.records) == limit
    assert "The state file was changed while we worked; what was written there is kept" in told
    assert ("given up" in told) is (verb == "save")  # it looks at the clock in each attempt


def test_the_session_id_is_new_each_time(faber: Faber) -> None:
    faber.put()
    ids = [faber.load(trigger="session_start").session.id or "" for _ in range(3)]
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"claude-session-\d{8}-\d{6}-[a-z0-9]{6}", id) for id in ids)


def test_a_load_by_hand_on_another_host_opens_a_session_of_its_own(faber: Faber) -> None:
    elsewhere = a_record(environment={"hostname": "dev-laptop", "cwd": "/home/dev/shop", "platform": "Linux"})
    state = with_a_session()
    state["sessions"]["session_history"] = [elsewhere]
    faber.put(state)
    loaded = faber.load()
    assert (loaded.session.closed, loaded.session.closed_because) == (elsewhere["session_id"], "interrupted")
    assert (faber.load().session.id, loaded.session.total) == (loaded.session.id, 2)
    first, second = faber.records
    assert (first["ended_at_inferred"], first["environment"]) == (True, elsewhere["environment"])
    assert second["environment"]["worktree"] == str(faber.root)
    assert (faber.save().seconds or 0) < 60


def test_a_save_by_hand_on_another_host_closes_its_record_as_interrupted_and_says_so(faber: Faber) -> None:
    elsewhere = a_record(environment={"hostname": "dev-laptop", "cwd": "/home/dev/shop", "platform": "Linux"})
    state = with_a_session()
    state["sessions"]["session_history"] = [elsewhere]
    faber.put(state)
    saved = faber.save()
    assert (saved.why, saved.changed, saved.reason) == ("elsewhere", True, "interrupted")
    assert (saved.session, saved.origin, saved.seconds) == (elsewhere["session_id"], "dev-laptop, /home/dev/shop", None)
    (record,) = faber.records
    assert (record["end_reason"], record["ended_at"]) == ("interrupted", saved.ended)
    assert (record["environment"], faber.state["sessions"]["current_session_id"]) == (elsewhere["environment"], None)
    assert faber.save().why == "already"
