"""Rows of the track record, read from the `defect` markers of the tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "track-record.md"
ROWS = re.compile(r"(?<=<!-- defects -->\n).*?(?=<!-- /defects -->)", re.DOTALL)


class Defect(NamedTuple):
    """A defect, the promise it broke, and the test that reproduces it."""

    was: str
    promise: int | None
    test: str

    def __str__(self) -> str:
        was = self.was[:1].upper() + self.was[1:].removesuffix(".")
        return f"| {was} | {f'P{self.promise}' if self.promise else 'none'} | `{self.test}` |"


def find_defects(root: Path = ROOT) -> list[Defect]:
    """Every `@pytest.mark.defect("what was wrong", promise=N)` of the suite, by file and line."""
    return [defect for path in sorted((root / "tests").rglob("test_*.py")) for defect in _defects(path, root)]


def render(page: str) -> str:
    """The page with its generated rows brought up to date."""
    rows = "".join(f"{defect}\n" for defect in find_defects())
    return ROWS.sub(lambda _: rows, page)


def _defects(path: Path, root: Path) -> Iterator[Defect]:
    file = path.relative_to(root).as_posix()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.defect":
                    promise = {word.arg: ast.literal_eval(word.value) for word in mark.keywords}.get("promise")
                    yield Defect(ast.literal_eval(mark.args[0]), promise, f"{file}::{node.name}")
