"""Isolation of the agents: outside `agents/` no code has the name of an event, an agent or a payload's key."""

from __future__ import annotations

import ast
import re

from holdfast.agents import generic_client, registry

from .tree import Module, modules, own_imports, texts

EVENTS = {event for name in registry.NAMES for event in registry.find_client(name).MOMENTS}
VARIABLES = {"CLAUDE", "CLAUDECODE", "CODEX", "COPILOT", "GEMINI", "CURSOR"}  # first words of clients' variables
PAYLOAD = re.compile(r"payload(\.get\(|\[)[\"']")
# module: allowed names and imports of agents, with the reason
MAY_SAY = {"operations.import_run": {"claude"}}  # the verb is named after it
MAY_IMPORT = {  # FABER is a plugin of Claude Code
    "layouts.faber.client_hooks": {"agents.claude.hooks"},
    "layouts.faber.workflows": {"agents.claude.installed"},
}


def said(module: Module) -> set[str]:
    """The names of events, agents and variables among the string literals of a module."""
    names = {*EVENTS, *generic_client.MOMENTS, *registry.NAMES}
    return {text for text in texts(module) if text in names or text.partition("_")[0] in VARIABLES}


def outside() -> dict[str, Module]:
    return {name: module for name, module in modules().items() if module.folder != "agents"}


def test_no_module_outside_names_an_event_an_agent_or_its_variables() -> None:
    assert {name: names for name, module in outside().items() if (names := said(module))} == MAY_SAY


def test_no_module_outside_imports_a_single_agent() -> None:
    folders = tuple(f"agents.{name}." for name in registry.NAMES)
    found = {
        name: {other for other in own_imports(module) if f"{other}.".startswith(folders)}
        for name, module in outside().items()
    }
    assert {name: names for name, names in found.items() if names} == MAY_IMPORT


def test_no_module_outside_reads_a_payload_by_its_keys() -> None:
    assert [name for name, module in outside().items() if PAYLOAD.search(module.text)] == []


def test_such_names_are_known_when_they_are_seen() -> None:
    adapter = modules()["agents.claude.events"]
    assert {"SessionStart", "UserPromptSubmit"} <= said(adapter)
    assert isinstance(adapter.tree, ast.Module)
