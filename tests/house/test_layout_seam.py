"""Outside `layouts/` no code knows a layout by name, or imports one."""

from __future__ import annotations

import re

from holdfast.layouts import registry
from holdfast.layouts.protocol import NATIVE

from .tree import Module, imported, modules, texts

NAMES = {*registry.NAMES, *registry.FOLDERS.values()} - {NATIVE.NAME}
COMPARED = re.compile(r"\.layout (==|!=|is|in|not in) |\bLAYOUT\b(?!\")")
EXEMPT = {"journal.sqlite.transaction"}  # leaves out the journal's own records of worktrees, which are no layout's
SHARED = {"json_file", "protocol", "registry", "results", "save"}  # modules that belong to no layout


def outside() -> dict[str, Module]:
    return {name: module for name, module in modules().items() if module.folder != "layouts"}


def said(module: Module) -> set[str]:
    """The names of layouts among the texts of a module."""
    return NAMES & set(texts(module))


def members(module: Module) -> set[str]:
    """The modules of single layouts that a module imports."""
    found = set()
    for origin, name in imported(module.tree):
        parts = f"{origin}.{name}".split(".")
        if parts[:2] == ["holdfast", "layouts"] and len(parts) > 2 and parts[2] not in SHARED:
            found.add(".".join(parts[2:]))
    return found


def test_no_module_outside_says_the_name_of_a_layout() -> None:
    assert {name: found for name, module in outside().items() if (found := said(module))} == {}


def test_no_module_outside_imports_a_single_layout() -> None:
    assert {name: found for name, module in outside().items() if (found := members(module))} == {}


def test_no_module_outside_compares_the_layout_of_a_run() -> None:
    assert {name for name, module in outside().items() if COMPARED.search(module.text)} == EXEMPT


def test_the_shared_modules_are_beside_the_layouts() -> None:
    assert {f"layouts.{name}" for name in SHARED} <= modules().keys()


def test_such_names_are_known_when_they_are_seen() -> None:
    inside = modules()["layouts.faber"]
    assert (said(inside), bool(members(modules()["layouts.goteam.repair"]))) == ({"faber"}, True)
    assert COMPARED.search(modules()["layouts.goteam.purge"].text)
