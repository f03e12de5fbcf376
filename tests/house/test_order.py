"""Imports between packages go one way, and no imports form a cycle."""

from __future__ import annotations

import graphlib

import pytest

from .tree import modules, own_imports

# A package may import those before it.
ORDER = (
    "core", "system", "redaction", "journal", "worktree", "project", "agents", "layouts", "ingest", "sync",
    "maintenance", "operations", "surfaces",
)  # fmt: skip
ROOT = {"__init__", "__main__", "inbox"}  # the package itself, its command, and the hook script of older versions
ALONE = ("agents", "layouts")  # packages whose subpackages do not import each other
# Remaining imports in the wrong direction.
EXCEPTIONS: dict[str, set[str]] = {}


def package(name: str) -> str:
    return name.partition(".")[0]


def uses(name: str) -> set[str]:
    return own_imports(modules()[name]) - {"__init__"}


def test_the_packages_are_those_of_the_order() -> None:
    assert {package(name) for name in modules()} == {*ORDER, *ROOT}


def test_imports_between_packages_go_one_way() -> None:
    wrong = {
        name: found
        for name in modules()
        if name not in ROOT
        and (found := {other for other in uses(name) if ORDER.index(package(other)) > ORDER.index(package(name))})
    }
    assert wrong == EXCEPTIONS


@pytest.mark.parametrize("shelf", ALONE)
def test_adapters_do_not_import_each_other(shelf: str) -> None:
    folders = {name: name.split(".")[1] for name in modules() if name.startswith(f"{shelf}.") and name.count(".") > 1}
    wrong = {
        name: found
        for name, folder in folders.items()
        if (found := {other for other in uses(name) if folders.get(other, folder) != folder})
    }
    assert wrong == {}


def test_there_is_no_cycle() -> None:
    try:
        graphlib.TopologicalSorter({name: uses(name) for name in modules()}).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"a cycle of imports: {' > '.join(error.args[1])}")


def test_the_package_itself_imports_nothing_of_its_own_before_it_is_used() -> None:
    assert own_imports(modules()["__init__"]) == set()
