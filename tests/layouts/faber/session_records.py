"""Books of session records, and those who open them: at five o'clock, by hand, in the build phase."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from holdfast.layouts.faber.session_records import Book, Opening
from tests.faber_states import HOST

NOW = datetime(2026, 1, 7, 17, 0, 0, tzinfo=UTC)
OPEN = "claude-session-20260107-155946"
ENVIRONMENT = {"hostname": HOST, "platform": "linux", "cwd": "/src", "git_commit": "abc1234"}

# Where a record was opened, and whether that is another place than HERE.
HERE: dict[str, Any] = {"hostname": "desk.example.org", "cwd": "/src/shop/lib", "git_commit": None}

ORIGINS: list[tuple[str, object, bool]] = [
    ("the same", {"hostname": "desk", "cwd": "/src/shop/lib", "worktree": "/src/shop"}, False),
    ("the same host in another network", {"hostname": "Desk.fritz.box", "worktree": "/src/shop"}, False),
    ("a directory of the worktree", {"hostname": "desk", "cwd": "/src/shop/lib"}, False),
    ("the worktree counts more than the directory", {"cwd": "/", "worktree": "/src/shop"}, False),
    ("unknown", {}, False),
    ("no object", "desk", False),
    ("another host", {"hostname": "laptop", "cwd": "/src/shop", "worktree": "/src/shop"}, True),
    ("another worktree", {"hostname": "desk", "cwd": "/src/shop", "worktree": "/src/shop/trees/two"}, True),
    ("another directory", {"hostname": "desk", "cwd": "/src/shop2"}, True),
]


def opening(minutes: float = 0, **over: Any) -> Opening:
    """Somebody loads by hand, so many minutes after five o'clock."""
    now = NOW + timedelta(minutes=minutes)
    given = {"id": f"claude-session-{now:%Y%m%d-%H%M%S}-abc123", "environment": ENVIRONMENT, "phase": "build"}
    return Opening(**{"now": now, **given, **over})


def a_load(*ids: str) -> list[dict[str, Any]]:
    return [{"id": id, "source": f"{id}.md", "size": 7} for id in ids]


def a_book(*records: dict[str, Any], current: str | None = OPEN, **context: Any) -> Book:
    return Book(
        {
            "sessions": {"current_session_id": current, "session_history": list(records)},
            "context_metadata": context or None,
        }
    )


def in_context(id: str, time: str) -> dict[str, Any]:
    return {"artifact_id": id, "loaded_at": time, "load_trigger": "manual"}
