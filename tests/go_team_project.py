"""A Go Team run in a project, and its files as somebody else would read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import holdfast
from holdfast.core.model import Run
from holdfast.project.workspace import Workspace
from tests.sessions import run_of

TIMES = {"1": "210000", "2": "211500", "3": "213000", "4": "214500"}
DAY = "2025-12-28"
NAMES = ("init", "requirements", "architecture", "implementation")
AGENTS = ("orchestrator", "pm-agent", "architect-agent", "go-coder-agent")


class Team:
    def __init__(self, project: Workspace, root: str = "checkpoints") -> None:
        self.project = project
        self.root = project.root / root

    def begin(self, topic: str = "user-authentication-service", **options: Any) -> Run:
        return holdfast.start(self.project, topic, layout="go-team", **options).run

    def write(self, name: str, text: str) -> None:
        path = self.project.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def work(self, *steps: str) -> None:
        """Complete steps, each with a file of its own and one action."""
        for step in steps:
            self.write(f"{step}.go", f"package {step}\n")
            holdfast.action(self.project, f"Writing {step}.go", files=(f"{step}.go",))
            holdfast.complete_step(self.project, step)

    def read(self, name: str, run: str | None = None) -> Any:
        return json.loads((self.directory(run) / name).read_text("utf-8"))

    def directory(self, run: str | None = None) -> Path:
        return self.root / (run or run_of(self.project).id)

    def registry(self) -> Any:
        return json.loads((self.root / "sessions.json").read_text("utf-8"))

    def entry(self, run: str | None = None) -> Any:
        id = run or run_of(self.project).id
        return next(item for item in self.registry()["sessions"] if item["id"] == id)

    def points(self, run: str | None = None) -> list[str]:
        return sorted(path.stem for path in self.directory(run).glob("cp-*.json"))


def demonstration(root: Path, id: str = "test-session-001", **changes: Any) -> Path:
    """The files of a session that somebody else's tool was interrupted in, as their demonstration has them."""
    directory = root / id
    directory.mkdir(parents=True)
    last = "cp-04-implementation-20251228-214500"
    entry = {
        "id": id,
        "topic": "user-authentication-service",
        "status": "interrupted",
        "created_at": f"{DAY}T21:00:00Z",
        "updated_at": f"{DAY}T21:45:00Z",
        "current_step": 4,
        "current_checkpoint": last,
        "progress": {"steps_completed": 4, "total_steps": 9, "percentage": 44},
        "git_branch": f"go-team/{id}",
        "resumable": True,
        **changes,
    }
    put(root / "sessions.json", {"version": "1.0.0", "sessions": [entry], "last_active_session": id})
    points = list(_points(id))
    for point in points:
        put(directory / f"{point['id']}.json", point)
    listed = [
        {
            "id": p["id"],
            "step": p["step_number"],
            "step_name": p["step_name"],
            "timestamp": p["created_at"],
            "valid": True,
        }
        for p in points
    ]
    put(directory / "manifest.json", {"session_id": id, "topic": entry["topic"], "checkpoints": listed,
        "current_checkpoint": last, "current_step": 4, "rollback_history": []})  # fmt: skip
    put(directory / "state.json", _live(id, last))
    put(directory / "recovery.json", {"session_id": id, "interrupt_reason": "timeout",
        "interrupted_at": f"{DAY}T21:45:00Z",
        "last_known_state": {"step": 4, "agent": "go-coder-agent", "action": "Writing file internal/service/auth.go"},
        "recovery_options": [{"type": "checkpoint", "target": last}], "recommended": "checkpoint"})  # fmt: skip
    put(directory / "rollback-history.json", {"session_id": id, "history": []})
    return directory


def put(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2), "utf-8")


def _points(id: str) -> Iterator[dict[str, Any]]:
    for number, (name, agent) in enumerate(zip(NAMES, AGENTS, strict=True), 1):
        time = TIMES[str(number)]
        yield {
            "id": f"cp-{number:02d}-{name}-20251228-{time}",
            "session_id": id,
            "step_number": number,
            "step_name": name,
            "created_at": f"{DAY}T{time[:2]}:{time[2:4]}:{time[4:]}Z",
            "state": {"topic": "user-authentication-service", "current_agent": agent, "max_iterations": 4,
                "quality_metrics": {"test_coverage": 12}, "metrics": {"build_pass": number == 4}},
            "outputs": {"spec": "# The spec" if number == 2 else "[from checkpoint 2]", "code_files": []},
            "files": {"created": [f"{name}.go"], "modified": []},
            "git": {"enabled": True, "branch": f"go-team/{id}", "commit_hash": f"{number}" * 40},
            "checksum": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        }  # fmt: skip


def _live(id: str, last: str) -> dict[str, Any]:
    return {
        "session_id": id,
        "saved_at": f"{DAY}T21:44:30Z",
        "save_trigger": "auto",
        "state": {"current_agent": "go-coder-agent", "current_step": 4, "max_iterations": 4,
            "breakpoint_active": False, "metrics": {"build_pass": True}},
        "context": {"last_action": "Implementing auth service layer", "pending_tasks": ["Complete token service"],
            "current_file": "internal/service/auth.go", "current_line": 67},
        "outputs": {"spec": "[Requirements spec content]", "code_files": ["cmd/main.go"],
            "partial_output": "Implementing Login method..."},
        "recovery_point": {"checkpoint": last, "actions_since_checkpoint": 12, "can_resume_from_action": True},
    }  # fmt: skip
