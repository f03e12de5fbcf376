"""How FABER's two commands are called: as JSON, by several names, on a terminal, with and without a store."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faber_states import ACTIVE, RUN, RUNS, a_state, put, put_state, with_a_session
from tests.surfaces.faber_files import OPEN, STATE
from tests.surfaces.terminal import Terminal
from tests.tools import Command, unfenced

Say = Callable[..., Command]


def test_a_load_as_json_has_the_artifacts_with_their_texts(active: Path, say: Say) -> None:
    done = say("session-load", "--json").ok()
    found = done.json
    assert list(found) == [
        "run", "workflow", "status", "path", "dry_run", "trigger", "artifacts", "session", "last_reload", "reloads",
        "written", "warnings",
    ]  # fmt: skip
    assert (found["run"], found["workflow"], found["reloads"], found["written"]) == (RUN, "default", 1, True)
    assert found["path"] == str(active / STATE)
    artifacts = {artifact["id"]: artifact for artifact in found["artifacts"]}
    specification = artifacts["specification"]
    assert (specification["type"], specification["outcome"], specification["resolved"], specification["size"]) == (
        "markdown",
        "loaded",
        "spec.md",
        24,
    )
    assert specification["content"] == (active / "spec.md").read_text()
    assert artifacts["issue-context"]["outcome"] == "not run"
    assert artifacts["frame-notes"]["content"] is None
    assert set(found["session"]) == {"id", "total", "is_new", "closed", "closed_because", "host", "platform"}
    assert (found["session"]["total"], found["session"]["is_new"]) == (1, True)
    assert done.err == ""


def test_a_dry_run_as_json_has_no_texts(active: Path, say: Say) -> None:
    found = say("session-load", "--dry-run", "--json").ok().json
    assert (found["dry_run"], found["written"]) == (True, False)
    assert {artifact["content"] for artifact in found["artifacts"]} == {None}


def test_a_save_as_json(repository: Path, say: Say) -> None:
    put(repository, STATE, with_a_session())
    found = say("session-save", "--run-id", RUN, "--reason", "normal", "--json").ok().json
    assert found.pop("seconds") > 0
    assert found.pop("ended").endswith("Z")
    assert found == {
        "run": RUN,
        "changed": True,
        "why": "",
        "session": OPEN,
        "reason": "normal",
        "origin": "",
        "phases": ["frame", "architect"],
        "in_progress": ["build"],
        "artifacts": ["workflow-state", "orchestration-protocol"],
        "path": str(repository / STATE),
        "warnings": [],
    }
    assert say("session-save", "--run-id", RUN, "--json").ok().json["why"] == "already"


def test_an_error_as_json_has_message_facts_and_hints(active: Path, say: Say) -> None:
    done = say("session-load", "--run-id", "gone", "--json")
    assert (done.code, done.err) == (1, "")
    error = done.json["error"]
    assert (error["kind"], error["message"]) == ("workflow_error", "Run not found")
    assert error["facts"] == {"Run ID": "gone", "Path": ".fractary/faber/runs/gone/state.json"}
    assert len(error["hints"]) == 2


def test_half_characters_and_numbers_without_end_can_be_told_as_json(active: Path, say: Say) -> None:
    wild = json.loads((active / STATE).read_text())
    wild["sessions"] = {"current_session_id": "a\ud800b", "session_history": [{"session_id": "\udc00"}]}
    wild["context_metadata"] = {"reload_count": 10**40, "last_artifact_reload": "\ud800"}
    put(active, STATE, wild)
    found = say("session-load", "--json").ok().json
    assert (found["session"]["id"], found["reloads"]) == ("ab", 1)
    assert say("session-save", "--json").ok().json["session"] == "ab"
    assert json.loads((active / STATE).read_text())["sessions"]["session_history"][1]["session_id"] == "a\ud800b"


# Without a store


def test_without_a_store_both_work_on_the_files_alone(active: Path, say: Say) -> None:
    before = set((active / ".git").rglob("*"))
    say("session-load").ok()
    say("session-save", "--reason", "compaction").ok()
    state = json.loads((active / STATE).read_text())
    assert [record["end_reason"] for record in state["sessions"]["session_history"]] == ["compaction"]
    assert set((active / ".git").rglob("*")) == before
    names = sorted(path.name for path in (active / STATE).parent.iterdir())
    assert names == ["state.json", "state.json.backup", "state.json.lock"]


def test_with_a_store_the_journal_knows_what_was_loaded_and_saved(active: Path, say: Say) -> None:
    say("init").ok()
    say("load").ok()
    say("session-end", "--reason", "normal").ok()
    told = say("log", "--run", RUN).ok().out
    assert "loaded workflow-state, specification (manual)" in told
    assert "(reason: normal)" in told
    assert RUN in say("runs").ok().out
    assert say("verify").ok().code == 0


def test_save_in_a_faber_run_is_session_save(active: Path, say: Say) -> None:
    say("init").ok()
    say("load").ok()
    assert say("save").ok().out.startswith("[ok] Session ended and saved\n")
    assert say("save").ok().out.startswith("Session already ended\n")
    assert say("checkpoints").ok().out == ""


def test_load_in_a_run_of_our_own_is_the_brief(repository: Path, say: Say) -> None:
    run = say("start", "Ship it").ok().out.strip()
    brief = unfenced(say("brief").ok().out)
    assert run in brief
    for name in ("load", "session-load", "prime-context"):
        assert unfenced(say(name).ok().out) == brief
        assert unfenced(say(name, "--run-id", run).ok().out) == brief
    assert say("session-save").ok().out.startswith("cp-")


def test_a_run_of_our_own_beside_fabers_active_one_is_loaded_by_its_name(active: Path, say: Say) -> None:
    run = say("start", "Ship it").ok().out.strip()
    assert f"Context reloaded for run: {RUN}" in say("load").ok().out
    assert "Ship it" in say("load", "--run-id", run).ok().out


# Several

OTHER = "fractary-faber-8-20260105-143022"


@pytest.fixture
def two(repository: Path) -> Path:
    put_state(repository)
    put(repository, f"{RUNS}/{OTHER}/state.json", a_state(run_id=OTHER, status="paused", current_phase="frame"))
    return repository


LISTED = (
    f"{RUN}  in_progress, phase build, started 2026-01-07T15:57:54Z",
    f"{OTHER}  paused, phase frame, started 2026-01-07T15:57:54Z",
)


def test_several_active_runs_are_listed_where_nobody_can_be_asked(two: Path, cli: Say) -> None:
    done = cli("session-load", stdin=b"1\n")
    assert (done.code, done.out) == (1, "")
    lines = [" ".join(line.split()) for line in done.err.splitlines()]
    assert lines == [
        "holdfast: Several workflows are active",
        *(" ".join(line.split()) for line in sorted(LISTED)),
        "try: `holdfast session-load --run-id ID` loads one of them",
    ]


@pytest.mark.parametrize("store", [False, True])
def test_several_active_runs_are_asked_about_on_a_terminal(two: Path, say: Say, store: bool) -> None:
    if store:
        say("init").ok()
    with Terminal("session-load", directory=two, env={"TERM": "dumb"}) as terminal:
        terminal.wait_for("Which one")
        for number, line in enumerate(sorted(LISTED), 1):
            assert f"  {number}  {line}" in terminal.text
        terminal.type("1\n")
        code = terminal.finish()
    assert code == 0
    assert f"Context reloaded for run: {min(RUN, OTHER)}" in terminal.text


def test_on_a_terminal_that_draws_the_marks_are_there(active: Path) -> None:
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    program = ["env", "-i", *(f"{name}={value}" for name, value in env.items()), sys.executable, "-m", "holdfast"]
    with Terminal("session-save", "--run-id", "gone", directory=active, program=program) as terminal:
        assert terminal.finish() == 1
    assert "❌ ERROR: Workflow state file not found" in terminal.text


def test_the_active_file_is_never_written(active: Path, say: Say) -> None:
    before = (active / ACTIVE).read_bytes(), (active / ACTIVE).stat().st_mtime_ns
    say("load").ok()
    say("session-save").ok()
    assert ((active / ACTIVE).read_bytes(), (active / ACTIVE).stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    "arguments",
    [("session-load", "--trigger", "soon"), ("session-save", "--reason", "user_request"), ("load", "--budget", "x")],
    ids=" ".join,
)
def test_a_trigger_or_a_reason_that_nobody_knows_is_wrong_usage(
    arguments: tuple[str, ...], active: Path, say: Say
) -> None:
    assert say(*arguments).code == 2


def test_the_environment_names_the_run_before_the_active_file(
    active: Path, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(active, f"{RUNS}/{OTHER}/state.json", a_state(run_id=OTHER))
    monkeypatch.setenv("HOLDFAST_RUN", OTHER)
    assert f"Context reloaded for run: {OTHER}\n" in say("load").ok().out
    assert say("session-save", "--json").ok().json["run"] == OTHER
    monkeypatch.setenv("HOLDFAST_RUN", "gone")
    for name in ("load", "session-save"):
        assert (say(name).code, "Run ID: gone\n" in say(name).err) == (1, True)
