"""The plugin for Claude Code as it is shipped: its commands name verbs that exist, its hooks are what the code says."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import hatchling.build
import pytest

import holdfast
from holdfast.agents import hook_command
from holdfast.agents.claude import hooks as hooking
from holdfast.surfaces.cli.parser import holdfast as application
from tests.house.tree import ROOT

COMMANDS = {
    "session-load", "session-save", "status", "brief", "resume", "continue", "save", "history", "abort", "budget",
    "checkpoint", "rollback", "step", "decide", "task", "prime-context", "load", "session-end",
}  # fmt: skip
FABERS = {"session-load", "session-save", "prime-context", "session-end"}
PAGES = sorted(hooking.DIRECTORY.rglob("*.md"))
NAMES = [str(page.relative_to(hooking.DIRECTORY)) for page in PAGES]
PHRASES = ("session state", "save session", "load session", "resume session", "session history")


def head_of(page: Path) -> dict[str, str]:
    """What stands between the two lines of dashes."""
    lines = page.read_text().partition("---\n")[2].partition("\n---\n")[0].splitlines()
    return {key: value for key, _, value in (line.partition(": ") for line in lines)}


def said_to_run(page: Path) -> Iterator[str]:
    """Every command line of ours that a page names."""
    yield from re.findall(r"`(holdfast [^`]+)`", page.read_text().replace("`'\\''`", ""))


def allowed(page: Path) -> list[str]:
    return re.findall(r"Bash\((holdfast [^:]+):\*\)", head_of(page)["allowed-tools"])


def understand(line: str) -> None:
    """Let the command line read it, with a number for every word in capitals."""
    command: click.Command = application
    words = ["1000" if word.isupper() else word for word in shlex.split(line)][1:]
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"there is no {words[0]}: {line}"
        command, words = found, words[1:]
    if not isinstance(command, click.Group):
        assert command.make_context("holdfast", words).args == []


def test_the_commands_are_those_that_are_promised() -> None:
    assert {path.stem for path in (hooking.DIRECTORY / "commands").iterdir()} == COMMANDS


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_everything_that_a_page_tells_the_model_to_run_is_understood(page: Path) -> None:
    lines = [*said_to_run(page)]
    assert lines
    for line in lines:
        understand(line)


def test_a_page_that_names_what_does_not_exist_would_be_seen() -> None:
    for line in ("holdfast nothing", "holdfast decide 'TEXT' --nothing 'WHY'", "holdfast task nothing"):
        with pytest.raises((AssertionError, click.UsageError)):
            understand(line)


def test_fabers_own_names_are_in_a_plugin_of_that_name() -> None:
    assert {path.stem for path in (hooking.DIRECTORY / "faber" / "commands").iterdir()} == FABERS


@pytest.mark.parametrize("name", [*sorted(COMMANDS), *(f"faber/{name}" for name in sorted(FABERS))])
def test_a_slash_command_says_what_it_is_and_may_run_only_our_verbs(name: str) -> None:
    place, _, name = name.rpartition("/")
    page = hooking.DIRECTORY / place / "commands" / f"{name}.md"
    head = head_of(page)
    assert head["description"]
    assert json.loads(head["argument-hint"])
    assert head["disable-model-invocation"] == "true"
    tools = allowed(page)
    assert head["allowed-tools"] == ", ".join(f"Bash({tool}:*)" for tool in tools)
    assert tools[0] == f"holdfast {name}"
    named = set(said_to_run(page))
    outside = {line for line in named if not any(f"{line} ".startswith(f"{tool} ") for tool in tools)}
    assert outside <= {"holdfast undo"}, "the model is told to run what it may not run"
    assert "$ARGUMENTS" in page.read_text()


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_what_the_client_runs_by_itself_holds_nothing_that_the_user_typed(page: Path) -> None:
    """It is put into a shell as it stands, so an apostrophe would break it, and `;` would be another command."""
    for line in re.findall(r"!`([^`]*)`", page.read_text()):
        assert "$" not in line
        assert any(line.startswith(tool) for tool in allowed(page))


def test_the_skill_answers_to_the_words_of_the_documents() -> None:
    head = head_of(hooking.DIRECTORY / "skills" / "session-state" / "SKILL.md")
    assert head["name"] == "session-state"
    assert [phrase for phrase in PHRASES if f'"{phrase}"' not in head["description"]] == []
    assert len(head["description"]) <= 1024, "more than that, the client does not take"


def test_the_hooks_are_what_the_code_says() -> None:
    text = (hooking.DIRECTORY / "hooks" / "hooks.json").read_text()
    assert text == json.dumps(hooking.plugin(), indent=2) + "\n"


def test_the_hooks_are_those_of_init() -> None:
    hooks: Any = hooking.plugin()["hooks"]
    assert hooks.keys() == hooking.block("project", "", "").keys()
    for event, groups in hooks.items():
        (call,) = groups[0]["hooks"]
        assert hook_command.is_ours(call)
        assert call["timeout"] == hooking.block("project", "", "")[event]["timeout"]


@pytest.mark.parametrize(("place", "name"), [(".", hooking.OUR_PLUGIN), ("faber", hooking.FABER_PLUGIN)])
def test_each_plugin_has_the_version_of_the_package(place: str, name: str) -> None:
    described = json.loads((hooking.DIRECTORY / place / ".claude-plugin" / "plugin.json").read_bytes())
    assert (described["name"], described["version"]) == (name, holdfast.__version__)


def test_the_marketplace_offers_the_plugin_beside_it() -> None:
    offered = json.loads((hooking.DIRECTORY / ".claude-plugin" / "marketplace.json").read_bytes())
    assert offered["name"] == hooking.OUR_PLUGIN
    assert [(plugin["name"], plugin["source"]) for plugin in offered["plugins"]] == [
        (hooking.OUR_PLUGIN, "./"),
        (hooking.FABER_PLUGIN, "./faber"),
    ]


def test_a_directory_with_a_space_can_be_pasted() -> None:
    for line in hooking.plugin_commands("/a b/plugin")[:2]:
        assert shlex.split(line)[-1] == "/a b/plugin"


# What is shipped


def built(directory: Path, monkeypatch: pytest.MonkeyPatch, build: str) -> set[str]:
    """The names in a wheel of this project."""
    monkeypatch.chdir(ROOT)
    name = getattr(hatchling.build, build)(str(directory))
    with zipfile.ZipFile(directory / name) as wheel:
        return {entry.partition(".data/")[2] or entry for entry in wheel.namelist()}


def test_the_wheel_holds_the_whole_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = {
        f"holdfast/agents/claude/plugin/{path.relative_to(hooking.DIRECTORY)}"
        for path in hooking.DIRECTORY.rglob("*")
        if path.is_file()
    }
    assert len(wanted) >= len(COMMANDS) + 5
    assert wanted <= built(tmp_path, monkeypatch, "build_wheel")


@pytest.mark.parametrize("build", ["build_wheel", "build_editable"])
def test_every_way_to_install_brings_the_program_of_the_hooks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: str
) -> None:
    assert "scripts/holdfast-hook" in built(tmp_path, monkeypatch, build)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "holdfast" in project["scripts"]
