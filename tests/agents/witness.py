"""A second hook beside Holdfast's own: it tells the test at once what the client calls, and with which environment.

It is in the user's settings, so it changes nothing about what `holdfast init` wrote into the project's, and says what
happened without asking the code under test.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 20.0
EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch",
    "Notification", "SubagentStart", "SubagentStop", "Stop", "StopFailure", "PreCompact", "PostCompact", "SessionEnd",
)  # fmt: skip
TELLING = {"SessionStart": "source", "SessionEnd": "reason", "PreCompact": "trigger", "PostCompact": "trigger"}

TELL = """
import _socket, posix
environment = [name + b"=" + value for name, value in posix.environ.items() if name.startswith(b"CLAUDE")]
said = [b"\\0".join(environment), b"\\0\\0"]
while chunk := posix.read(0, 1 << 20):
    said.append(chunk)
connection = _socket.socket(_socket.AF_UNIX)
connection.connect(%r)
connection.sendall(b"".join(said))
"""


@dataclass(frozen=True)
class Seen:
    """One call of the client."""

    payload: dict[str, Any]
    environment: dict[str, str]

    @property
    def event(self) -> str:
        return str(self.payload["hook_event_name"])

    @property
    def name(self) -> str:
        """The event, with what tells it from others of its kind: `SessionStart(resume)`."""
        word = self.payload.get(TELLING.get(self.event, "tool_name"))
        return f"{self.event}({word})" if word else self.event

    @property
    def session(self) -> str:
        return str(self.payload["session_id"])

    @property
    def pid(self) -> int:
        return int(self.environment["CLAUDE_PID"])


class Witness:
    """Everything that clients called, in order, as it comes in."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "witness"
        self.seen: list[Seen] = []
        self._came = threading.Condition()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(self.path))
        self._listening.listen(64)
        self._thread = threading.Thread(target=self._receive)

    def hooks(self) -> dict[str, Any]:
        """The block for the user's settings."""
        handler = {"type": "command", "command": sys.executable, "args": ["-I", "-S", "-c", TELL % str(self.path)]}
        return {event: [{"hooks": [handler]}] for event in EVENTS}

    @property
    def names(self) -> list[str]:
        return [seen.name for seen in self.seen]

    def of(self, session: str) -> list[str]:
        return [seen.name for seen in self.seen if seen.session == session]

    def has_come(self, name: str, seconds: float) -> bool:
        """Whether a call of that name comes within this time."""
        with self._came:
            return self._came.wait_for(lambda: name in self.names, seconds)

    def wait_for(self, name: str, count: int = 1) -> Seen:
        """The call of that name, once it has come so often."""

        def found() -> list[Seen]:
            return [seen for seen in self.seen if seen.name == name][count - 1 :]

        with self._came:
            assert self._came.wait_for(found, PATIENCE), f"{name} never came: {self.names}"
            return found()[0]

    def _receive(self) -> None:
        while True:
            connection, _ = self._listening.accept()
            with connection, connection.makefile("rb") as stream:
                data = stream.read()
            if not data:
                return
            with self._came:
                self.seen.append(_seen(data))
                self._came.notify_all()

    def __enter__(self) -> Witness:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(str(self.path))
        self._thread.join()
        self._listening.close()


def _seen(data: bytes) -> Seen:
    head, _, payload = data.partition(b"\0\0")
    pairs = (pair.decode("utf-8", "replace").partition("=") for pair in head.split(b"\0"))
    return Seen(json.loads(payload), {name: value for name, _, value in pairs})
