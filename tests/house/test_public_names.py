"""Public names of `import holdfast`: the same at run time and for type checkers, each loaded on first use."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from importlib import import_module

import pytest

import holdfast

from .tree import modules

RENAMED = {"open": "open_workspace"}
NAMES = {name: home for home, names in holdfast.HOMES.items() for name in names.split()}


def for_type_checkers() -> set[tuple[str, str, str]]:
    """(module, name in it, public name) for each import below `if TYPE_CHECKING`."""
    (block,) = (
        node
        for node in modules()["__init__"].tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom)]
    found = {
        alias.asname or alias.name: ((node.module or "").removeprefix("holdfast."), alias.name)
        for node in imports
        for alias in node.names
    }
    for node in block.body:
        if isinstance(node, ast.Assign):
            found[ast.unparse(node.targets[0])] = found[ast.unparse(node.value)]
    return {(*origin, name) for name, origin in found.items() if not name.startswith("_")}


def test_programs_and_type_checkers_find_the_same_names() -> None:
    assert for_type_checkers() == {(home, RENAMED.get(name, name), name) for name, home in NAMES.items()}


def test_no_name_has_two_homes() -> None:
    assert len(NAMES) == sum(len(names.split()) for names in holdfast.HOMES.values())


def test_every_name_leads_to_the_thing_itself() -> None:
    homes = {name: import_module(f"holdfast.{home}") for name, home in NAMES.items()}
    things = {name: getattr(home, RENAMED.get(name, name)) for name, home in homes.items()}
    assert [name for name, thing in things.items() if getattr(holdfast, name) is not thing] == []


def test_all_names_are_listed() -> None:
    assert set(holdfast.__all__) == {*NAMES, "__version__"}
    assert dir(holdfast) == holdfast.__all__


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    name = "nothing"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(holdfast, name)


def test_importing_the_package_loads_no_other_module_of_it() -> None:
    script = "import json, sys, holdfast; print(json.dumps([name for name in sys.modules if 'holdfast' in name]))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=True)
    assert [name for name in json.loads(done.stdout) if not name.startswith("__editable__")] == ["holdfast"]


def test_the_package_says_that_it_is_typed() -> None:
    assert (modules()["__init__"].path.parent / "py.typed").exists()
