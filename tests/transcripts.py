"""Transcripts of Claude Code, in the form that version 2.1.325 writes, made by hand."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

BEGUN = datetime(2026, 1, 1, 9, tzinfo=UTC)
MODEL = "claude-opus-5-5"
Line = dict[str, Any]


class Transcript:
    """The lines of one conversation; each a second after the one before."""

    def __init__(self, directory: str, conversation: str = "c1", begun: datetime = BEGUN) -> None:
        self.directory = directory
        self.conversation = conversation
        self.lines: list[Line | bytes] = []
        self._time = begun

    def add(self, kind: str, **fields: Any) -> Line:
        self._time += timedelta(seconds=1)
        line = {
            "type": kind,
            "isSidechain": False,
            "uuid": str(uuid.uuid4()),
            "timestamp": self._time.isoformat().replace("+00:00", "Z"),
            "cwd": self.directory,
            "sessionId": self.conversation,
            "version": "2.1.325",
            **fields,
        }
        self.lines.append(line)
        return line

    def prompt(self, text: str, **fields: Any) -> Line:
        return self.add("user", **{"promptId": "p1", "message": {"role": "user", "content": text}, **fields})

    def answer(self, *content: Line, tokens: int = 1000, output: int = 20, **fields: Any) -> Line:
        stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
        usage = {
            "input_tokens": tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": output,
        }
        message = {"id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "model": MODEL, "content": list(content)}
        return self.add("assistant", **{"message": {**message, "stop_reason": stop, "usage": usage}, **fields})

    def say(self, text: str, **fields: Any) -> Line:
        return self.answer({"type": "text", "text": text}, **fields)

    def call(self, key: str, name: str, **fields: Any) -> Line:
        return self.answer({"type": "tool_use", "id": key, "name": name, "input": fields})

    def result(self, key: str, text: str = "done", is_error: bool = False) -> Line:
        block = {"type": "tool_result", "tool_use_id": key, "content": text, "is_error": is_error}
        return self.add("user", message={"role": "user", "content": [block]})

    def compact(self, left: int | None = 2_000) -> None:
        about = {"trigger": "manual", "preTokens": 100_000, **({"postTokens": left} if left is not None else {})}
        self.add("system", subtype="compact_boundary", content="Conversation compacted", compactMetadata=about)
        self.prompt("This session is being continued.\nSummary:\nWe did it.", isCompactSummary=True)

    def cost(self, dollars: float) -> None:
        self.lines.append({"type": "cost-state", "sessionId": self.conversation, "totalCostUSD": dollars})

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = (line if isinstance(line, bytes) else json.dumps(line).encode() for line in self.lines)
        path.write_bytes(b"".join(line + b"\n" for line in lines))
        return path


def folder(home: Path, directory: Path) -> Path:
    """Where the client keeps the transcripts of a directory."""
    name = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in str(directory))
    return home / ".claude" / "projects" / name
