"""A FABER run as the command line meets it: its files, a workflow with artifacts, and no store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.faber_states import ACTIVE, RUN, RUNS, put

STATE = f"{RUNS}/{RUN}/state.json"
OPEN = "claude-session-20260107-155946"
ARTIFACTS: list[dict[str, Any]] = [
    {
        "id": "workflow-state",
        "type": "json",
        "path": ".fractary/runs/{run_id}/state.json",
        "required": True,
        "description": "Current workflow state file",
    },
    {
        "id": "specification",
        "type": "markdown",
        "path_from_state": "artifacts.spec_path",
        "condition": "state.artifacts.spec_path != null",
        "description": "Technical specification",
    },
    {"id": "issue-context", "type": "work_plugin", "command": "/fractary-work:issue-fetch {work_id}"},
    {"id": "frame-notes", "type": "directory", "path": "notes", "condition": "state.current_phase == 'frame'"},
]
SMALL: dict[str, Any] = {
    "run_id": RUN,
    "workflow_id": "default",
    "status": "in_progress",
    "artifacts": {"spec_path": "spec.md"},
}


def an_active_run(root: Path) -> Path:
    """A run whose workflow declares artifacts, without a store."""
    workflow(root, *ARTIFACTS)
    put(root, "spec.md", "# The plan\n```\ncode\n```\n")
    put(root, ACTIVE, RUN)
    put(root, STATE, json.dumps({**SMALL, "work_id": "7"}))
    return root


def workflow(root: Path, *artifacts: dict[str, Any]) -> None:
    put(root, ".fractary/faber/workflows/default.json", {"critical_artifacts": {"always_load": list(artifacts)}})
