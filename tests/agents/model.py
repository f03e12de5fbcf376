"""A model that says what the prompt tells it to, over Anthropic's Messages API, and remembers all it was asked.

The newest message of the user that holds directives is the script, and the n-th request after it gets its n-th step;
so there is nothing to remember between requests, and resuming or asking again changes nothing.

    @@say TEXT            answer with this, which ends the turn
    @@tool NAME {JSON}    call one tool
    @@aside TEXT          say this before the next step, in the same answer
    @@usage N             say with the next step that N tokens were read
    @@hang                begin to answer and never go on
    @@error CODE          refuse to answer, with this status of HTTP

A script can also be kept with the model, in `scripts`, under words of the prompt that it belongs to.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE = 20.0
BRIEF = "# Where run "
SUMMARY = "The conversation so far, in short."
REFUSAL = "The model is not to be had."
UNSCRIPTED = "Nothing was scripted."
DIRECTIVE = re.compile(r"@@(say|tool|aside|usage|hang|error)\b[ \t]*")
SUMMARISE = re.compile(r"create a detailed summary of (?:the|this|our)", re.IGNORECASE)


@dataclass
class Step:
    """One answer of the model."""

    block: dict[str, Any] | None = None  # none: it hangs
    usage: int = 1000
    error: int = 0
    aside: str = ""

    @property
    def stop_reason(self) -> str:
        return "tool_use" if self.block and self.block["type"] == "tool_use" else "end_turn"


@dataclass
class Request:
    """What the model was asked."""

    body: dict[str, Any]
    turns: list[tuple[str, str]] = field(init=False)  # role and text

    def __post_init__(self) -> None:
        self.turns = [part for turn in self.body.get("messages", []) for part in _parts(turn["role"], turn["content"])]

    @property
    def text(self) -> str:
        """Every text in it, the system prompt first."""
        return "\n".join([_text(self.body.get("system")), *(text for _, text in self.turns)])

    @property
    def told(self) -> str:
        """The newest brief in it, without what the client adds of its own."""
        texts = [text for role, text in self.turns if role != "assistant" and BRIEF in text]
        return texts[-1][texts[-1].rindex(BRIEF) :].partition("\n\n# ")[0] if texts else ""

    @property
    def is_summary(self) -> bool:
        """Whether it asks for a summary, as compaction does."""
        asked = next((text for role, text in reversed(self.turns) if role == "user" and text), "")
        return bool(SUMMARISE.search(asked))

    @property
    def is_turn(self) -> bool:
        """Whether it is a step of the conversation itself, and not a title or a summary of it."""
        return bool(self.body.get("tools")) and not self.is_summary

    def next_step(self, scripts: dict[str, str] | None = None) -> Step:
        if self.is_summary:
            return say(f"<analysis>none</analysis>\n<summary>{SUMMARY}</summary>")
        answered = 0
        for role, text in reversed(self.turns):
            script = next((kept for words, kept in (scripts or {}).items() if words in text), text)
            scripted = DIRECTIVE.search(script)
            if SUMMARY in text and not scripted:  # the script before it is spent
                break
            if role == "assistant":
                answered += 1
            elif role == "user" and scripted and self.is_turn:
                return [*parse(script), *[say(UNSCRIPTED)] * (answered + 1)][answered]
        return say(UNSCRIPTED)


def _parts(role: str, content: Any) -> list[tuple[str, str]]:
    """One for each text of the user, so that the newest one is the script; one for a whole answer of the model."""
    if role == "assistant" or isinstance(content, str):
        return [(role, _text(content))]
    return [(role, block.get("text") or "") for block in content]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text") or "" for block in content or [])


def say(text: str) -> Step:
    return Step({"type": "text", "text": text})


def parse(script: str) -> list[Step]:
    """The steps of a script, in order."""
    steps: list[Step] = []
    usage, aside = 1000, ""
    found = DIRECTIVE.search(script)
    while found:
        kind, at = found[1], found.end()
        if kind == "usage":
            usage = int(script[at:].split()[0])
        elif kind == "aside":
            aside = script[at:].partition("@@")[0].strip()
        else:
            step, at = _step(kind, script, at)
            step.usage, usage = usage, 1000
            step.aside, aside = aside, ""
            steps.append(step)
        found = DIRECTIVE.search(script, at)
    return steps


def _step(kind: str, script: str, at: int) -> tuple[Step, int]:
    if kind == "hang":
        return Step(), at
    if kind == "say":
        return say(re.split(r"@@|\s*<", script[at:])[0].strip()), at
    name = script[at:].split()[0]
    if kind == "error":
        return Step(error=int(name)), at
    start = script.index("{", at)
    value, end = json.JSONDecoder(strict=False).raw_decode(script, start)
    call = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": name, "input": value}
    return Step(call), end


class Model(ThreadingHTTPServer):
    """`with Model(cage.listen()) as model:` serves until it is left."""

    daemon_threads = True

    def __init__(self, listening: socket.socket) -> None:
        super().__init__(listening.getsockname(), Answer, bind_and_activate=False)
        self.socket.close()
        self.socket = listening
        self.server_address = listening.getsockname()
        self.requests: list[Request] = []
        self.scripts: dict[str, str] = {}
        self.asked = threading.Condition()
        self.closed = threading.Event()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    @property
    def turns(self) -> list[Request]:
        return [request for request in self.requests if request.is_turn]

    def note(self, request: Request) -> None:
        with self.asked:
            self.requests.append(request)
            self.asked.notify_all()

    def wait_for(self, wanted: Callable[[Request], bool]) -> Request:
        """The first request of that kind, once it has come."""
        with self.asked:
            assert self.asked.wait_for(lambda: any(map(wanted, self.requests)), PATIENCE), "the model was not asked"
            return next(filter(wanted, self.requests))

    def __enter__(self) -> Model:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.closed.set()
        self.shutdown()
        self._thread.join()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed leaves its connection; that is no error of ours."""


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, format: str, *args: Any) -> None:
        """The requests are kept; nobody needs lines about them."""

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        self._json({"data": [], "has_more": False})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": len(json.dumps(body)) // 4})
        elif path.endswith("/messages"):
            request = Request(body)
            self.server.note(request)
            step = request.next_step(self.server.scripts)
            if step.error:
                self._json({"type": "error", "error": {"type": "api_error", "message": REFUSAL}}, step.error)
            else:
                self._message(request, step)
        else:
            self._json({})

    def _json(self, value: Any, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.send_header("x-should-retry", "false")  # else the client would try for minutes
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _message(self, request: Request, step: Step) -> None:
        tokens = {"input_tokens": step.usage, "output_tokens": 20}
        message: dict[str, Any] = {
            "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": request.body.get("model"),
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": tokens,
        }  # fmt: skip
        if not request.body.get("stream"):
            self._json({**message, "content": [step.block], "stop_reason": step.stop_reason})
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self._event("message_start", message=message)
        if step.block is None:
            self.server.closed.wait()
            return
        blocks = [*([{"type": "text", "text": step.aside}] if step.aside else []), step.block]
        for index, block in enumerate(blocks):
            self._block(block, index)
        self._event("message_delta", delta={"stop_reason": step.stop_reason, "stop_sequence": None}, usage=tokens)
        self._event("message_stop")

    def _block(self, block: dict[str, Any], index: int) -> None:
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        self._event("content_block_start", index=index, content_block=empty)
        self._event("content_block_delta", index=index, delta=delta)
        self._event("content_block_stop", index=index)

    def _event(self, kind: str, **fields: Any) -> None:
        self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode())
        self.wfile.flush()
