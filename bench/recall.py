"""What the next session is told of the last one: planted facts that its brief holds word for word.

A session is played through the hooks as the client calls them: an agent's day, and in it facts of five kinds, which
nobody repeats; and a longer one, with findings that the agent said and nobody recorded. Then the conversation ends, is
cleared, or is compacted, and the answer of the next start is searched.
"""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import holdfast
from bench import calls, findings
from bench.ground import ENTRY, ground, python
from bench.report import Measure, Report
from bench.timing import Failed

FACTS = 60
AMOUNTS, BUDGETS = (20, FACTS, 200), (2_500, 10_000, 40_000)
USUAL = 10_000  # characters that the client takes
NEEDED = 0.95
FOUND = [text for _, _, found in findings.FINDINGS.values() for text in found]
FOUND_AGAIN = 0.9  # of what the agent only said
LONGEST = 80
DAY = 4  # calls of a usual day between two facts
ENDS = {"startup": "a restart", "clear": "`/clear`", "compact": "compaction"}
Plant = Callable[["Play", str, random.Random], None]


class Fact(NamedTuple):
    kind: str
    text: str


class Play:
    """One conversation with an agent, as its hooks tell it."""

    def __init__(self, project: Path) -> None:
        self.project = project
        self.name = f"play-{project.name}"
        self.environ = {**os.environ, "CLAUDE_PROJECT_DIR": str(project), "CLAUDE_PID": str(os.getpid())}

    def call(self, event: str, **fields: Any) -> None:
        self._run(python("-I", "-S", str(ENTRY), "claude", event), event, fields)

    def asks(self, event: str, **fields: Any) -> str:
        """What the model is told in answer."""
        out = self._run(python("-I", "-m", "holdfast", "hook", "claude", event), event, fields)
        return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""

    def summarise(self) -> str:
        """What whoever writes the summary is told before the conversation is compacted."""
        return self._run(
            python("-I", "-m", "holdfast", "hook", "claude", "PreCompact"), "PreCompact", {"trigger": "auto"}
        )

    def does(self, tool: str, given: dict[str, Any], answer: str = "") -> None:
        use = {"tool_name": tool, "tool_input": given, "tool_use_id": f"toolu_{random.getrandbits(64):016x}"}
        self.call("PreToolUse", **use)
        self.call("PostToolBatch", tool_calls=[{**use, "tool_response": answer}])

    def _run(self, command: list[str], event: str, fields: dict[str, Any]) -> str:
        body = {"session_id": self.name, "cwd": str(self.project), "hook_event_name": event, **fields}
        done = subprocess.run(
            command, cwd=self.project, env=self.environ, input=json.dumps(body, separators=(",", ":")),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode or done.stderr:
            raise Failed(f"{event}: {done.stderr or done.returncode}")
        return done.stdout


def measure(quick: bool, say: Callable[[str], None]) -> Report:
    measures: list[Measure] = []
    rows = ["| facts | with no tool | " + " | ".join(f"{budget:,} characters" for budget in BUDGETS) + " |"]
    rows.append("| ---: |" + " ---: |" * (len(BUDGETS) + 1))
    with ground() as directory:
        for amount in (FACTS,) if quick else AMOUNTS:
            say(f"planting {amount} facts")
            play, facts = _plant(directory / f"with-{amount}", amount)
            shares = [_share(facts, _brief(play.project, budget)) for budget in BUDGETS]
            rows.append(
                f"| {amount} | {_untold(directory, facts)} | " + " | ".join(f"{share:.0%}" for share in shares) + " |"
            )
            if amount == FACTS:
                for source, name in ENDS.items():
                    measures.append(_after(play, "facts", [fact.text for fact in facts], NEEDED, source, name))
        say("planting findings")
        play = _talk(directory / "findings")
        for source, name in ENDS.items():
            measures.append(_after(play, "findings", FOUND, FOUND_AGAIN, source, name))
    return Report(measures, [], ["\n".join(rows)])


def _after(play: Play, kind: str, texts: list[str], needed: float, source: str, name: str) -> Measure:
    """Let the conversation come to this end, and look at what the model is told next."""
    if source == "compact":
        play.summarise()
    else:
        play.call("SessionEnd", reason="clear" if source == "clear" else "other")
        play.name += f"-{source}"
    told = play.asks("SessionStart", source=source)
    if len(told) > USUAL:
        raise Failed(f"after {name} the brief has {len(told):,} characters")
    missing = sum(text not in told for text in texts)
    allowed = len(texts) - math.ceil(len(texts) * needed)
    return Measure(f"{kind} missing of {len(texts)} in {USUAL:,} characters after {name}", missing, allowed)


def _begin(project: Path) -> Play:
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    with holdfast.open(project) as workspace:
        holdfast.init(workspace, agent="none")
    play = Play(project)
    play.call("SessionStart", source="startup")
    return play


def _talk(project: Path) -> Play:
    """A conversation of many turns in which the agent says findings that nobody records, and then only "Done."."""
    play = _begin(project)
    day = _day(random.Random(len(FOUND)))
    turns = [findings.turn(number)[:2] for number in range(1, findings.TURNS + 1)]
    for prompt, answer in [*turns, findings.LAST]:
        play.call("UserPromptSubmit", prompt=prompt)
        play.does(*next(day))
        play.call("Stop", last_assistant_message=answer)
    return play


def _plant(project: Path, amount: int) -> tuple[Play, list[Fact]]:
    chance = random.Random(amount)
    play = _begin(project)
    play.call("UserPromptSubmit", prompt=calls.sentence(chance, 60))
    kinds = list(PLANTS)
    facts = [Fact(kinds[number % len(kinds)], _fact(chance, number)) for number in range(amount)]
    day = _day(chance)
    for fact in facts:
        for _ in range(DAY):
            tool, given, answer = next(day)
            play.does(tool, given, answer)
        PLANTS[fact.kind](play, fact.text, chance)
    return play, facts


def _fact(chance: random.Random, number: int) -> str:
    """Something that nobody says twice, and that is a good name of a file as well."""
    return f"{'-'.join(chance.choices(calls.WORDS, k=6))}-{number}{chance.randrange(1000)}"[-LONGEST:].lstrip("-")


def _day(chance: random.Random) -> Iterator[tuple[str, dict[str, Any], str]]:
    """What an agent does all day: it reads, searches, and runs what passes."""
    while True:
        yield "Read", {"file_path": f"src/module_{chance.randrange(40)}.py"}, calls.text(chance, 2_000)
        yield "Grep", {"pattern": calls.sentence(chance, 2)}, calls.text(chance, 500)
        yield "Bash", {"command": calls.sentence(chance, 12)}, calls.text(chance, 1_000)


def _decision(play: Play, fact: str, chance: random.Random) -> None:
    with holdfast.open(play.project) as workspace:
        holdfast.decide(workspace, fact, because=calls.sentence(chance, 6))


def _task(play: Play, fact: str, chance: random.Random) -> None:
    play.call("TaskCreated", task_id=fact, task_subject=fact)


def _file(play: Play, fact: str, chance: random.Random) -> None:
    play.does("Edit", {"file_path": f"{play.project}/{fact}", "old_string": "a", "new_string": "b"})


def _error(play: Play, fact: str, chance: random.Random) -> None:
    use = {"tool_name": "Bash", "tool_input": {"command": calls.sentence(chance)}, "tool_use_id": f"toolu_{fact}"}
    play.call("PreToolUse", **use)
    play.call("PostToolUseFailure", **use, error=f"Exit code 1\n{fact}")


def _correction(play: Play, fact: str, chance: random.Random) -> None:
    play.call("Stop", last_assistant_message=calls.sentence(chance, 60))
    play.call("UserPromptSubmit", prompt=f"No. {fact}. {calls.sentence(chance, 10)}")


PLANTS: dict[str, Plant] = {
    "decision": _decision, "task": _task, "file": _file, "error": _error, "correction": _correction,
}  # fmt: skip


def _untold(directory: Path, facts: list[Fact]) -> str:
    """The share that the next request of the real client holds where nobody keeps anything."""
    try:
        from tests.agents.cage import Cage, NoCage
        from tests.agents.client import NotHere, get_claude
        from tests.agents.model import Model
    except ImportError:
        return "not measured"
    try:
        program = str(get_claude())
        with Cage() as cage, Model(cage.listen()) as model:
            environ = {
                "HOME": str(directory), "PATH": os.defpath, "ANTHROPIC_BASE_URL": model.url,
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            }  # fmt: skip
            for prompt in ("\n".join(fact.text for fact in facts), "Go on"):
                command = cage.inside(program, "-p", f"{prompt} @@say ok")
                subprocess.run(
                    command, cwd=directory, env=environ, check=True, stdin=subprocess.DEVNULL, capture_output=True
                )
            first, last = model.turns[0], model.turns[-1]
    except (NoCage, NotHere, OSError, subprocess.CalledProcessError):
        return "not measured"
    if _share(facts, first.text) < 1:
        raise Failed("the client did not tell its model what it was told")
    return f"{_share(facts, last.text):.0%}"


def _brief(project: Path, budget: int) -> str:
    with holdfast.open(project) as workspace:
        return holdfast.brief(workspace, budget=budget).text


def _share(facts: list[Fact], text: str) -> float:
    return sum(fact.text in text for fact in facts) / len(facts)
