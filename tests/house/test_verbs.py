"""Completeness of the verbs: each exists once and is on every surface, or a table gives the reason why not."""

from __future__ import annotations

import ast
import functools
from keyword import iskeyword

import holdfast
from holdfast.surfaces.cli.commands import DAILY, GROUPS, VERBS

from .tree import functions, modules, used_names

# verb: its command, if its name differs
COMMANDS = {
    "everywhere": "runs --all-projects",
    "report": "show --markdown",
    "picture": "show --svg",
    "add_task": "task add",
    "finish_task": "task done",
    "list_tasks": "task list",
    "config_get": "config get",
    "import_claude": "import --claude",
    "import_run": "import",
    "continue_restore": "restore --continue",
    "undo_restore": "restore --undo",
    "config_list": "config list",
    "config_set": "config set",
    "sizes": "runs --size",
    "start_step": "step start",
    "complete_step": "step complete",
    "fail_step": "step fail",
    "list_steps": "step list",
    "start_agent": "agent start",
    "progress_agent": "agent progress",
    "complete_agent": "agent complete",
    "fail_agent": "agent fail",
    "list_agents": "agent list",
    "recover": "resume --choose",
    "delete_checkpoint": "checkpoints delete",
    "validate_checkpoints": "checkpoints validate",
    "export_checkpoints": "checkpoints export",
    "past_runs": "history",  # the name of the command is taken by a module
    "list_trusted": "trust --list",
    "session_load": "session-load",
    "session_save": "session-save",
    "restore_backup": "restore-backup",
}
NOT_ON_THE_COMMAND_LINE = {"prompt": "only hooks and programs know what an agent was asked"}
ONLY_ON_THE_COMMAND_LINE = {
    "completion": "it belongs to the shell",
    "continue": "a second name for `resume`",
    "done": "a second name for `task done`",
    "load": "a second name for `session-load`",
    "prime-context": "a third name for `session-load`",
    "session-end": "a second name for `session-save`",
}
# A verb starts from the current state: it ingests first. Exceptions, with the reason:
WITHOUT_TAKING_IN = {
    "verify": "it changes nothing, or it would hide what it looks for",
    "repair": "taking in writes to a store that may be damaged; what it mends the next command takes in",
    "restore_backup": "what is there is about to be replaced, and calls wait in the inbox meanwhile",
    "init": "there may be nothing to take in from yet",
    "uninit": "settings are not in the journal, and what is purged need not be taken in",
    "doctor": "it changes nothing, and says what waits",
    "off": "it only leaves a mark",
    "trust": "trust is not in the journal",
    "untrust": "trust is not in the journal",
    "list_trusted": "trust is not in the journal",
    "on": "it only takes the mark away",
    "config_get": "settings are not in the journal",
    "config_list": "settings are not in the journal",
    "config_set": "settings are not in the journal",
    "sweep": "it is the taking in itself, and says what it found",
}


def verbs() -> dict[str, tuple[str, ast.FunctionDef]]:
    """Every verb with its module: a public function in `operations` whose first argument is a workspace."""
    found = {}
    for name, module in modules().items():
        if module.folder == "operations":
            for function in module.tree.body:
                if isinstance(function, ast.FunctionDef) and _takes_a_workspace(function):
                    found[function.name] = (name, function)
    return found


def _takes_a_workspace(function: ast.FunctionDef) -> bool:
    first = [*function.args.posonlyargs, *function.args.args][:1]
    is_public = not function.name.startswith("_")
    return (
        is_public
        and bool(first)
        and first[0].annotation is not None
        and ast.unparse(first[0].annotation) == "Workspace"
    )


def command_of(verb: str) -> str:
    return COMMANDS.get(verb, verb)


def test_the_verbs_are_found() -> None:
    assert {"start", "status", "decide", "verify", "config_set"} <= set(verbs())


def test_every_verb_can_be_called_from_python() -> None:
    homes = {verb: home for verb, (home, _) in verbs().items()}
    assert [verb for verb, home in homes.items() if verb not in holdfast.HOMES.get(home, "").split()] == []
    assert set(verbs()) - set(holdfast.__all__) == set()


def test_every_verb_is_on_the_command_line() -> None:
    words = {verb: command_of(verb).split()[0] for verb in verbs() if verb not in NOT_ON_THE_COMMAND_LINE}
    missing = {word for word in words.values() if word not in VERBS}
    assert missing == set(), "put it into cli/commands.py, or into NOT_ON_THE_COMMAND_LINE with the reason"
    surfaces = {verb: f"surfaces.cli.{VERBS[word].module}" for verb, word in words.items()}
    assert {verb: surface for verb, surface in surfaces.items() if not is_called(verb, surface)} == {}


def is_called(verb: str, surface: str) -> bool:
    places = (surface, "surfaces.cli.render.checkpoints", "surfaces.cli.render.session")
    return any(name.endswith(f".{verb}") for place in places for name in names_used_in(place))


@functools.cache
def names_used_in(name: str) -> set[str]:
    return used_names(modules()[name])


def test_every_command_is_a_verb_or_has_its_reason() -> None:
    words = {command_of(verb).split()[0] for verb in verbs()}
    assert set(VERBS) - words == set(ONLY_ON_THE_COMMAND_LINE)


def test_the_tables_name_only_verbs_that_are_there() -> None:
    assert {*COMMANDS, *NOT_ON_THE_COMMAND_LINE, *WITHOUT_TAKING_IN} <= set(verbs())


def test_every_verb_takes_in_first_or_has_its_reason() -> None:
    decorators = {verb: set(map(ast.unparse, function.decorator_list)) for verb, (_, function) in verbs().items()}
    assert {verb for verb, names in decorators.items() if "verb" not in names} == set(WITHOUT_TAKING_IN)


def test_every_verb_says_in_words_and_types_what_it_gives_back() -> None:
    functions = {verb: function for verb, (_, function) in verbs().items()}
    assert [verb for verb, function in functions.items() if not ast.get_docstring(function)] == []
    returned = {verb: function.returns and ast.unparse(function.returns) for verb, function in functions.items()}
    assert [verb for verb, kind in returned.items() if kind in (None, "None")] == []


TALKING = {"print", "input", "sys.exit", "sys.stdout", "sys.stderr", "sys.stdin", "click"}


def test_no_operation_prints_asks_or_exits() -> None:
    operations = {name: module for name, module in modules().items() if module.folder == "operations"}
    assert {name: found for name, module in operations.items() if (found := used_names(module) & TALKING)} == {}


def test_the_help_names_every_group_and_the_daily_verbs_are_verbs() -> None:
    assert {verb.group for verb in VERBS.values()} == set(GROUPS)
    assert set(DAILY) <= set(VERBS)
    assert len(DAILY) == 6


def test_every_command_module_defines_its_commands() -> None:
    for name, verb in VERBS.items():
        surface = modules()[f"surfaces.cli.{verb.module}"]
        defined = {function.name for function in functions(surface)}
        assigned = [target for node in surface.tree.body if isinstance(node, ast.Assign) for target in node.targets]
        defined |= {found.id for target in assigned for found in ast.walk(target) if isinstance(found, ast.Name)}
        wanted = name.replace("-", "_") + "_" * iskeyword(name)
        assert wanted in defined, f"{surface} does not define {name}"
