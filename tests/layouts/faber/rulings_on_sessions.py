"""What the rulings on FABER's session records come to, one function each, by the verbs and real files."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from holdfast.core.errors import WorkflowError, WrongUsage
from tests.faber_project import Faber, artifact, changed, outcomes, text
from tests.faber_states import (
    HOST,
    RUN,
    RUNS,
    a_record,
    a_state,
    phases_as_object,
    phases_by_name,
    phases_by_phase_name,
    put,
    with_a_session,
)

OPEN = "claude-session-20260107-155946"


def s1(faber: Faber) -> None:
    shapes: list[dict[str, Any]] = [
        {"phases": phases_by_name()},
        {"phases": phases_as_object()},
        {"phases": None, "phase_states": phases_as_object()},
    ]
    for shape in shapes:
        before = faber.put(with_a_session(**shape))
        faber.backup.unlink(missing_ok=True)
        assert faber.save(run=RUN).phases == ["frame", "architect"]
        assert changed(before, faber.path.read_bytes()) <= {"sessions", "updated_at"}


def s2(faber: Faber) -> None:
    keyed = [{"id": "frame", "status": "completed"}, {"phase": "build", "status": "in_progress"}]
    for phases, done in ((phases_by_phase_name(), ["frame", "architect"]), (keyed, ["frame"])):
        faber.put(with_a_session(phases=phases))
        saved = faber.save()
        assert (saved.phases, saved.in_progress) == (done, ["build"])


def s5(faber: Faber) -> None:
    faber.put()
    first = faber.as_client("one").load(trigger="session_start").session
    assert faber.records[0]["agent_session_id"] == "one"
    again = faber.as_client("one").load(trigger="session_start").session
    assert (again.id, again.is_new) == (first.id, False)
    other = faber.as_client("two").load(trigger="session_start").session
    assert (other.is_new, other.closed, other.closed_because) == (True, first.id, "interrupted")
    seen = faber.load(trigger="compaction_detected").session
    assert (seen.closed, seen.closed_because) == (other.id, "compaction")


def s6(faber: Faber) -> None:
    faber.put()
    assert re.fullmatch(r"claude-session-20260107-1700\d\d-[a-z0-9]{6}", faber.load().session.id or "")
    put(faber.root, f"{RUNS}/other/state.json", with_a_session(run_id="other"))
    assert faber.load(run="other").session.id == OPEN


def s7(faber: Faber) -> None:
    faber.put()
    id = faber.load().session.id
    assert [record["session_id"] for record in faber.records] == [id]
    faber.save()
    assert [(record["session_id"], record["end_reason"]) for record in faber.records] == [(id, "manual")]


def s8(faber: Faber) -> None:
    state = with_a_session()
    state["sessions"]["total_sessions"] = 9
    faber.put(state)
    assert faber.load(trigger="session_start").session.total == 2
    assert faber.state["sessions"]["total_sessions"] == 2
    faber.save()
    assert faber.state["sessions"]["total_sessions"] == 2


def s9(faber: Faber) -> None:
    faber.put(with_a_session())
    found = faber.load(trigger="session_start").session
    assert (found.closed, found.closed_because) == (OPEN, "interrupted")
    orphan = faber.records[0]
    assert (orphan["ended_at"], orphan["ended_at_inferred"]) == ("2026-01-07T15:59:46Z", True)


def s10(faber: Faber) -> None:
    faber.put(phases=phases_by_name("architect"))
    faber.load()
    assert faber.save().phases == ["frame"]
    faber.load()
    faber.put({**faber.state, "phases": phases_by_name("evaluate")})
    assert faber.save().phases == ["architect", "build"]


def s11(faber: Faber) -> None:
    faber.put(with_a_session())
    saved = faber.save()
    assert (saved.phases, saved.in_progress) == (["frame", "architect"], ["build"])
    assert faber.records[0]["phases_completed"] == ["frame", "architect"]


def s12(faber: Faber) -> None:
    faber.workflow(text("a"), text("b"))
    for name in ("a", "b"):
        (faber.root / f"{name}.md").write_text(name)
    faber.put()
    faber.load(artifacts=("a",))
    faber.load(artifacts=("b",))
    assert faber.save().artifacts == ["a", "b"]
    faber.load(artifacts=("a",))
    assert faber.save().artifacts == ["a"]


def s13(faber: Faber) -> None:
    faber.put()
    assert outcomes(faber.load())["workflow-state"] == "loaded"
    assert outcomes(faber.load())["workflow-state"] == "skipped"
    faber.save(reason="compaction")
    assert outcomes(faber.load())["workflow-state"] == "loaded"


def s14(faber: Faber) -> None:
    faber.workflow(text("a"), text("b"))
    for name in ("a", "b"):
        (faber.root / f"{name}.md").write_text(name)
    faber.put()
    faber.load(artifacts=("a",))
    assert outcomes(faber.load()) == {"a": "skipped", "b": "loaded"}
    state = faber.state
    for entry in state["context_metadata"]["artifacts_in_context"]:
        entry["loaded_at"] = "2027-01-01T00:00:00Z"
    faber.put(state)
    assert outcomes(faber.load()) == {"a": "loaded", "b": "loaded"}


def s16(faber: Faber) -> None:
    faber.put()
    for trigger in ("session_start", "phase_start", "phase_transition:architect->build", "compaction_detected"):
        faber.load(trigger=trigger, force=True)
        entries = faber.state["context_metadata"]["artifacts_in_context"]
        assert {entry["load_trigger"] for entry in entries} == {trigger}
    with pytest.raises(WrongUsage):
        faber.load(trigger="workflow_start")


def s17(faber: Faber) -> None:
    for number, sessions in enumerate(({"current_session_id": None}, {}, {"current_session_id": "gone"}, None)):
        path = put(faber.root, f"{RUNS}/{number}/state.json", a_state(run_id=str(number), sessions=sessions))
        faber.load(run=str(number))
        faber.save(run=str(number))
        assert json.loads(path.read_bytes())["sessions"]["current_session_id"] is None


def s21(faber: Faber) -> None:
    before = faber.put()
    assert faber.save().why == "none"
    assert faber.path.read_bytes() == before
    ended = a_record(ended_at="2026-01-07T16:30:00Z")
    before = faber.put(sessions={"current_session_id": None, "session_history": [ended]})
    saved = faber.save()
    assert (saved.why, saved.session, saved.ended) == ("already", OPEN, "2026-01-07T16:30:00Z")
    assert faber.path.read_bytes() == before
    assert not faber.backup.exists()


def s23(faber: Faber) -> None:
    git = ["git", "-C", str(faber.root), "-c", "user.name=a", "-c", "user.email=a@b"]
    faber.put()
    faber.load()
    assert faber.records[0]["environment"]["git_commit"] is None
    assert faber.records[0]["environment"]["platform"] == "linux"
    faber.save()
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "first"], check=True)
    head = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True, capture_output=True, text=True)
    faber.load()
    assert faber.records[1]["environment"]["git_commit"] == head.stdout.strip()


def s24(faber: Faber) -> None:
    state = with_a_session()
    state["sessions"]["session_history"][0]["environment"] = {"platform": "Laptop"}
    faber.put(state)
    faber.save()
    found = faber.records[0]["environment"]
    assert (found["hostname"], found["platform"], set(found)) == (
        HOST,
        "Laptop",
        {"hostname", "platform", "cwd", "git_commit"},
    )


def s25(faber: Faber) -> None:
    for started, seconds in (
        ("2026-01-07T18:00:00Z", 0.0),
        ("2026-01-07 soon", None),
        ("2026-01-07T18:00:00+02:00", 3600),
    ):
        state = with_a_session()
        state["sessions"]["session_history"][0]["started_at"] = started
        faber.put(state)
        faber.backup.unlink(missing_ok=True)
        found = faber.save().seconds
        assert found == seconds or (seconds and found and 0 < found - seconds < 60)


def s26(faber: Faber) -> None:
    for reason in ("compaction", "normal", "manual"):
        faber.put(with_a_session())
        faber.backup.unlink(missing_ok=True)
        assert faber.save(reason=reason).reason == faber.records[0]["end_reason"] == reason
    with pytest.raises(WrongUsage):
        faber.save(reason="user_request")


def s34(faber: Faber) -> None:
    faber.put(with_a_session())
    faber.save(reason="compaction")
    event = faber.state["context_metadata"]["compaction_events"][-1]
    assert (event["phase"], event["step"]) == ("build", "implement")
    assert event["detected_at"] == faber.records[0]["ended_at"]


def s36(faber: Faber) -> None:
    for form in (
        json.dumps(with_a_session(), indent=4).replace("\n", "\r\n"),
        json.dumps(with_a_session()) + "\n",
        "\ufeff" + json.dumps(with_a_session(), indent="\t"),
    ):
        faber.put(form)
        faber.path.write_bytes(form.encode())
        faber.backup.unlink(missing_ok=True)
        faber.save()
        after = faber.path.read_bytes().decode()
        assert (after.count("\r\n") > 0, after[-1], after[0]) == (form.count("\r\n") > 0, form[-1], form[0])
    for flaw in ('{"run_id": "x", "a": NaN', '{"a": 1, "a": 2'):
        before = faber.put(f"{flaw}, {json.dumps(with_a_session())[1:]}")
        assert any("is not written" in warning for warning in faber.load().warnings)
        with pytest.raises(WorkflowError, match="Failed to save state file"):
            faber.save()
        assert faber.path.read_bytes() == before


def s31(faber: Faber) -> None:
    (faber.root / "large.md").write_bytes(b"x" * 1024 * 1024 + b"x")
    for name in ("a", "b"):
        (faber.root / f"{name}.md").write_text(name * 600)
    run = {"id": "issue", "type": "work_plugin", "command": "/fractary-work:issue-fetch 7"}
    faber.workflow(text("a"), text("b"), text("large"), text("gone"), run, text("never", condition="false"))
    before = faber.put()
    for asked in ({}, {"budget": 1000}, {"force": True}, {"artifacts": ("b", "gone")}):
        dry = faber.load(dry_run=True, **asked)
        assert faber.path.read_bytes() == before
        wet = faber.load(**asked)
        assert outcomes(dry) == outcomes(wet)
        whys = [[re.sub(r"\d+ s ago", "", found.why) for found in those.artifacts] for those in (dry, wet)]
        assert whys[0] == whys[1]
        before = faber.path.read_bytes()
    dry = faber.load(dry_run=True)
    assert "in this session" in artifact(dry, "b").why
    assert (dry.session.total, dry.written) == (1, False)
