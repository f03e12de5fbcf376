"""Words for people: lines, tables, times. The one place where text reaches a terminal, made harmless on the way."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import IO, TYPE_CHECKING

from holdfast.core.model import Session
from holdfast.core.text import one_line, visible
from holdfast.system.clock import ago, shown

if TYPE_CHECKING:
    from holdfast.layouts.results import Marks  # few commands need it

Piece = tuple[str, str]  # a style and a text
Line = str | Piece | list[Piece]

STYLES = {
    "title": "1",
    "dim": "2",
    "good": "32",
    "warn": "33",
    "bad": "1;31",
    "match": "1;33",
}  # as terminals know them
LONG = {
    "goal",
    "what",
    "changed",
    "outcome",
    "directory",
    "worktree",
    "value",
    "origin",
}  # cells that may take several lines
LEAST, BETWEEN = 12, 3  # columns of a terminal: that such a cell needs, and that stand between two
FILL_STYLE = {"warn": "warn", "compact": "bad"}  # of a context window; else it is good, or has no style
PATCH_STYLE = {"+": "good", "-": "bad", "@": "dim"}
STATUS_STYLE = {"active": "good", "interrupted": "bad", "failed": "bad", "paused": "warn"}


def emit(lines: Iterable[Line], stream: IO[str] | None = None) -> None:
    """Print lines, without anything in them that a terminal would act upon."""
    out = stream or sys.stdout
    for line in lines:
        out.write("".join(_drawn_piece(piece, out) for piece in _pieces(line)) + "\n")
    out.flush()


def plain(line: Line) -> str:
    """The text of a line, without its styles."""
    return "".join(text for _, text in _pieces(line))


def _pieces(line: Line) -> list[Piece]:
    return line if isinstance(line, list) else [line if isinstance(line, tuple) else ("", line)]


def _drawn_piece(piece: Piece, out: IO[str]) -> str:
    style, text = piece[0], visible(piece[1])
    if style and _has_colour(out):
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m"
    return f"»{text}«" if style == "match" else text


def _has_colour(stream: IO[str]) -> bool:
    return stream.isatty() and not _is_plain()


def _is_plain() -> bool:
    import os

    return "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"


def marks() -> Marks:
    """The marks of reports on sessions, or words where a terminal asks for plain text."""
    from holdfast.layouts.results import DRAWN, PLAIN

    return PLAIN if _is_plain() else DRAWN


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], stream: IO[str] | None = None) -> None:
    """A table: drawn on a terminal that is wide enough, aligned by spaces elsewhere. Cells are one line each."""
    out = stream or sys.stdout
    cells = [[one_line(cell) for cell in row] for row in rows]
    if _has_colour(out) and _drawn(columns, cells, out):
        return
    widths = [max(len(cell) for cell in column) for column in zip(columns, *cells, strict=True)]
    for row in (columns, *cells):
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        out.write("  ".join(padded).rstrip() + "\n")
    out.flush()


def _drawn(columns: Sequence[str], cells: list[list[str]], out: IO[str]) -> bool:
    """Draw it, if it fits without cutting anything off: half an id names nothing, half a directory is another one."""
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=out)
    widths = [max(map(cell_len, column)) for column in zip(columns, *cells, strict=True)]
    least = (min(width, LEAST) if name in LONG else width for name, width in zip(columns, widths, strict=True))
    if sum(least) + BETWEEN * len(widths) > console.width:
        return False
    drawn = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold", no_wrap=column not in LONG)
    for row in cells:
        drawn.add_row(*(Text(cell, style=_rich_style(cell)) for cell in row))
    console.print(drawn)
    return True


def _rich_style(cell: str) -> str:
    return {"good": "green", "bad": "bold red", "warn": "yellow"}.get(STATUS_STYLE.get(cell, ""), "")


def by(session: Session) -> str:
    """The agent of a session, in brackets; empty if unknown."""
    return f" ({one_line(session.agent, 40)})" if session.agent else ""


def when(moment: datetime | None, now: datetime | None = None) -> str:
    """A time for people, with how long ago it was."""
    return f"{shown(moment)} ({ago(moment, now)})" if moment else "-"


def coloured(patch: str) -> list[Line]:
    """A patch in git's form, as terminals show one."""
    in_file = False  # before the first hunk, a plus or minus is part of a header
    lines: list[Line] = []
    for line in patch.splitlines():
        in_file = line.startswith("@@") or (in_file and not line.startswith("diff --git "))
        style = PATCH_STYLE.get(line[:1]) if in_file else "title"
        lines.append((style, line) if style else line)
    return lines
