"""Safeguards by their marks: `# safeguard: NAME` behind the code, or on a line of its own above it.

A mark names the outermost node that begins on its line, usually a statement. One line may hold several names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

DELETE = "pass"
MARK = re.compile(r"# safeguard: ([a-z-]+(?:, [a-z-]+)*)$", re.MULTILINE)


def list_marks(directory: Path) -> Iterator[tuple[str, Path]]:
    """Every name on every mark below a directory, with its file."""
    for path in sorted(directory.rglob("*.py")):
        for found in MARK.finditer(path.read_text(encoding="utf-8")):
            yield from ((name, path) for name in found[1].split(", "))


def replace(text: str, name: str, replacement: str) -> str:
    """The module without a safeguard: its node replaced; by a header (`if True:`), that of a compound statement."""
    node = _node(text, name)
    data = text.encode()
    starts = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
    start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    if replacement.endswith(":"):
        replacement, end = replacement + "\n", starts[node.body[0].lineno - 1]
    return (data[:start] + replacement.encode() + data[end:]).decode()


def _node(text: str, name: str) -> Any:  # a statement, an expression or a keyword argument
    line = _line(text, name)
    nodes = [node for node in ast.walk(ast.parse(text)) if getattr(node, "lineno", None) == line]
    return min(nodes, key=lambda node: vars(node)["col_offset"])  # the walk comes to the outermost first


def _line(text: str, name: str) -> int:
    """The number of the line that a mark is about."""
    [found] = (found for found in MARK.finditer(text) if name in found[1].split(", "))
    number = text.count("\n", 0, found.start()) + 1
    is_above = text.splitlines()[number - 1].lstrip().startswith("#")
    return number + is_above
