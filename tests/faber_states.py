"""FABER's files in the shapes that real ones have: builders that are valid by default."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

PLAN = "fractary-faber-7-add-a-login-20260107T155326"
SUFFIX = "2026-01-07T15-57-54"
HOST = os.uname().nodename
RUN = f"{PLAN}-run-{SUFFIX}"
PHASES = ("frame", "architect", "build", "evaluate", "release")
RUNS, OLD_RUNS, OLDEST_RUNS = ".fractary/faber/runs", ".fractary/runs", ".fractary/plugins/faber/runs"
ACTIVE, OLD_ACTIVE = f"{RUNS}/.active-run-id", ".fractary/faber/.active-run-id"


def statuses(current: str = "build") -> dict[str, str]:
    """The status of each phase while the run is in this one."""
    place = PHASES.index(current)
    words = ["completed"] * place + ["in_progress"] + ["pending"] * (len(PHASES) - place - 1)
    return dict(zip(PHASES, words, strict=True))


def phases_by_name(current: str = "build") -> list[dict[str, Any]]:
    """What the runner really writes."""
    row = {"enabled": True, "max_retries": 0, "retry_count": 0}
    return [{"name": name, "status": status, **row} for name, status in statuses(current).items()]


def phases_by_phase_name(current: str = "build") -> list[dict[str, Any]]:
    """What the session manager's documents read."""
    return [{"phase_name": name, "status": status} for name, status in statuses(current).items()]


def phases_as_object(current: str = "build") -> dict[str, dict[str, Any]]:
    """What the published schema describes."""
    return {name: {"status": status, "completed_steps": []} for name, status in statuses(current).items()}


def a_state(**over: Any) -> dict[str, Any]:
    """The state of a run in its third phase, without sessions, as the runner writes it."""
    return {
        "run_id": RUN,
        "plan_id": PLAN,
        "workflow_id": "fractary-faber:default",
        "workflow_name": "fractary-faber:default",
        "status": "in_progress",
        "current_phase": "build",
        "current_step": "implement",
        "work_id": "7",
        "work_items": [
            {
                "target": "a login",
                "work_id": "7",
                "planning_mode": "work_id",
                "issue": {"number": 7, "title": "Add a login", "state": "OPEN", "labels": ["enhancement"]},
                "branch": {"name": "feat/7-login", "status": "active", "resume_from": None},
                "worktree": None,
            }
        ],
        "branch": "feat/7-login",
        "autonomy": "guarded",
        "phases": phases_by_name(),
        "steps": [
            {"step_id": "fetch", "phase": "frame", "status": "success", "completed_at": "2026-01-07T16:00:45.000Z"}
        ],
        "started_at": "2026-01-07T15:57:54Z",
        "updated_at": "2026-01-07T16:06:30Z",
        **over,
    }


def a_schema_state(**over: Any) -> dict[str, Any]:
    """A state as the published schema describes it: no run id, phases as an object."""
    return {
        "target": "review-the-config",
        "work_id": "158",
        "workflow_version": "2.1",
        "status": "in_progress",
        "current_phase": "architect",
        "current_step": "generate-spec",
        "current_step_id": "architect:generate-spec",
        "started_at": "2025-11-19T15:00:00Z",
        "updated_at": "2025-11-19T15:15:00Z",
        "phases": phases_as_object("architect"),
        "artifacts": {"branch": "feat/158", "spec_path": "/specs/158.md", "commits": [], "pr_number": None},
        **over,
    }


def a_record(**over: Any) -> dict[str, Any]:
    """A session that is open, on this host."""
    return {
        "session_id": "claude-session-20260107-155946",
        "started_at": "2026-01-07T15:59:46Z",
        "environment": {"hostname": HOST, "platform": "Linux", "git_commit": "4d8a483"},
        "artifacts_loaded": ["workflow-state", "orchestration-protocol"],
        **over,
    }


def with_a_session(**over: Any) -> dict[str, Any]:
    """A state with one open session and what it loaded, written by a model: one trigger is in no schema."""
    loaded = {"loaded_at": "2026-01-07T15:59:46Z", "load_trigger": "workflow_start", "source": "state.json"}
    return a_state(
        sessions={
            "current_session_id": "claude-session-20260107-155946",
            "total_sessions": 1,
            "session_history": [a_record()],
        },
        context_metadata={
            "last_artifact_reload": "2026-01-07T15:59:46Z",
            "reload_count": 1,
            "artifacts_in_context": [{"artifact_id": "workflow-state", **loaded}],
        },
        **over,
    )


def put(root: Path, place: str, value: object) -> Path:
    """Write a file of FABER's: a text as it is, anything else as JSON."""
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return path


def put_state(root: Path, place: str = f"{RUNS}/{RUN}/state.json", **over: Any) -> Path:
    return put(root, place, a_state(**over))
