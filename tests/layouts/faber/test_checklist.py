"""The testing checklist of FABER's session-end document, line by line and by its words."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable

import pytest

from holdfast.core.errors import WorkflowError
from holdfast.layouts.faber.screens import save_screen
from holdfast.layouts.results import DRAWN
from tests.faber_project import Faber
from tests.faber_states import ACTIVE, RUN, RUNS, a_record, with_a_session

OPEN = "claude-session-20260107-155946"


def works_with_run_id_parameter(faber: Faber) -> None:
    (faber.root / ACTIVE).unlink()
    faber.put(with_a_session())
    assert (faber.save(run=RUN).session, faber.save(run=RUN).why) == (OPEN, "already")


def works_with_auto_detection(faber: Faber) -> None:
    faber.put(with_a_session())
    assert (faber.save().run, faber.records[0]["end_reason"]) == (RUN, "manual")


def gracefully_handles_no_active_workflow(faber: Faber) -> None:
    (faber.root / ACTIVE).unlink()
    before = faber.put(with_a_session())
    saved = faber.save()
    assert (saved.run, saved.changed, saved.why) == (None, False, "no workflow")
    assert faber.path.read_bytes() == before


def handles_missing_state_file(faber: Faber) -> None:
    with pytest.raises(WorkflowError) as raised:
        faber.save()
    assert raised.value.message == "Workflow state file not found"
    assert raised.value.facts == [("Run ID", RUN), ("Expected", f"{RUNS}/{RUN}/state.json")]


def handles_corrupted_json(faber: Faber) -> None:
    faber.put('{\n  "run_id": \n}')
    with pytest.raises(WorkflowError) as raised:
        faber.save()
    assert raised.value.message == "Cannot parse state file"
    assert dict(raised.value.facts)["Error"] == "Invalid JSON at line 3: Expecting value"


def handles_no_current_session(faber: Faber) -> None:
    before = faber.put()
    assert (faber.save().why, faber.path.read_bytes()) == ("none", before)


def captures_all_phases_completed(faber: Faber) -> None:
    faber.put(with_a_session())
    faber.save()
    assert faber.records[0]["phases_completed"] == ["frame", "architect"]


def captures_all_artifacts_loaded(faber: Faber) -> None:
    faber.put()
    faber.load()
    faber.save()
    assert faber.records[0]["artifacts_loaded"] == ["workflow-state"]


def captures_environment(faber: Faber) -> None:
    faber.put()
    faber.load()
    faber.save()
    assert faber.records[0]["environment"] == {
        "hostname": socket.gethostname(),
        "platform": "linux",
        "cwd": os.getcwd(),
        "git_commit": None,
        "worktree": str(faber.root),
    }


def creates_backup_before_writing(faber: Faber) -> None:
    before = faber.put(with_a_session())
    faber.path.chmod(0o640)
    faber.save()
    assert (faber.backup.read_bytes(), faber.backup.stat().st_mode & 0o777) == (before, 0o640)


def verifies_write_succeeded(faber: Faber) -> None:
    faber.put(with_a_session())
    faber.path.chmod(0o600)
    faber.save()
    assert json.loads(faber.path.read_bytes())["sessions"]["session_history"][0]["end_reason"] == "manual"
    assert faber.path.stat().st_mode & 0o777 == 0o600
    names = sorted(path.name for path in faber.path.parent.iterdir())
    assert names == ["state.json", "state.json.backup", "state.json.lock"]


def updates_session_history(faber: Faber) -> None:
    earlier = a_record(session_id="earlier", ended_at="2026-01-07T12:00:00Z", note={"kept": [1]})
    faber.put(sessions={"current_session_id": OPEN, "session_history": [earlier, a_record()]})
    faber.save()
    assert (faber.records[0], faber.records[1]["session_id"], len(faber.records)) == (earlier, OPEN, 2)
    assert faber.records[1]["ended_at"].startswith("2026-01-07T17:00:")


def clears_current_session_id(faber: Faber) -> None:
    faber.put(with_a_session())
    faber.save()
    assert faber.state["sessions"]["current_session_id"] is None


def updates_total_sessions(faber: Faber) -> None:
    faber.put()
    for number in (1, 2, 3):
        faber.load()
        faber.save()
        assert faber.state["sessions"]["total_sessions"] == number


def handles_session_already_in_history(faber: Faber) -> None:
    faber.put(with_a_session())
    assert faber.load().session.id == OPEN
    faber.save()
    assert [record["session_id"] for record in faber.records] == [OPEN]


def reports_success(faber: Faber) -> None:
    faber.put(with_a_session())
    said = [line.split(":")[0].strip() for line in save_screen(faber.save(), DRAWN)]
    assert said[0] == "✓ Session ended and saved"
    assert said[1:] == ["Session ID", "Reason", "Duration", "Phases completed", "Artifacts loaded"]


CHECKLIST: dict[str, Callable[[Faber], None]] = {
    "Works with --run-id parameter": works_with_run_id_parameter,
    "Works with .fractary/faber/runs/.active-run-id auto-detection": works_with_auto_detection,
    "Gracefully handles no active workflow": gracefully_handles_no_active_workflow,
    "Handles missing state file with clear error": handles_missing_state_file,
    "Handles corrupted JSON with clear error": handles_corrupted_json,
    "Handles no current session gracefully": handles_no_current_session,
    "Captures all phases completed": captures_all_phases_completed,
    "Captures all artifacts loaded": captures_all_artifacts_loaded,
    "Captures environment correctly": captures_environment,
    "Creates backup before writing": creates_backup_before_writing,
    "Verifies write succeeded": verifies_write_succeeded,
    "Updates session_history correctly": updates_session_history,
    "Clears current_session_id": clears_current_session_id,
    "Updates total_sessions count": updates_total_sessions,
    "Handles session already in history (resume case)": handles_session_already_in_history,
    "Reports success with clear summary": reports_success,
}


@pytest.mark.parametrize("line", CHECKLIST)
def test_a_line_of_the_checklist_holds(line: str, faber: Faber) -> None:
    CHECKLIST[line](faber)
