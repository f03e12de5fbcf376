"""Which tests carry which promise, read from their source: cheaper than collecting them, and none is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.promises import FAST, HOURS, LONG

ROOT = Path(__file__).parents[1]
TESTS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Marked(NamedTuple):
    """A test function; one with parameters stands for all of its cases, and is of the quickest tier that has any."""

    file: str
    name: str
    promises: tuple[int, ...]
    tier: str

    def __str__(self) -> str:
        return f"{self.file}::{self.name}"


def find_tests(root: Path = ROOT) -> list[Marked]:
    """Every test function of the suite, also those without a mark, by file and in the order of the file."""
    return [test for path in sorted((root / "tests").rglob("test_*.py")) for test in _tests(path, root)]


def _tests(path: Path, root: Path) -> Iterator[Marked]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = dict(_assigned(tree))
    marks = list(_marks([named["pytestmark"]], named)) if "pytestmark" in named else []
    for node in tree.body:
        if isinstance(node, TESTS) and node.name.startswith("test"):
            found = [*marks, *_marks(node.decorator_list, named)]
            numbers = {number for name, numbers in found if name == "promise" for number in numbers}
            tier = next((tier for tier in (LONG, HOURS) if any(name == tier for name, _ in found)), FAST)
            yield Marked(path.relative_to(root).as_posix(), node.name, tuple(sorted(numbers)), tier)


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def _marks(expressions: Iterable[ast.expr], named: dict[str, ast.expr]) -> Iterator[tuple[str, list[int]]]:
    """The name and the numbers of each mark; one that has a name of its own in the module is looked up."""
    for expression in expressions:
        if isinstance(expression, (ast.List, ast.Tuple)):
            yield from _marks(expression.elts, named)
        elif isinstance(expression, ast.Name) and expression.id in named:
            yield from _marks([named[expression.id]], {})
        elif isinstance(expression, ast.Call):
            numbers = [value.value for value in expression.args if isinstance(value, ast.Constant)]
            yield from ((name, [number for number in numbers if isinstance(number, int)]) for name in _name(expression))
        else:
            yield from ((name, []) for name in _name(expression))


def _name(expression: ast.expr) -> list[str]:
    text = ast.unparse(expression.func if isinstance(expression, ast.Call) else expression)
    if text == "each_tier":  # of tests/crash/modes.py
        return [LONG]
    return [text.removeprefix("pytest.mark.")] if text.startswith("pytest.mark.") else []
