"""Which tests carry which promise, read from their source: cheaper than collecting them, and none is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.promises import FAST, HOURS, LONG, TIERS

ROOT = Path(__file__).parents[1]
TESTS = (ast.FunctionDef, ast.AsyncFunctionDef)
TIERED = {  # decorators of other modules that part a test's cases into tiers
    "each_tier": (LONG, HOURS),
    "each_number": TIERS,
    "each_lesser_number": (FAST, LONG),
}


class Marked(NamedTuple):
    """A test function; one with parameters stands for all of its cases."""

    file: str
    name: str
    promises: tuple[int, ...]
    tiers: tuple[str, ...]  # the quickest first

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
            tiers = _tiers({name for name, _ in found}, node.decorator_list, named)
            yield Marked(path.relative_to(root).as_posix(), node.name, tuple(sorted(numbers)), tiers)


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


def _tiers(marks: set[str], decorators: list[ast.expr], named: dict[str, ast.expr]) -> tuple[str, ...]:
    """A mark on the test is for all of its cases; one inside of a decorator is for some, and the others are fast."""
    if own := marks & {LONG, HOURS}:
        return tuple(own)
    for helper in (_called(decorator) for decorator in decorators):
        if helper in TIERED and helper not in named:
            return TIERED[helper]
    text = " ".join(_text(decorator, named) for decorator in decorators)
    return (FAST, *(tier for tier in (LONG, HOURS) if f"pytest.mark.{tier}" in text))


def _text(expression: ast.expr, named: dict[str, ast.expr]) -> str:
    """The source, with that of all names of the module that are used in it."""
    used = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)} & named.keys()
    others = {name: value for name, value in named.items() if name not in used}
    return " ".join([ast.unparse(expression), *(_text(named[name], others) for name in sorted(used))])


def _called(decorator: ast.expr) -> str:
    return ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)


def _name(expression: ast.expr) -> list[str]:
    text = _called(expression)
    return [text.removeprefix("pytest.mark.")] if text.startswith("pytest.mark.") else []
