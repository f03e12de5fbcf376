"""A verb exists once, in the registry, and every surface has what the registry says."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module

import holdfast
from holdfast.operations.commands import ALIASES, COMMANDS, load_all, load_verbs
from holdfast.operations.parameters import Kind
from holdfast.operations.registry import FAMILIES, Verb
from holdfast.surfaces.cli import render
from holdfast.surfaces.cli.command_line import command_line

from .tree import ROOT, functions, modules, used_names

VERBS = load_all()
NOT_ON_THE_COMMAND_LINE = {"prompt": "only hooks know prompts", "recover": "`resume` asks how to recover"}


def declared() -> set[str]:
    """Every public function of an operation whose first argument is a workspace."""
    found = set()
    for module in modules().values():
        if module.folder == "operations":
            for function in module.tree.body:
                if isinstance(function, ast.FunctionDef) and _takes_a_workspace(function):
                    found.add(function.name)
    return found


def _takes_a_workspace(function: ast.FunctionDef) -> bool:
    first = [*function.args.posonlyargs, *function.args.args][:1]
    annotation = first[0].annotation if first else None
    return not function.name.startswith("_") and annotation is not None and ast.unparse(annotation) == "Workspace"


def test_every_public_operation_is_registered() -> None:
    assert declared() == set(VERBS)
    assert {"start", "status", "decide", "verify", "config_set"} <= set(VERBS)


def test_what_is_generated_from_the_registry_is_what_the_decorators_say() -> None:
    line = [sys.executable, "scripts/registry", "--check"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_every_verb_can_be_called_from_python() -> None:
    assert [verb.name for verb in VERBS.values() if getattr(holdfast, verb.name) is not verb.function] == []
    assert set(VERBS) - set(holdfast.__all__) == set()


def test_every_verb_says_in_words_and_types_what_it_gives_back() -> None:
    assert [verb.name for verb in VERBS.values() if not verb.function.__doc__] == []
    returned = {name: verb.function.__annotations__["return"] for name, verb in VERBS.items()}
    assert [name for name, kind in returned.items() if kind in ("None", None)] == []


def test_every_verb_is_on_the_command_line_with_an_example_of_it() -> None:
    assert {name for name, verb in VERBS.items() if verb.command is None} == set(NOT_ON_THE_COMMAND_LINE)
    commands = [verb for verb in VERBS.values() if verb.command is not None]
    assert [verb.name for verb in commands if verb not in load_verbs(_path(verb))] == []
    assert [verb.name for verb in commands if not verb.example.startswith(f"holdfast {verb.command}")] == []


def _path(verb: Verb) -> str:
    return " ".join(verb.words) if verb.words[0] in FAMILIES else verb.words[0]


def test_every_result_of_a_command_is_rendered() -> None:
    shown = [verb for verb in VERBS.values() if verb.command]
    for verb in shown:
        import_module(f"holdfast.surfaces.cli.render.{render.HOMES[verb.module]}")
    known = {name.rpartition(".")[2] for name in render.RENDERERS}
    returned = {verb.name: set(verb.function.__annotations__["return"].split(" | ")) for verb in shown}
    assert {name: missing for name, names in returned.items() if (missing := names - known)} == {}


def test_a_group_is_given_to_commands_and_not_to_their_variants() -> None:
    are_alone = {verb.name for verb in VERBS.values() if verb.command is not None and " " not in verb.command}
    assert {verb.name for verb in VERBS.values() if verb.group is not None} == are_alone


def test_about_twenty_commands_are_common() -> None:
    assert 18 <= sum(command.common for command in COMMANDS.values()) <= 28


def test_an_alias_is_no_command_and_leads_to_one() -> None:
    assert set(ALIASES) & set(COMMANDS) == set()
    assert [alias for alias, path in ALIASES.items() if not load_verbs(path)] == []


def test_an_option_of_a_command_means_one_thing() -> None:
    options = {word: _options(word) for word in COMMANDS if word not in FAMILIES}
    assert {word: names for word, names in options.items() if len(names) != len(set(names))} == {}


def _options(word: str) -> list[str]:
    return [name for parameter in command_line(word).parameters for name in parameter.names]


def test_every_parameter_is_explained_and_a_choice_is_one_of_several() -> None:
    parameters = [(verb.name, parameter) for verb in VERBS.values() for parameter in verb.parameters]
    needless = (Kind.AS_JSON, Kind.PATHS)
    explained = [(verb, each) for verb, each in parameters if each.help or each.is_argument or each.kind in needless]
    assert explained == parameters
    assert [(verb, each.names) for verb, each in parameters if len(each.choices) == 1] == []


TALKING = {"print", "input", "sys.exit", "sys.stdout", "sys.stderr", "sys.stdin", "click"}


def test_no_operation_prints_asks_or_exits() -> None:
    operations = {name: module for name, module in modules().items() if module.folder == "operations"}
    assert {name: found for name, module in operations.items() if (found := used_names(module) & TALKING)} == {}


def test_no_verb_of_the_command_line_is_declared_outside_the_registry() -> None:
    """Options come from the registry; only the commands of the command line itself declare their own."""
    declaring = re.compile(r"click\.(option|argument|command)\(")
    found = {name for name, module in modules().items() if declaring.search(module.text)}
    assert found == {"surfaces.cli.parser"}
    own = {function.name for function in functions(modules()["surfaces.cli.parser"]) if function.decorator_list}
    assert {"completion", "help", "holdfast"} <= own
