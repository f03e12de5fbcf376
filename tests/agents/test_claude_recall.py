"""Recall: of what a long conversation decided, changed, met and was told, the next one of the real client knows it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import Any

import pytest

from tests.agents.conftest import Project
from tests.agents.interactive import Interactive

NEEDED = 0.95
LONGEST = 80
SIDES = [
    "gold", "iron", "clay", "salt", "reed", "wool", "wax", "flax", "ash", "lead", "silk", "bone", "jade", "oak", "tar",
]  # fmt: skip


def facts(kind: str) -> list[str]:
    """Sentences that nobody says twice, no longer than a fact may be."""
    made = [f"the {side} side of {kind} {n} is left as it is whatever happens" for n, side in enumerate(SIDES)]
    assert max(map(len, made)) <= LONGEST
    return made


CORRECTIONS, DECISIONS, ERRORS = facts("corrections"), facts("decisions"), facts("errors")
FILES = [f"kept/{side}-file-{number}-of-those-that-were-written.txt" for number, side in enumerate(SIDES)]
FACTS = [*CORRECTIONS, *DECISIONS, *ERRORS, *FILES]


def day(project: Project) -> str:
    """The script of one turn: what an agent does all day. No prompt of it holds a fact."""
    decide = "; ".join(shlex.join([sys.executable, "-m", "holdfast", "decide", fact]) for fact in DECISIONS)
    bashes = [decide, *(f"echo {shlex.quote(fact)} >&2; false" for fact in ERRORS)]
    steps = [
        *(("Bash", {"command": command}) for command in bashes),
        *(("Write", {"file_path": str(project.directory / file), "content": "new\n"}) for file in FILES),
    ]
    return " ".join([*(f"@@tool {name} {json.dumps(given)}" for name, given in steps), "@@say done"])


def converse(project: Project, *prompts: str) -> str:
    """One client, without a terminal, that is asked one thing after the other; answers with its conversation."""
    streams = ["--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]
    result: dict[str, Any] = {}
    with subprocess.Popen(
        project.cage.inside(str(project.program), "-p", *streams),
        cwd=project.directory, env=project.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as client:  # fmt: skip
        assert client.stdin is not None
        assert client.stdout is not None
        for prompt in prompts:
            client.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}) + "\n")
            client.stdin.flush()
            result = next(told for line in client.stdout if (told := json.loads(line))["type"] == "result")
        client.stdin.close()
        client.stdout.read()
    return str(result["session_id"])


@pytest.fixture
def conversation(project: Project) -> str:
    """A conversation in which all the facts were told or came to be; its files are such that git does not show."""
    (project.directory / ".git" / "info" / "exclude").write_text("/kept\n")
    project.model.scripts["Do what has to be done"] = day(project)
    corrections = [f"No: {fact}. @@say I see" for fact in CORRECTIONS]
    return converse(project, "Do what has to be done", *corrections)


def ask(project: Project, claude: Interactive, prompt: str) -> str:
    """Type a prompt; answers with the brief that the model had then."""
    turns = project.witness.names.count("Stop")
    claude.type(prompt)
    project.witness.wait_for("Stop", turns + 1)
    return project.model.turns[-1].told


def share(text: str) -> float:
    return sum(fact in text for fact in FACTS) / len(FACTS)


def test_next_conversation_knows_nearly_everything_however_it_begins(project: Project, conversation: str) -> None:
    (run,) = project.runs()
    kept = {"decisions": len(run.decisions), "errors": len(run.errors), "files": len(run.files)}
    assert {**kept, "corrections": len(run.prompts) - 1} == dict.fromkeys([*kept, "corrections"], len(SIDES))
    told = {"startup": project.claude("and now @@say on it").turns[0].told}
    with project.interactive("--resume", conversation, begins="resume") as claude:
        claude.type("/clear")
        project.witness.wait_for("SessionStart(clear)")
        told["clear"] = ask(project, claude, "where are we @@say there")
        claude.type("/compact")
        project.witness.wait_for("PostCompact(manual)")
        told["compact"] = ask(project, claude, "and so @@say on it")
    assert {way: len(text) <= 10_000 for way, text in told.items()} == dict.fromkeys(told, True)
    assert {way: share(text) for way, text in told.items() if share(text) < NEEDED} == {}


def test_without_us_the_next_conversation_knows_nothing(project: Project) -> None:
    project.holdfast("uninit")
    told = "Remember: " + "\n".join(FACTS)
    assert share(project.claude(f"{told}\n@@say I do").turns[0].text) == 1
    assert share(project.claude("and now @@say on it").turns[0].text) == 0
