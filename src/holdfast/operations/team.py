"""Go Team verbs: handoff, breakpoint, outputs and metrics of a run; removal of the files of old runs."""

from __future__ import annotations

import re
from typing import Annotated, Any

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.fold.team import KEY, LISTS, MOST_KEYS, TEXT
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Body, Draft, Run
from holdfast.core.question import Choose, confirmation
from holdfast.core.text import checked, count, one_line, sound_text
from holdfast.layouts.registry import present
from holdfast.operations.parameters import DryRun, Kind, RunName, argument, option
from holdfast.operations.verb import Arguments, Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

NUMBER = re.compile(r"[+-]?\d{1,15}")
DECIMAL = re.compile(r"[+-]?\d{1,15}\.\d{1,15}%?|[+-]?\d{1,15}%")
WORDS = {"true": True, "false": False, "yes": True, "no": False, "pass": True, "fail": False}
DAYS, KEPT = 30, 5


class Handed(Struct):
    run: str
    agent: str
    before: str | None  # the agent before
    changed: bool


class Breakpoint(Struct):
    run: str
    on: bool
    changed: bool


class Given(Struct):
    run: str
    key: str
    value: bool | int | float | str | list[str]
    changed: bool


class Cleaned(Struct):
    runs: list[str]  # whose files were removed, or would be
    topics: list[str]
    kept: int  # ended runs whose files stay
    dry_run: bool


@verb(group=Group.GO_TEAM, example="holdfast handoff test-agent")
def handoff(workspace: Workspace, agent: Annotated[str, argument()], *, run: RunName = None) -> Handed:
    """Hand a run over to another agent."""
    name = one_line(workspace.clean({"agent": checked(agent, "agent", 200)})["agent"])
    with workspace.writing() as journal:
        found = _open(select.get_run(workspace, journal, run))
        before = found.standing.agent
        if before != name:
            journal.append(found.id, Draft("handoff.made", {"agent": name}))
        return Handed(found.id, name, before, before != name)


@verb(group=Group.GO_TEAM, example="holdfast breakpoint on", about="make a run wait for an answer, or go on")
def breakpoint(
    workspace: Workspace,
    on: Annotated[bool, argument(metavar="on|off", means={"on": True, "off": False})],
    *,
    run: RunName = None,
) -> Breakpoint:
    """Make a run wait for an answer, or let it go on."""
    with workspace.writing() as journal:
        found = _open(select.get_run(workspace, journal, run))
        changed = found.standing.is_waiting is not on
        if changed:
            journal.append(found.id, Draft("breakpoint.set", {"on": on}))
        return Breakpoint(found.id, on, changed)


@verb(group=Group.GO_TEAM, example="holdfast output spec docs/spec.md", about="store an output of a step")
def output(
    workspace: Workspace,
    key: Annotated[str, argument()],
    text: Annotated[str, argument(metavar="FILE|-", kind=Kind.CONTENT)],
    *,
    run: RunName = None,
) -> Given:
    """Store an output of a step, from a file or from standard input. A key that holds a list takes one item a line."""
    if len(text) > TEXT:
        facts = [("characters", len(text)), ("limit", TEXT)]
        raise WrongUsage("This output is too long", facts, ["write it to a file of the project, and store its path"])
    text = sound_text(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    body: Body = workspace.clean({"key": key, "items": lines} if key in LISTS else {"key": key, "text": text})
    return _store(workspace, run, "output.given", body, body["items"] if "items" in body else body["text"])


@verb(group=Group.GO_TEAM, example="holdfast metric test_coverage 85", about="store a metric of a run")
def metric(
    workspace: Workspace, key: Annotated[str, argument()], value: Annotated[str, argument()], *, run: RunName = None
) -> Given:
    """Store a metric of a run: a number, a yes or no, or a short text."""
    body: Body = workspace.clean({"key": key, "value": _measure(checked(value, "value", 200))})
    return _store(workspace, run, "metric.given", body, body["value"])


def _ask_to_clean_up(workspace: Workspace, given: Arguments) -> Choose | None:
    days, keep = given.get("days", DAYS), given.get("keep", KEPT)
    planned = cleanup(workspace, days=days, keep=keep, dry_run=True)
    prompt = f"Remove the files of {count(len(planned.runs), 'run')}?"
    command = f"holdfast cleanup --older-than {days} --keep {keep}"
    return confirmation(prompt, command, about=planned) if planned.runs else None


@verb(
    group=Group.GO_TEAM,
    example="holdfast cleanup --older-than 30 --keep 5",
    about="remove the files of old Go Team runs",
    confirms=_ask_to_clean_up,
)
def cleanup(
    workspace: Workspace,
    *,
    days: Annotated[
        int, option("--older-than", least=0, most=36_500, metavar="DAYS", help="Minimum age; 30 by default.")
    ] = DAYS,
    keep: Annotated[int, option(least=0, most=100_000, metavar="N", help="Keep the newest N; 5 by default.")] = KEPT,
    dry_run: DryRun = False,
) -> Cleaned:
    """Remove the files of completed and abandoned Go Team runs. The journal keeps their content.

    Checkpoints stay, and so do the files of a run with a pinned one.
    """
    found = [layout.clean_up(workspace, days, keep, dry_run=dry_run) for layout in present(workspace)]
    gone = [run for runs, _ in found for run in runs]
    return Cleaned([run.id for run in gone], [run.title for run in gone], sum(kept for _, kept in found), dry_run)


def _open(run: Run) -> Run:
    transition(run.status, Move.RESUME)  # refuses a run that has ended
    return run


def _store(workspace: Workspace, run: str | None, kind: str, body: Body, value: Any) -> Given:
    key: str = body["key"]
    if not KEY.fullmatch(key):
        facts = [("key", one_line(key, 60))]
        raise WrongUsage("A key is a short word of letters, digits, `_`, `.` and `-`", facts, ["such as test_coverage"])
    with workspace.writing() as journal:
        found = _open(select.get_run(workspace, journal, run))
        outputs, metrics = found.standing.outputs, found.standing.metrics
        if any(key not in known and len(known) >= MOST_KEYS for known in (outputs, metrics)):
            raise WrongUsage("A run cannot have more keys than this", [("keys", MOST_KEYS)], ["use one that it has"])
        before = (outputs if kind == "output.given" else metrics).get(key)
        changed = (type(before), before) != (type(value), value)  # 1 is not true
        if changed:
            journal.append(found.id, Draft(kind, body))
        return Given(found.id, key, value, changed)


def _measure(text: str) -> bool | int | float | str:
    """Parse a metric: `85` and `85 %` are numbers; `true`, `yes` and `pass` are true; anything else is text."""
    plain = text.strip().lower().replace(" %", "%")
    if plain in WORDS:
        return WORDS[plain]
    if NUMBER.fullmatch(plain):
        return int(plain)
    if DECIMAL.fullmatch(plain):
        number = float(plain.removesuffix("%"))
        return int(number) if number.is_integer() and plain.endswith("%") else number
    return one_line(text)
