"""What the other tests here rest on: nothing leaves the cage, and the model says what the prompt tells it to."""

from __future__ import annotations

import json
import subprocess

from tests.agents.cage import Cage
from tests.agents.model import Model, Request, parse

ASK = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], sys.argv[2].encode()).read().decode())"


def asked(cage: Cage, model: Model, text: str) -> str:
    """What the model answers to somebody in the cage."""
    body = json.dumps({"messages": [{"role": "user", "content": text}], "tools": [{}]})
    command = cage.inside("python3", "-c", ASK, f"{model.url}/v1/messages", body)
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return str(json.loads(out)["content"][0]["text"])


def test_cage_has_loopback_and_no_way_out(cage: Cage) -> None:
    links = subprocess.run(cage.inside("ip", "-o", "link"), capture_output=True, text=True, check=True).stdout
    routes = subprocess.run(cage.inside("ip", "route"), capture_output=True, text=True, check=True).stdout
    assert ([line.split()[1] for line in links.splitlines()], routes) == (["lo:"], "")


def test_model_in_the_cage_answers_and_remembers_what_it_was_asked(cage: Cage, model: Model) -> None:
    assert asked(cage, model, "be kind @@say hello") == "hello"
    assert [request.text.strip() for request in model.turns] == ["be kind @@say hello"]


def test_newest_script_is_followed_one_step_an_answer() -> None:
    script = '@@usage 7 @@tool Bash {"command": "echo @@say no"} @@say done'
    assert [(step.stop_reason, step.usage) for step in parse(script)] == [("tool_use", 7), ("end_turn", 1000)]
    turns = [("user", "@@say old"), ("assistant", "old"), ("user", script), ("assistant", ""), ("user", "a result")]
    request = Request({"messages": [{"role": role, "content": text} for role, text in turns], "tools": [{}]})
    assert request.next_step().block == {"type": "text", "text": "done"}
