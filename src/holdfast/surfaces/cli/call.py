"""The call of a verb for a command line: its questions are asked, and its result becomes text."""

from __future__ import annotations

import os
import sys
from typing import Any

from holdfast.core.errors import Ambiguous, NotAProject, WrongUsage
from holdfast.core.question import Instead, Tell, confirmation
from holdfast.operations.commands import get_verb
from holdfast.operations.parameters import Kind
from holdfast.operations.registry import Verb
from holdfast.project.workspace import Workspace
from holdfast.surfaces.cli import questions, terminal
from holdfast.surfaces.cli.command_line import CommandLine, Typed
from holdfast.surfaces.cli.render import View, render
from holdfast.surfaces.cli.runner import Manner, Said, is_terminal

NAMES = (Kind.RUN, Kind.CHECKPOINT)  # kinds of parameters that one of several choices can answer


def carry_out(workspace: Workspace, line: CommandLine, typed: Typed, manner: Manner) -> Said:
    try:
        return _carry_out(workspace, line, typed, manner)
    except NotAProject as error:
        if not is_terminal():
            raise
        questions.answer_to(confirmation(f"{error.message}. Make a store here?", "holdfast init"))
        workspace.allows_broad = True
    return _carry_out(workspace, line, typed, manner)


def _carry_out(workspace: Workspace, line: CommandLine, typed: Typed, manner: Manner) -> Said:
    try:
        return _call(workspace, line, typed, manner)
    except Ambiguous as error:
        kinds = [(parameter.kind, parameter.target) for parameter in line.parameters]
        target = next((target for kind in NAMES for is_kind, target in kinds if is_kind is kind), None)
        if target is None or not is_terminal() or not error.facts or os.environ.get("HOLDFAST_RUN"):
            raise
        return _call(workspace, line, {**typed, target: questions.pick(error)}, manner)


def _call(workspace: Workspace, line: CommandLine, typed: Typed, manner: Manner) -> Said:
    try:
        verb, given = line.choose(typed)
    except WrongUsage as error:
        if not error.hints:
            error.hints = [f"`holdfast {line.path} --help`"]
        raise
    return perform(workspace, verb, given, manner)


def perform(workspace: Workspace, verb: Verb, given: dict[str, Any], manner: Manner) -> Said:
    """Ask what has to be asked, call, and render the result."""
    while verb.asks and (wanted := verb.asks(workspace, given, is_terminal())):
        if isinstance(wanted, Instead):
            return perform(workspace, get_verb(wanted.verb), wanted.arguments, manner)
        if isinstance(wanted, Tell):
            terminal.emit(wanted.lines, sys.stderr)
            continue
        given |= {**wanted.arguments, wanted.parameter: questions.answer_to(wanted)}
    as_json = {each.target: manner.as_json for each in verb.parameters if each.kind is Kind.AS_JSON}
    found = verb.call(workspace, {**given, **as_json})
    while verb.follows and (question := verb.follows(workspace, given, found)):
        if isinstance(question, Instead):
            return perform(workspace, get_verb(question.verb), question.arguments, manner)
        if question.unseen:
            questions.refuse_unseen(question.unseen)
        elif not is_terminal():
            break
        assert question.act is not None
        answer = questions.answer_to(question)
        given[question.parameter] = answer
        found = question.act(answer)
    return render(found, View(workspace, verb, given))
