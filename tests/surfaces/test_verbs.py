"""Every verb on the command line: what goes where, what it says to programs, what it says about itself."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest

import holdfast
from holdfast.operations.commands import ALIASES, COMMANDS
from holdfast.surfaces.cli.parser import holdfast as program
from holdfast.surfaces.cli.runner import WORDS as VERBS
from tests.surfaces.commands import CASES, WITH_JSON, Case, Known, fits, groups, leaves
from tests.tools import Command

PROGRESS = re.compile(r"^[a-z ]+: [0-9,]+ of [0-9,]+\n", re.MULTILINE)  # shown where the machine is slow
every_command = pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
every_command_with_json = pytest.mark.parametrize("case", WITH_JSON, ids=lambda case: case.words)
every_help = pytest.mark.parametrize("words", [*leaves(), *groups()])


def test_the_table_of_commands_is_complete() -> None:
    assert sorted(case.words for case in CASES) == sorted(leaves())
    assert {words.split()[0] for words in leaves()} == set(VERBS)


@every_command
def test_data_goes_to_stdout_and_talk_to_stderr(case: Case, worked: Known, cli: Callable[..., Command]) -> None:
    done = cli(*case.line(worked)).ok()
    assert fits(case.data, done.out, worked), done.out
    assert fits(case.talk, PROGRESS.sub("", done.err), worked), done.err


@every_command_with_json
def test_json_is_one_object_and_nothing_else(case: Case, worked: Known, say: Callable[..., Command]) -> None:
    done = say(*case.line(worked), "--json").ok()
    assert done.err == ""
    assert done.out.endswith("}\n")
    assert done.out.count("\n") == 1
    assert list(done.json) == str(case.keys).split()


@every_command_with_json
def test_quiet_leaves_the_data_and_takes_the_talk(case: Case, worked: Known, say: Callable[..., Command]) -> None:
    done = say(*case.line(worked), "-q").ok()
    assert done.err == ""
    assert fits(case.data, done.out, worked), done.out


@every_command_with_json
def test_verbose_adds_where_the_store_is(
    case: Case, worked: Known, repository: Path, say: Callable[..., Command]
) -> None:
    done = say(*case.line(worked), "-v").ok()
    assert fits(case.data, done.out, worked), done.out
    assert done.err.endswith(f"store: {repository}/.git/holdfast\nworktree: {repository}\n")


ERRORS = [
    (("show", "nowhere"), 10, "not_found"),
    (("leave", "ses-nobody"), 10, "not_found"),
    (("show", "--at", "999"), 10, "not_found"),
    (("start", " "), 2, "wrong_usage"),
    (("note",), 2, "wrong_usage"),
    (("log", "-n", "none"), 2, "wrong_usage"),
    (("join", "--pid", "none"), 2, "wrong_usage"),
    (("log", "{run}"), 2, "wrong_usage"),
    (("checkpoint", "--run", ""), 10, "not_found"),
    (("runs", "--since", "the day before"), 2, "wrong_usage"),
    (("runs", "--status", "tired"), 2, "wrong_usage"),
    (("config", "get", "brief.size"), 2, "wrong_usage"),
    (("task", "drop"), 2, "wrong_usage"),
    (("stauts",), 2, "wrong_usage"),
    (("delete", "{run}"), 1, "refused"),
    (("forget", "1", "--yes"), 1, "refused"),
    (("config", "set", "store.deadline", "1", "--project"), 1, "refused"),
]
ONLY_IN_JSON = [
    ((), 2, "wrong_usage"),  # --json alone
]


@pytest.mark.parametrize(("arguments", "code", "kind"), [*ERRORS, *ONLY_IN_JSON])
def test_an_error_in_json_is_one_object_with_the_exit_code(
    arguments: tuple[str, ...], code: int, kind: str, worked: Known, say: Callable[..., Command]
) -> None:
    done = say(*(worked.fill(argument) for argument in arguments), "--json")
    assert done.err == ""
    assert done.out.count("\n") == 1
    assert list(done.json) == ["error"]
    error = done.json["error"]
    assert list(error) == ["kind", "message", "facts", "hints", "code"]
    assert (done.code, error["code"], error["kind"]) == (code, code, kind)
    assert error["message"]
    assert error["hints"], "an error says what to do"


@pytest.mark.parametrize(("arguments", "code", "kind"), ERRORS)
def test_an_error_for_people_is_a_sentence_and_a_way_out_on_stderr(
    arguments: tuple[str, ...], code: int, kind: str, worked: Known, say: Callable[..., Command]
) -> None:
    done = say(*(worked.fill(argument) for argument in arguments))
    assert (done.code, done.out) == (code, "")
    first, *rest = done.err.splitlines()
    assert re.fullmatch(r"holdfast: [A-Z\"].*[^.]", first), first
    assert rest
    assert rest[-1].startswith("  try: ")


def test_errors_are_said_even_when_quiet(worked: Known, say: Callable[..., Command]) -> None:
    done = say("show", "nowhere", "-q")
    assert done.code == 10
    assert 'There is no run, session or checkpoint "nowhere"' in done.err


def test_a_run_that_is_named_where_only_an_option_takes_it_is_told_how(
    worked: Known, say: Callable[..., Command]
) -> None:
    for words in ("log", "brief", "sessions", "pause", "note text"):
        assert f"try: `holdfast {words.split()[0]} --run RUN` names a run" in say(*words.split(), worked.run).err
    assert "--run" not in say("off", worked.run).err


def test_what_is_no_number_is_told_in_plain_words(worked: Known, say: Callable[..., Command]) -> None:
    assert "'none' is not a whole number" in say("join", "--pid", "none").err


@every_help
def test_help_ends_with_an_example(words: str, say: Callable[..., Command]) -> None:
    done = say(*words.split(), "--help").ok()
    assert done.err == ""
    assert done.out == say(*words.split(), "-h").out
    assert f"holdfast {words}" in example_of(done.out)


@pytest.mark.parametrize("words", leaves())
def test_the_example_in_the_help_parses(words: str, say: Callable[..., Command]) -> None:
    line = example_of(say(*words.split(), "--help").ok().out).removeprefix('eval "$(').removesuffix(')"')
    name, *arguments = shlex.split(line.replace("$$", "1"))
    assert name == "holdfast"
    command: click.Command = program
    context = click.Context(program)
    for _ in words.split():
        assert isinstance(command, click.Group)
        _, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command, context = found, click.Context(found, parent=context)
    command.parse_args(context, arguments)
    assert command is leaves()[words] or command.name == leaves()[words].name


def example_of(help: str) -> str:
    """What stands below or behind the last `Example:`, on one line."""
    found = re.search(r"Examples?:\s+(?P<line>[^\n]*(\n +[^\n]+)*)\s*\Z", help)
    assert found, f"no example at the end:\n{help}"
    return " ".join(found["line"].split())


@pytest.mark.parametrize("words", leaves())
def test_help_names_every_option(words: str, say: Callable[..., Command]) -> None:
    done = say(*words.split(), "--help").ok()
    options = [option for param in leaves()[words].params if isinstance(param, click.Option) for option in param.opts]
    assert [option for option in options if option not in done.out] == []


LISTED = re.compile(r"^  ([a-z][a-z-]*)  ", re.MULTILINE)


def test_the_help_shows_the_commands_in_daily_use_on_one_screen(say: Callable[..., Command]) -> None:
    done = say("--help").ok()
    listed = LISTED.findall(done.out)
    assert {"status", "resume", "brief", "decide", "task", "checkpoint"} <= set(listed)
    assert sorted(listed) == sorted(command.word for command in COMMANDS.values() if command.common)
    assert len(done.out.splitlines()) <= 50
    assert done.out.splitlines()[-1] == "All commands: holdfast help --all"


def test_help_all_shows_every_command_once_and_those_of_a_system_under_its_name(say: Callable[..., Command]) -> None:
    done = say("help", "--all").ok()
    assert sorted(LISTED.findall(done.out)) == sorted(set(VERBS) - set(ALIASES))
    for title, words in {"FABER": {"session-load", "session-save"}, "Go Team": {"handoff", "breakpoint"}}.items():
        below = done.out.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        assert words <= set(LISTED.findall(below))


@pytest.mark.parametrize("words", ["status", "task", "task add", "continue", "done"])
def test_help_of_a_verb_is_its_own_help(words: str, say: Callable[..., Command]) -> None:
    assert say("help", *words.split()).ok().out == say(*words.split(), "--help").ok().out


def test_help_without_a_verb_is_the_short_help(say: Callable[..., Command]) -> None:
    assert say("help").ok().out == say("--help").ok().out


def test_the_bare_command_shows_the_help(say: Callable[..., Command]) -> None:
    assert say().ok().out == say("--help").ok().out


@pytest.mark.parametrize("group", groups())
def test_a_group_without_a_verb_shows_its_help_in_lines(group: str, say: Callable[..., Command]) -> None:
    done = say(group)
    assert done.code in (0, 2)
    shown = done.out + done.err
    assert "\n  list" in shown, shown


def test_the_module_and_the_script_are_the_same_command(repository: Path) -> None:
    script = Path(sys.executable).with_name("holdfast")
    ways = [[sys.executable, "-m", "holdfast"], [str(script)]]
    for arguments in (["--version"], ["--help"], ["nonsense"]):
        done = [subprocess.run([*way, *arguments], cwd=repository, capture_output=True, check=False) for way in ways]
        answers = {(one.returncode, one.stdout, one.stderr) for one in done}
        assert len(answers) == 1, answers


@pytest.mark.parametrize("arguments", [("--version",), ("--version", "status")])
def test_the_version_is_one_line(arguments: tuple[str, ...], cli: Callable[..., Command]) -> None:
    done = cli(*arguments).ok()
    assert (done.out, done.err) == (f"holdfast {holdfast.__version__}\n", "")


def test_the_log_file_gets_a_line_per_command(tmp_path: Path, worked: Known, cli: Callable[..., Command]) -> None:
    log = tmp_path / "holdfast.log"
    for arguments in (("status",), ("note", "a secret"), ("show", "nowhere"), ("stauts",)):
        cli(*arguments, env={"HOLDFAST_LOG": str(log)})
    pattern = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ (\S+) exit=(\d+) \d+ms"
    found = [re.fullmatch(pattern, line) for line in log.read_text().splitlines()]
    assert [match.groups() if match else None for match in found] == [
        ("status", "0"), ("note", "0"), ("show", "10"), ("-", "2"),
    ]  # fmt: skip


def test_a_log_file_that_cannot_be_written_is_said_and_changes_nothing(
    tmp_path: Path, worked: Known, cli: Callable[..., Command]
) -> None:
    done = cli("note", "kept", env={"HOLDFAST_LOG": str(tmp_path)}).ok()
    assert done.out == "n2\n"
    assert "the log cannot be written" in done.err


def test_json_goes_through_a_parser_of_somebody_else(worked: Known, cli: Callable[..., Command]) -> None:
    done = cli("show", "--json").ok()
    assert json.loads(done.out)["run"]["goal"] == "Add retries to the client"
