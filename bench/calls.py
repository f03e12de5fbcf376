"""Hook calls as a coding agent makes them: the shapes that were recorded, with contents made up to size.

Texts are made of words and numbers, so that they compress about as source and logs do; what is read twice is the same
text twice, because agents read the same files again and again.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from holdfast.core.model import Draft

VOCABULARY = """
    return raise import from self client retry timeout error value result response request header body status token
    session store event journal commit branch merge test assert expect fixture build index cache queue lock write read
    open close flush parse format encode decode stream buffer chunk limit offset count total price cart
"""
WORDS = VOCABULARY.split()
PAPER = 1_000_000  # characters
FILES = 40  # files of the project that the agent reads and edits
SESSION = "fd900cb8-fbe6-446a-8680-c40ea9af317a"
PROJECT = "/home/dev/src/webshop"

Value = dict[str, Any]


class Payload(NamedTuple):
    event: str
    value: Value

    @property
    def data(self) -> bytes:
        return json.dumps(self.value).encode()


def sentence(chance: random.Random, words: int = 8) -> str:
    return " ".join(chance.choices(WORDS, k=words))


def text(chance: random.Random, size: int) -> str:
    """This many characters out of what looks like source or a log, hardly ever the same twice."""
    begin = chance.randrange(PAPER - size)
    return _paper()[begin : begin + size]


@functools.cache
def _paper() -> str:
    chance = random.Random(7)
    lines = (
        f"{' ' * 4 * chance.randrange(4)}{sentence(chance, chance.randrange(3, 12))} {chance.randrange(10**6)}"
        for _ in range(PAPER // 40)
    )
    return "\n".join(lines)


def sized(size: int, seed: int = 0) -> bytes:
    """One call of this many bytes; another seed, another call."""
    chance = random.Random(seed)
    answer = {"stdout": "", "stderr": ""}
    payload = Payload("PostToolUse", _tool(chance, "PostToolUse", "Bash", {"command": sentence(chance)}, answer))
    answer["stdout"] = sentence(chance, size)[: size - len(payload.data)]
    return payload.data


def mix(seed: int = 0) -> Iterator[Payload]:
    """An agent's day, for ever: prompts, commands, files read and edited, ends of turns.

    Another seed, another day in the same project.
    """
    chance = random.Random(seed)
    while True:
        yield Payload("UserPromptSubmit", _call(chance, "UserPromptSubmit", prompt=sentence(chance, 40)))
        for _ in range(chance.randrange(3, 15)):
            yield from _tool_use(chance, _files())
        yield Payload("Stop", _call(chance, "Stop", last_assistant_message=sentence(chance, 60)))


@functools.cache
def _files() -> list[str]:
    chance = random.Random(8)
    return [text(chance, chance.randrange(2_000, 20_000)) for _ in range(FILES)]


def _tool_use(chance: random.Random, files: list[str]) -> Iterator[Payload]:
    """A tool that is asked and answers: half of them commands, every second command one that says the same again."""
    number = chance.randrange(FILES)
    path = f"{PROJECT}/src/module_{number}.py"
    uses: list[tuple[str, Value, Value]] = [
        ("Bash", {"command": sentence(chance)}, {"stdout": text(chance, chance.randrange(100, 4_000)), "stderr": ""}),
        ("Bash", {"command": "python -m pytest -q"}, {"stdout": files[number % 5], "stderr": ""}),
        ("Read", {"file_path": path}, {"type": "text", "file": {"filePath": path, "content": files[number]}}),
        ("Edit", {"file_path": path, "old_string": text(chance, 200), "new_string": text(chance, 300)},
         {"filePath": path, "originalFile": files[number], "userModified": False}),
    ]  # fmt: skip
    name, given, answer = chance.choice(uses)
    yield Payload("PreToolUse", _tool(chance, "PreToolUse", name, given))
    yield Payload("PostToolUse", _tool(chance, "PostToolUse", name, given, answer))


def _tool(chance: random.Random, event: str, name: str, given: Value, answer: Value | None = None) -> Value:
    use = {"tool_name": name, "tool_input": given, "tool_use_id": f"toolu_{chance.getrandbits(64):016x}"}
    rest = {"tool_response": answer, "duration_ms": chance.randrange(5_000)} if answer is not None else {}
    return _call(chance, event, effort={"level": "medium"}, **use, **rest)


def _call(chance: random.Random, event: str, **fields: Any) -> Value:
    return {
        "session_id": SESSION,
        "transcript_path": f"/home/dev/.claude/projects/-home-dev-src-webshop/{SESSION}.jsonl",
        "cwd": PROJECT,
        "prompt_id": f"{chance.getrandbits(128):032x}",
        "permission_mode": "default",
        "hook_event_name": event,
        **fields,
    }


def as_draft(payload: Payload) -> Draft:
    """The event that this call becomes when it is taken in."""
    body = {
        "agent": "claude",
        "event": payload.event,
        "call": payload.value,
        "directory": PROJECT,
        "process": "21046 pid:[4026531836] 21046 (claude) S 1 21046 21046 0 -1 4194304 120000 0 0 0 900 200 0 0 20 0",
        "boot": "5be07b4c-3d4b-4e58-a37a-6f1f6a1ec1f4",
        "monotonic": 90_071_992_547_409,
    }
    return Draft("call.kept", body, time=datetime.now(UTC), agent="claude")
