"""Session files of the orchestrator in every form that was ever in use; each call makes a new one."""

from __future__ import annotations

from typing import Any

File = dict[str, Any]


def schema_1_0() -> File:
    """As the document of the session state shows it."""
    return {
        "schema_version": "1.0",
        "session_id": "2025-12-27-abc123",
        "created": "2025-12-27T10:30:00Z",
        "updated": "2025-12-27T11:45:00Z",
        "project": {"name": "aiterm", "path": "/Users/dev/projects/aiterm", "git_branch": "dev"},
        "goal": "Add sensitivity analysis to RMediation::medci()",
        "mode": "default",
        "status": "in_progress",
        "agents": [
            {
                "id": "arch-1",
                "type": "arch",
                "task": "Design sensitivity API",
                "status": "complete",
                "started": "2025-12-27T10:30:00Z",
                "completed": "2025-12-27T10:32:00Z",
                "result_summary": "3 methods proposed: bootstrap, delta, MCMC",
                "context_tokens": 1500,
            },
            {
                "id": "code-1",
                "type": "code",
                "task": "Implement primary method",
                "status": "in_progress",
                "started": "2025-12-27T10:32:00Z",
                "progress": 60,
                "context_tokens": 3200,
            },
        ],
        "completed_work": [
            {"task": "Architecture design", "outcome": "3 methods proposed", "files": ["R/sensitivity.R"]}
        ],
        "pending_tasks": ["Complete code-1 implementation", "Add unit tests", "Update documentation"],
        "decisions_made": [
            {
                "decision": "Use bootstrap for confidence intervals",
                "rationale": "Best balance of accuracy and performance",
                "timestamp": "2025-12-27T10:31:00Z",
            }
        ],
        "context_usage": {"estimated_tokens": 25000, "percentage": 20, "last_compression": None},
        "errors": [],
    }


def predecessor() -> File:
    """As it was before it had a version."""
    return {
        "session_id": "2025-12-27-abc123",
        "started": "2025-12-27T10:30:00",
        "goal": "Add sensitivity analysis to RMediation",
        "agents": [
            {
                "id": "arch-1",
                "type": "arch",
                "task": "Design sensitivity API",
                "status": "complete",
                "result_summary": "3 methods proposed",
            },
            {
                "id": "code-1",
                "type": "code",
                "task": "Implement primary method",
                "status": "in_progress",
                "progress": 60,
            },
        ],
        "completed_work": ["✅ Architecture design complete", "✅ Test stubs created"],
        "next_actions": ["Complete code-1 implementation", "Run test suite"],
        "decisions_made": [{"decision": "Use bootstrap for CI", "rationale": "Performance"}],
    }


def resume_command() -> File:
    """As the page of the resume command showed it."""
    return {
        "session_id": "abc123-def456",
        "created_at": "2025-11-17T14:30:00Z",
        "updated_at": "2025-11-17T14:45:00Z",
        "device": "MacBook Pro",
        "project": "/path/to/my-app",
        "goal": "Add authentication system",
        "mode": "default",
        "status": "in_progress",
        "progress": 0.65,
        "agents": [
            {
                "id": "arch-1",
                "type": "backend-architect",
                "status": "completed",
                "started_at": "2025-11-17T14:30:15Z",
                "completed_at": "2025-11-17T14:32:30Z",
                "duration_seconds": 135,
                "result": "success",
            },
            {
                "id": "code-1",
                "type": "feature-dev",
                "status": "in_progress",
                "started_at": "2025-11-17T14:33:00Z",
                "progress": 0.6,
                "blocking_on": None,
            },
        ],
        "completed_work": ["Architecture design (OAuth 2.0 with PKCE)", "Code stubs created (src/auth/oauth.ts)"],
        "pending_tasks": ["Complete code-1 implementation", "Add unit tests", "Update documentation"],
        "files_modified": ["src/auth/oauth.ts", "src/middleware/auth.ts"],
        "context_usage": {"estimated_tokens": 25000, "last_compression": None},
        "teleportation": {"enabled": True, "devices": ["MacBook Pro", "iMac"]},
    }


def teleport() -> File:
    """The schema 1.0.0 that sessions were to move between machines in."""
    file = resume_command()
    file["$schema"] = "https://example.org/schemas/session-state-v1.json"
    file["schema_version"] = "1.0.0"
    file["session_id"] = "abc12345-def6-7890-ghij-klmnopqrstuv"
    artifacts = {"files_created": ["docs/auth.md"], "files_modified": [], "files_deleted": []}
    nothing: File = {"blocking_on": None, "error": None, "output_summary": None, "artifacts": artifacts}
    file["agents"] = [
        {**file["agents"][0], **nothing, "progress": 1.0, "output_summary": "OAuth 2.0 designed with PKCE flow"},
        {**file["agents"][1], **nothing, "status": "running", "completed_at": None, "result": None},
        {
            **nothing,
            "id": "test-1",
            "type": "test-gen",
            "status": "timeout",
            "started_at": "2025-11-17T14:33:00Z",
            "progress": 0.2,
            "error": {"category": "transient", "message": "no answer", "retry_count": 3, "last_retry_at": None},
        },
    ]
    file["decisions_made"] = [
        {
            "timestamp": "2025-11-17T14:32:45.000Z",
            "context": "Authentication method selection",
            "options": ["JWT", "Session Cookies", "Hybrid"],
            "chosen": "Hybrid",
            "reasoning": "Balance of scalability and security",
        }
    ]
    file["context_usage"] = {
        "estimated_tokens": 25000,
        "compression_count": 0,
        "last_compression": None,
        "by_agent": {"arch-1": 8000, "code-1": 12000},
    }
    file["metadata"] = {"git_branch": "feature/auth", "tags": ["authentication"]}
    return file


GENERATIONS = {
    "schema 1.0": schema_1_0,
    "the predecessor": predecessor,
    "the resume command": resume_command,
    "teleport": teleport,
}
