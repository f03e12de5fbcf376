"""What a team tells of its run: who has it now, whether it waits for an answer, what it has given, and its measures."""

from __future__ import annotations

import re
from typing import Annotated

from msgspec import Struct

from holdfast.core.errors import WrongUsage
from holdfast.core.fold.team import KEY, LISTS, MOST_KEYS, TEXT
from holdfast.core.lifecycle import Move, transition
from holdfast.core.model import Body, Draft, Run
from holdfast.core.text import checked, one_line, sound_text
from holdfast.operations.parameters import Kind, RunName, argument
from holdfast.operations.verb import Group, verb
from holdfast.project.runs import select
from holdfast.project.workspace import Workspace

NUMBER = re.compile(r"[+-]?\d{1,15}")
DECIMAL = re.compile(r"[+-]?\d{1,15}\.\d{1,15}%?|[+-]?\d{1,15}%")
WORDS = {"true": True, "false": False, "yes": True, "no": False, "pass": True, "fail": False}


class Handed(Struct):
    run: str
    agent: str
    before: str | None  # who had it
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


@verb(group=Group.GO_TEAM, example="holdfast handoff test-agent")
def handoff(workspace: Workspace, agent: Annotated[str, argument()], *, run: RunName = None) -> Handed:
    """Hand a run on to another agent."""
    name = one_line(workspace.clean({"agent": checked(agent, "agent", 200)})["agent"])
    with workspace.writing() as journal:
        found = _open(select.get_run(workspace, journal, run))
        before = found.standing.agent
        if before != name:
            journal.append(found.id, Draft("handoff.made", {"agent": name}))
        return Handed(found.id, name, before, before != name)


@verb(group=Group.GO_TEAM, example="holdfast breakpoint on", about="a run waits for an answer, or goes on")
def breakpoint(
    workspace: Workspace,
    on: Annotated[bool, argument(metavar="on|off", means={"on": True, "off": False})],
    *,
    run: RunName = None,
) -> Breakpoint:
    """Say that a run waits for somebody to answer, or that it goes on."""
    with workspace.writing() as journal:
        found = _open(select.get_run(workspace, journal, run))
        changed = found.standing.is_waiting is not on
        if changed:
            journal.append(found.id, Draft("breakpoint.set", {"on": on}))
        return Breakpoint(found.id, on, changed)


@verb(group=Group.GO_TEAM, example="holdfast output spec docs/spec.md", about="keep what a step has given")
def output(
    workspace: Workspace,
    key: Annotated[str, argument()],
    text: Annotated[str, argument(metavar="FILE|-", kind=Kind.CONTENT)],
    *,
    run: RunName = None,
) -> Given:
    """Keep what a step has given, from a file or from standard input. Keys that list things take one a line."""
    if len(text) > TEXT:
        facts = [("characters", len(text)), ("limit", TEXT)]
        raise WrongUsage("This output is too long", facts, ["keep it in a file of the project, and give its path"])
    said = sound_text(text)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    body: Body = workspace.clean({"key": key, "items": lines} if key in LISTS else {"key": key, "text": said})
    key, value = _key(body["key"]), body["items"] if "items" in body else body["text"]
    with workspace.writing() as journal:
        found = _room(_open(select.get_run(workspace, journal, run)), key)
        changed = found.standing.outputs.get(key) != value
        if changed:
            journal.append(found.id, Draft("output.given", body))
        return Given(found.id, key, value, changed)


@verb(group=Group.GO_TEAM, example="holdfast metric test_coverage 85", about="keep a measure of a run")
def metric(
    workspace: Workspace, key: Annotated[str, argument()], value: Annotated[str, argument()], *, run: RunName = None
) -> Given:
    """Keep a measure of a run: a number, yes or no, or a short text."""
    body: Body = workspace.clean({"key": key, "value": _measure(checked(value, "value", 200))})
    key, measured = _key(body["key"]), body["value"]
    with workspace.writing() as journal:
        found = _room(_open(select.get_run(workspace, journal, run)), key)
        before = found.standing.metrics.get(key)
        changed = before is None or (type(before), before) != (type(measured), measured)
        if changed:
            journal.append(found.id, Draft("metric.given", body))
        return Given(found.id, key, measured, changed)


def _open(run: Run) -> Run:
    transition(run.status, Move.RESUME)  # refuses what has ended
    return run


def _room(run: Run, key: str) -> Run:
    for known in (run.standing.outputs, run.standing.metrics):
        if key not in known and len(known) >= MOST_KEYS:
            raise WrongUsage("A run cannot have more keys than this", [("keys", MOST_KEYS)], ["use one that it has"])
    return run


def _key(key: str) -> str:
    if not KEY.fullmatch(key):
        facts = [("key", one_line(key, 60))]
        raise WrongUsage("A key is a short word of letters, digits, `_`, `.` and `-`", facts, ["such as test_coverage"])
    return key


def _measure(text: str) -> bool | int | float | str:
    """`85` and `85 %` are numbers, `true`, `yes` and `pass` are yes; anything else is a text."""
    plain = text.strip().lower().replace(" %", "%")
    if plain in WORDS:
        return WORDS[plain]
    if NUMBER.fullmatch(plain):
        return int(plain)
    if DECIMAL.fullmatch(plain):
        number = float(plain.removesuffix("%"))
        return int(number) if number.is_integer() and plain.endswith("%") else number
    return one_line(text)
